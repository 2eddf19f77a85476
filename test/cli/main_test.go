// Package cli drives the server with Debian's redis-tools as an operator
// would: redis-cli with its bulk and scanning modes, and redis-benchmark.
package cli

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/larder-cache/larder/test/internal/server"
)

// toolWithin bounds one run of a tool.
const toolWithin = 90 * time.Second

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// run executes a tool to its end and returns what it printed on both streams.
func run(t *testing.T, stdin io.Reader, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), toolWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = stdin
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// redisCLI runs redis-cli against p and returns its output without the last
// line end.
func redisCLI(t *testing.T, p *server.Process, args ...string) string {
	t.Helper()
	return strings.TrimRight(run(t, nil, "redis-cli", append([]string{"-p", p.Port()}, args...)...), "\n")
}

// want runs redis-cli and compares all of its output.
func want(t *testing.T, p *server.Process, output string, args ...string) {
	t.Helper()
	if got := redisCLI(t, p, args...); got != output {
		t.Errorf("redis-cli %s: got %q, want %q", strings.Join(args, " "), got, output)
	}
}
