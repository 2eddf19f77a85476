package cli

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/larder-cache/larder/test/internal/server"
)

// TestAuditOfARunningServer lets the program audit a server that redis-benchmark keeps busy.
func TestAuditOfARunningServer(t *testing.T) {
	t.Parallel()
	p := server.Start(t, "--requirepass", "secret")
	done := make(chan string, 1)
	go func() {
		out, err := exec.Command("redis-benchmark", "-p", p.Port(), "-a", "secret", "-t", "set,incr,mset", "-n", "300000", "-P", "16", "-r", "100000", "-d", "300", "-q").CombinedOutput()
		if err != nil {
			out = append(out, err.Error()...)
		}
		done <- string(out)
	}()
	audit := func(args ...string) (string, int) {
		cmd := exec.Command(server.Binary(t), append([]string{"audit"}, args...)...)
		cmd.Env = server.Environment()
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	for range 5 {
		out, code := audit("--listen", p.Addr, "--requirepass", "secret")
		if code != 0 || !strings.Contains(out, "healthy      yes") || strings.Contains(out, "fault") {
			t.Errorf("code %d\n%s", code, out)
		}
	}
	if out := <-done; strings.Contains(out, "rror") {
		t.Errorf("redis-benchmark: %s", out)
	}
	for _, c := range []struct {
		args []string
		code int
		part string
	}{
		{[]string{"--listen", p.Addr}, 1, "NOAUTH"},
		{[]string{"--listen", "127.0.0.1:1"}, 1, "connection refused"},
		{[]string{"--listen", "nowhere"}, 2, "--listen"},
		{[]string{"everything"}, 2, "everything"},
	} {
		if out, code := audit(c.args...); code != c.code || !strings.Contains(out, c.part) || strings.Count(out, "\n") != 1 {
			t.Errorf("audit %s: code %d, %q", strings.Join(c.args, " "), code, out)
		}
	}
}
