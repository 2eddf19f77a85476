// Package process treats the server as a program: its flags and files, its exit
// codes and signals, its limits on connections, its HTTP listener and its log.
package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/larder-cache/larder/test/internal/server"
)

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// endsWithin bounds a run of larder that must end by itself.
const endsWithin = 20 * time.Second

// exitWrong is the exit code of a start that cannot be.
const exitWrong = 2

// run executes larder to its end and returns its exit code and what it printed.
func run(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), endsWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, server.Binary(t), args...)
	cmd.Dir = t.TempDir()
	cmd.Env = server.Environment(env...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		t.Fatalf("larder %q did not end:\n%s%s", args, out.String(), errs.String())
	case errors.As(err, &exit):
		code = exit.ExitCode()
	default:
		t.Fatal(err)
	}
	return code, out.String(), errs.String()
}
