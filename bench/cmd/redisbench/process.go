package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// startWithin bounds the time until a server accepts a connection.
	startWithin = 20 * time.Second
	// replyWithin bounds the wait for one reply.
	replyWithin = 20 * time.Second
	// perWrite commands of the load travel in one write.
	perWrite = 1000
	// clockTicks a second are the unit of utime and stime on Linux.
	clockTicks = 100
)

// A process is a server that is being measured.
type process struct {
	name string
	port string
	cmd  *exec.Cmd
	log  *bytes.Buffer
	done chan struct{}
}

// launch starts a server on a free port, which takes the place of {port} in its
// arguments, and waits until it accepts connections.
func launch(name string, args []string) (*process, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "{port}", port)
	}
	p := &process{name: name, port: port, log: &bytes.Buffer{}, done: make(chan struct{})}
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	deadline := time.NewTimer(startWithin)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err := p.dial(); err == nil {
			return p, c.Close()
		}
		select {
		case <-p.done:
			return nil, fmt.Errorf("ended at once:\n%s", p.log)
		case <-deadline.C:
			return nil, errors.Join(fmt.Errorf("no connection within %v", startWithin), p.stop())
		case <-tick.C:
		}
	}
}

func (p *process) dial() (net.Conn, error) { return net.Dial("tcp", "127.0.0.1:"+p.port) }

// stop ends the server and waits for it.
func (p *process) stop() error {
	select {
	case <-p.done:
		return nil
	default:
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(startWithin):
		return errors.Join(fmt.Errorf("%s does not end", p.name), p.cmd.Process.Kill())
	}
}

// load stores the keys that redis-benchmark -r names, so that every GET hits.
func (p *process) load(keys, size int) error {
	c, err := p.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	replies := bufio.NewReaderSize(c, 64<<10)
	value := strings.Repeat("x", size)
	var batch []byte
	for from := 0; from < keys; from += perWrite {
		batch = batch[:0]
		to := min(keys, from+perWrite)
		for i := from; i < to; i++ {
			batch = fmt.Appendf(batch, "*3\r\n$3\r\nSET\r\n$16\r\nkey:%012d\r\n$%d\r\n%s\r\n", i, size, value)
		}
		if err := c.SetDeadline(time.Now().Add(replyWithin)); err != nil {
			return err
		}
		if _, err := c.Write(batch); err != nil {
			return err
		}
		for range to - from {
			line, err := replies.ReadString('\n')
			if err != nil {
				return err
			}
			if line != "+OK\r\n" {
				return fmt.Errorf("SET answered %q", line)
			}
		}
	}
	return p.alive(keys)
}

// alive checks that the server still holds exactly the keys.
func (p *process) alive(keys int) error {
	c, err := p.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(replyWithin)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("DBSIZE\r\n")); err != nil {
		return err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err
	}
	if want := fmt.Sprintf(":%d\r\n", keys); line != want {
		return fmt.Errorf("DBSIZE answered %q, want %q", line, want)
	}
	return nil
}

// onCPU returns the time that all threads of the process were on a processor.
func (p *process) onCPU() (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("no schedstat of process %d: %w", p.cmd.Process.Pid, err)
	}
	var sum time.Duration
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // a thread that ended since the listing
		}
		if err != nil {
			return 0, err
		}
		nanos, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(nanos, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		sum += time.Duration(n)
	}
	return sum, nil
}

// ticks returns utime and stime of the process.
func (p *process) ticks() (user, system time.Duration, err error) {
	file := fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid)
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, err
	}
	// The name in parentheses may hold blanks; utime is the 14th field, the 12th
	// behind it.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0, 0, fmt.Errorf("%s: too short", file)
	}
	u, err1 := strconv.ParseInt(fields[11], 10, 64)
	s, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(u) * time.Second / clockTicks, time.Duration(s) * time.Second / clockTicks, errors.Join(err1, err2)
}
