package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/larder-cache/larder/test/internal/server"
)

// rateLine is how redis-benchmark -q closes each test.
var rateLine = regexp.MustCompile(`^([A-Z]+)(?: \(10 keys\))?: ([0-9.]+) requests per second, p50=[0-9.]+ msec`)

// TestRedisBenchmarkRunsClean: any error reply makes redis-benchmark print it,
// so the output must hold the four closing lines and nothing else.
func TestRedisBenchmarkRunsClean(t *testing.T) {
	for _, mode := range []struct {
		name string
		args []string
	}{
		{"fixed keys", nil},
		{"random keys", []string{"-r", "100000", "-d", "256"}},
		{"RESP3", []string{"-3"}},
	} {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			p := server.Start(t)
			args := []string{"-p", p.Port(), "-t", "set,get,incr,mset", "-n", "200000", "-P", "16", "-q"}
			out := run(t, nil, "redis-benchmark", append(args, mode.args...)...)
			closed := map[string]bool{}
			// Progress lines end in a carriage return and are overwritten.
			for line := range strings.Lines(out) {
				line = strings.TrimSpace(line[strings.LastIndexByte(strings.TrimRight(line, "\r\n"), '\r')+1:])
				switch m := rateLine.FindStringSubmatch(line); {
				case m != nil:
					closed[m[1]] = true
				case line != "":
					t.Errorf("redis-benchmark printed %q", line)
				}
			}
			for _, name := range []string{"SET", "GET", "INCR", "MSET"} {
				if !closed[name] {
					t.Errorf("no closing line for %s in:\n%s", name, out)
				}
			}
		})
	}
}
