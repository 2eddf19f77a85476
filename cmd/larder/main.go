// Command larder is the server: the cache behind the protocol of Redis, with health checks and metrics over HTTP.
//
//	larder serve     start a server
//	larder check     check the settings a server would start with
//	larder version   print the version
//
// Exit codes: 0 after a clean end, 1 when something failed while running, 2 when the command line, the settings or what
// they name (a port, a directory) cannot be used.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes one command line and returns the exit code. Faults go to stderr, one line each.
func run(args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	for line := range strings.Lines(strings.TrimSpace(err.Error())) {
		_, _ = fmt.Fprintf(stderr, "larder: %s\n", strings.TrimSpace(line))
	}
	var f *failure
	if errors.As(err, &f) {
		return exitFailure
	}
	return exitUsage
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "larder",
		Short:         "An in-memory cache that any Redis client calls",
		SilenceErrors: true,
		SilenceUsage:  true,
		// A suggestion would make several lines of one fault.
		DisableSuggestions: true,
		Args:               cobra.NoArgs,
		RunE:               func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newServe(), newCheck(), newVersion())
	return root
}

// A failure is an error that came while running, not from what the operator asked for.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }
