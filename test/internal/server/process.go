package server

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// readyWithin bounds the time from start to the first answered PING.
	readyWithin = 20 * time.Second
	// exitWithin bounds the time from a signal to the end of the process.
	exitWithin = 20 * time.Second
	// portAttempts is how often a start is tried again when another process
	// took the free port between its choice and its use.
	portAttempts = 5
)

// Process is a running server.
type Process struct {
	Addr string // host:port of the RESP listener
	HTTP string // host:port of the HTTP listener; "" for redis-server
	Dir  string // folder of its own

	cmd  *exec.Cmd
	log  *logBuffer
	done chan struct{} // closed when the process has ended
	err  error         // of Wait; valid once done is closed
}

// logBuffer collects what a process prints, for two writers at once.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// Start runs the server under test with extra flags of `larder serve` and
// stops it when the test ends; it must then leave with exit code 0.
func Start(tb testing.TB, flags ...string) *Process {
	tb.Helper()
	if UnderTestIsRedis() {
		if len(flags) > 0 {
			tb.Skipf("needs larder's own flags %q; LARDER_TEST_SERVER puts redis-server in its place", flags)
		}
		return Redis(tb, "--enable-debug-command", "yes")
	}
	path := Binary(tb)
	p := start(tb, func(dir string) (*Process, []string) {
		p := &Process{Addr: freeAddr(tb), HTTP: freeAddr(tb), Dir: dir}
		args := []string{path, "serve", "--listen", p.Addr, "--http", p.HTTP, "--dir", dir}
		args = append(args, strings.Fields(os.Getenv("LARDER_TEST_FLAGS"))...)
		return p, append(args, flags...)
	})
	tb.Cleanup(func() {
		code, err := p.Stop(syscall.SIGTERM)
		if err != nil || code != 0 {
			tb.Errorf("larder left with exit code %d (%v) after SIGTERM", code, err)
		}
		if tb.Failed() {
			tb.Logf("log of larder:\n%s", p.Log())
		}
	})
	return p
}

// Redis runs redis-server without persistence: the oracle of the differential
// tests. arguments are appended to its command line.
func Redis(tb testing.TB, arguments ...string) *Process {
	tb.Helper()
	p := start(tb, func(dir string) (*Process, []string) {
		p := &Process{Addr: freeAddr(tb), Dir: dir}
		_, port, _ := net.SplitHostPort(p.Addr)
		args := []string{
			"redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "",
			"--appendonly", "no", "--dir", dir,
		}
		return p, append(args, arguments...)
	})
	tb.Cleanup(func() {
		if _, err := p.Stop(syscall.SIGTERM); err != nil {
			tb.Errorf("redis-server: %v", err)
		}
	})
	return p
}

// start launches what prepare describes until it answers, with new ports when
// the chosen ones were taken meanwhile.
func start(tb testing.TB, prepare func(dir string) (*Process, []string)) *Process {
	tb.Helper()
	for attempt := 1; ; attempt++ {
		p, args := prepare(tb.TempDir())
		p.launch(tb, args)
		err := p.waitReady()
		if err == nil {
			return p
		}
		p.kill()
		if attempt < portAttempts && strings.Contains(p.Log(), "in use") {
			continue
		}
		tb.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, p.Log())
	}
}

// launch starts the process and the goroutine that collects its end.
func (p *Process) launch(tb testing.TB, args []string) {
	tb.Helper()
	p.log = &logBuffer{}
	p.done = make(chan struct{})
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Dir = p.Dir
	p.cmd.Env = Environment()
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	// A test process that dies takes its servers with it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
}

// Environment is this process's own without the settings of a larder, and with
// more variables when given.
func Environment(more ...string) []string {
	own := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LARDER_") })
	return append(own, more...)
}

// waitReady connects until PING is answered. A refused connection comes back
// at once, so attempts are spaced by a ticker.
func (p *Process) waitReady() error {
	deadline := time.NewTimer(readyWithin)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		if ping(p.Addr) == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("ended before it was ready: %w", p.ended())
		case <-deadline.C:
			return fmt.Errorf("no answer on %s within %v", p.Addr, readyWithin)
		case <-tick.C:
		}
	}
}

// ping asks addr once. Any reply line counts: a server that wants a password
// answers with an error and is ready.
func ping(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("*1\r\n$4\r\nPING\r\n")); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 64))
	return err
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Port is the port of Addr.
func (p *Process) Port() string {
	_, port, _ := net.SplitHostPort(p.Addr)
	return port
}

// Log returns everything the process printed so far.
func (p *Process) Log() string { return p.log.String() }

// LogLines waits until the log has n whole lines and returns it. A line is
// written a moment before or after the server answers.
func (p *Process) LogLines(tb testing.TB, n int) string {
	tb.Helper()
	deadline := time.NewTimer(readyWithin)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for strings.Count(p.Log(), "\n") < n {
		select {
		case <-deadline.C:
			tb.Fatalf("the log has fewer than %d lines:\n%s", n, p.Log())
		case <-tick.C:
		}
	}
	return p.Log()
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stop signals the process, waits for its end and returns its exit code. A
// process that already ended is not signalled.
func (p *Process) Stop(sig os.Signal) (int, error) {
	select {
	case <-p.done:
	default:
		if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return -1, err
		}
	}
	return p.Wait()
}

// Wait returns the exit code once the process has ended by itself.
func (p *Process) Wait() (int, error) {
	timeout := time.NewTimer(exitWithin)
	defer timeout.Stop()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-timeout.C:
		p.kill()
		return -1, fmt.Errorf("still running %v after the signal", exitWithin)
	}
}

// ended describes how the process ended; done must be closed.
func (p *Process) ended() error {
	if p.err != nil {
		return p.err
	}
	return errors.New("exit code 0")
}

func (p *Process) kill() {
	select {
	case <-p.done:
	default:
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// freeAddr returns a loopback address whose port was free a moment ago.
func freeAddr(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
