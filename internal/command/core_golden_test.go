package command

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// step is a line of testdata/core.
type step struct {
	line    int
	command string // or a directive, with its "@"
	differs bool   // from Redis, on purpose
	want    [4]string
}

func coreSteps(t *testing.T, file string) (steps []step) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case line == "", line[0] == '#':
		case line[0] == '@':
			steps = append(steps, step{line: i + 1, command: line})
		case line[0] == '>':
			steps = append(steps, step{line: i + 1, command: strings.TrimLeft(line, ">! "), differs: line[1] == '!'})
		case strings.HasPrefix(line, "3 "):
			steps[len(steps)-1].want[3] = line[2:]
		default:
			s := &steps[len(steps)-1]
			s.want[2], s.want[3] = line, line
		}
	}
	return steps
}

func coreFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/core/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata", err)
	}
	return files
}

// protocols returns the versions in which a file runs. Those that change the version themselves run as they are.
func protocols(steps []step) []int {
	for _, s := range steps {
		if strings.HasPrefix(s.command, "HELLO") || strings.HasPrefix(s.command, "RESET") {
			return []int{2}
		}
	}
	return []int{2, 3}
}

func TestCoreRepliesInBothProtocols(t *testing.T) {
	for _, file := range coreFiles(t) {
		steps := coreSteps(t, file)
		for _, proto := range protocols(steps) {
			t.Run(filepath.Base(file)+"/RESP"+strconv.Itoa(proto), func(t *testing.T) {
				server := newRigServer(t, Options{Version: "test"})
				r := dial(t, server)
				if proto == 3 {
					r.do("HELLO 3")
				}
				for _, s := range steps {
					switch name, value, _ := strings.Cut(s.command, " "); {
					case name == "@password":
						server.setPassword(value)
						r = dial(t, server)
					case name == "@connect":
						r = dial(t, server)
					default:
						if got := r.do(s.command); !same(got, s.want[proto]) {
							t.Errorf("%s:%d: %s\n\tgot  %s\n\twant %s", file, s.line, s.command, got, s.want[proto])
						}
					}
				}
			})
		}
	}
}

// TestTestdataIsWhatRedisReplies runs the same lines against the redis-server of the machine, so that a mistake in
// testdata shows.
func TestTestdataIsWhatRedisReplies(t *testing.T) {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed (Debian package redis-server): testdata is not compared with it")
	}
	version, err := exec.Command(binary, "--version").Output()
	if err != nil || !bytes.Contains(version, []byte("v=7.0.")) {
		t.Skipf("testdata is that of redis-server 7.0, installed is %s", version)
	}
	for _, file := range coreFiles(t) {
		steps := coreSteps(t, file)
		for _, proto := range protocols(steps) {
			t.Run(filepath.Base(file)+"/RESP"+strconv.Itoa(proto), func(t *testing.T) {
				address := startRedis(t, binary)
				o := dialRedis(t, address)
				if proto == 3 {
					o.do("HELLO 3")
				}
				for _, s := range steps {
					switch name, value, _ := strings.Cut(s.command, " "); {
					case name == "@password":
						o.do("CONFIG SET requirepass " + value)
						o = dialRedis(t, address)
					case name == "@connect":
						o = dialRedis(t, address)
					case s.differs:
					default:
						if got := o.do(s.command); !same(got, s.want[proto]) {
							t.Errorf("%s:%d: %s\n\tredis %s\n\twant  %s", file, s.line, s.command, got, s.want[proto])
						}
					}
				}
			})
		}
	}
}

// startRedis starts a redis-server on a unix socket for the length of a test.
func startRedis(t *testing.T, binary string) (address string) {
	t.Helper()
	// The path of a socket has a short limit.
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		t.Fatal(err)
	}
	address = filepath.Join(dir, "s")
	server := exec.Command(binary, "--port", "0", "--unixsocket", address, "--save", "", "--dir", dir,
		"--enable-debug-command", "yes", "--logfile", filepath.Join(dir, "log"))
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		_ = os.RemoveAll(dir)
	})
	for deadline := time.Now().Add(10 * time.Second); ; {
		if conn, err := net.Dial("unix", address); err == nil {
			_ = conn.Close()
			return address
		}
		if time.Now().After(deadline) {
			t.Fatal("redis-server does not answer")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// redisConn is a connection to redis-server.
type redisConn struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func dialRedis(t *testing.T, address string) *redisConn {
	t.Helper()
	conn, err := net.Dial("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &redisConn{t, conn, bufio.NewReader(conn)}
}

func (o *redisConn) do(line string) string {
	o.t.Helper()
	_ = o.conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := o.conn.Write(encode(splitCommand(o.t, line))); err != nil {
		o.t.Fatal(err)
	}
	var reply []byte
	for pending := 1; pending > 0; pending-- {
		head, err := o.in.ReadBytes('\n')
		if err != nil {
			o.t.Fatal(line, err)
		}
		reply = append(reply, head...)
		n, _ := strconv.Atoi(strings.TrimSpace(string(head[1:])))
		switch head[0] {
		case '$', '=':
			if n >= 0 {
				body := make([]byte, n+2)
				if _, err := io.ReadFull(o.in, body); err != nil {
					o.t.Fatal(line, err)
				}
				reply = append(reply, body...)
			}
		case '*', '~':
			pending += max(n, 0)
		case '%':
			pending += 2 * n
		}
	}
	return show(reply)
}
