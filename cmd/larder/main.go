// Command larder is the server: the cache behind the protocol of Redis, with health checks and metrics over HTTP.
//
//	larder serve     start a server
//	larder check     check the settings a server would start with
//	larder version   print the version, as --version and -v do
//	larder help      explain a command, as --help and -h do
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
	out := &output{w: stdout}
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.Execute()
	if err == nil && out.err != nil {
		err = &failure{out.err}
	}
	if err == nil {
		return exitOK
	}
	for line := range strings.Lines(strings.TrimSpace(err.Error())) {
		// Errors of the engine begin with the name of the module, which is the program's too.
		_, _ = fmt.Fprintf(stderr, "larder: %s\n", strings.TrimPrefix(strings.TrimSpace(line), "larder: "))
	}
	var f *failure
	if errors.As(err, &f) {
		return exitFailure
	}
	return exitUsage
}

func newRoot() *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:           "larder",
		Short:         "An in-memory cache that any Redis client calls",
		SilenceErrors: true,
		SilenceUsage:  true,
		// A suggestion would make several lines of one fault.
		DisableSuggestions: true,
		Args:               cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if version {
				printVersion(cmd, args)
				return nil
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVarP(&version, "version", "v", false, "print the version")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpCommand(newHelp())
	root.AddCommand(newServe(), newCheck(), newAudit(), newVersion())
	return root
}

// output remembers the first fault of a write and drops what follows, so that what a command prints has its faults
// checked in one place.
type output struct {
	w   io.Writer
	err error
}

// Write implements io.Writer; it never fails.
func (o *output) Write(p []byte) (int, error) {
	if o.err == nil {
		_, o.err = o.w.Write(p)
	}
	return len(p), nil
}

// A failure is an error that came while running, not from what the operator asked for.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }
