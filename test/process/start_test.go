package process

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/larder-cache/larder/test/internal/raw"
	"github.com/larder-cache/larder/test/internal/server"
)

// refused runs larder and wants exit code 2 and one line that says why.
func refused(t *testing.T, env []string, why string, args ...string) {
	t.Helper()
	code, stdout, stderr := run(t, env, args...)
	if code != exitWrong {
		t.Errorf("larder %q: exit code %d, want %d", args, code, exitWrong)
	}
	if lines := strings.Count(stderr, "\n"); lines != 1 || !strings.Contains(stderr, why) || stdout != "" {
		t.Errorf("larder %q: printed %q and %q, want one line on standard error with %q", args, stdout, stderr, why)
	}
}

func TestAPortInUseIsOneClearLine(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	addr := taken.Addr().String()
	refused(t, nil, addr, "serve", "--listen", addr)
	refused(t, nil, addr, "serve", "--listen", "127.0.0.1:0", "--http", addr)
}

func TestWrongSettingsAreOneClearLine(t *testing.T) {
	t.Parallel()
	refused(t, nil, "no-such-flag", "serve", "--no-such-flag")
	refused(t, nil, "max-memory", "serve", "--max-memory", "plenty")
	refused(t, nil, "max-memory", "serve", "--max-memory", "-1")
	refused(t, nil, "loops", "serve", "--loops", "-3")
	refused(t, nil, "listen", "serve", "--listen", "127.0.0.1:99999")
	refused(t, nil, "stray", "serve", "stray")
	refused(t, []string{"LARDER_MAX_MEMORY=plenty"}, "LARDER_MAX_MEMORY", "serve", "--listen", "127.0.0.1:0")
	refused(t, nil, "nosuchcommand", "nosuchcommand")
}

func TestAnUnusableFolderIsOneClearLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "absent"), file} {
		refused(t, nil, path, "serve", "--listen", "127.0.0.1:0", "--dir", path)
		refused(t, nil, path, "serve", "--listen", "127.0.0.1:0", "--config", filepath.Join(path, "larder.toml"))
	}
}

func TestAWrongFileNamesItsLine(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "larder.toml")
	if err := os.WriteFile(file, []byte("loops = 1\nno_such_key = 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, nil, file+":2:", "serve", "--config", file)
}

func TestEveryFaultIsPrintedAtOnce(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"serve", "check"} {
		code, stdout, stderr := run(t, []string{"LARDER_LOOPS=none"}, command, "--dir", "/no/such/dir", "--max-memory", "plenty")
		if code != exitWrong || stdout != "" || strings.Count(stderr, "\n") != 3 {
			t.Errorf("larder %s: exit code %d, printed %q and %q, want a line for each of three faults", command, code, stdout, stderr)
		}
		for _, part := range []string{"LARDER_LOOPS", "--dir", "--max-memory"} {
			if !strings.Contains(stderr, part) {
				t.Errorf("larder %s does not name %s: %q", command, part, stderr)
			}
		}
	}
}

func TestASocketTakesNobodysPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, socket := filepath.Join(dir, "file"), filepath.Join(dir, "socket")
	if err := os.WriteFile(file, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, nil, "not a socket", "serve", "--listen", "unix:"+file)
	if text, err := os.ReadFile(file); err != nil || string(text) != "data" {
		t.Errorf("the file is now %q, %v", text, err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	refused(t, nil, "in use", "serve", "--listen", "unix:"+socket)
	if c, err := net.Dial("unix", socket); err != nil {
		t.Errorf("the other server lost its socket: %v", err)
	} else {
		c.Close()
	}
}

func TestVersionAndHelpArePrintedAsUsersAsk(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"version", "--version", "-v"} {
		code, stdout, stderr := run(t, nil, arg)
		if code != 0 || !strings.HasPrefix(stdout, "larder v") || strings.Count(stdout, "\n") != 1 || stderr != "" {
			t.Errorf("larder %s: %d, %q, %q", arg, code, stdout, stderr)
		}
	}
	for _, args := range [][]string{{}, {"help"}, {"--help"}, {"-h"}, {"serve", "--help"}, {"serve", "-h"}, {"help", "serve"}} {
		code, stdout, stderr := run(t, nil, args...)
		if code != 0 || !strings.Contains(stdout, "Usage:") || stderr != "" {
			t.Errorf("larder %q: %d, %q, %q", args, code, stdout, stderr)
		}
	}
}

func TestTheStartIsOneLogLine(t *testing.T) {
	t.Parallel()
	p := server.Start(t, "--max-memory", "64mb", "--loops", "1")
	log := p.LogLines(t, 1)
	if strings.Count(log, "\n") != 1 {
		t.Errorf("the log has more or less than one line after the start:\n%s", log)
	}
	for _, part := range []string{p.Addr, p.HTTP, "loops=1", "version="} {
		if !strings.Contains(log, part) {
			t.Errorf("the start line does not say %q: %s", part, log)
		}
	}
}

func TestDatabasesOfAllKindsCanBeSelected(t *testing.T) {
	t.Parallel()
	p := server.Start(t)
	c := raw.Dial(t, p.Addr)
	for _, name := range []string{"1", "15", "sessions", "th", "th2"} {
		if r := c.Do("SELECT", name); r.Text != "OK" {
			if server.UnderTestIsRedis() {
				t.Skip("collections by name need larder; LARDER_TEST_SERVER puts redis-server in its place")
			}
			t.Fatalf("SELECT %s: %s", name, r)
		}
		c.Want("$null", "GET", "k")
		c.Want(`+"OK"`, "SET", "k", name)
	}
	c.Want(`+"OK"`, "SELECT", "th")
	c.Want(`$"th"`, "GET", "k")
	c.Want(`:"1"`, "DBSIZE")
	c.Want(`+"OK"`, "FLUSHDB")
	c.Want(`+"OK"`, "SELECT", "th2")
	c.Want(`$"th2"`, "GET", "k")
}
