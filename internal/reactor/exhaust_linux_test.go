package reactor

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// exhaustEnv makes TestOutOfDescriptors the server in a process of its own, whose descriptors it may exhaust.
const exhaustEnv = "LARDER_TEST_FEW_DESCRIPTORS"

// fewDescriptors is the limit of that process.
const fewDescriptors = 40

// serveWithFewDescriptors is the other process: it serves until its input ends.
func serveWithFewDescriptors(portable bool) error {
	h := &script{}
	h.do = func(c *Conn, line []byte) {
		if string(line) == "turns\n" {
			st := c.server.Stats()
			line = fmt.Appendf(nil, "%d %d\n", st.Turns, st.AcceptFails)
		}
		c.Out().Append(line)
	}
	s, err := Listen("127.0.0.1:0", Options{Handler: h, Portable: portable})
	if err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: fewDescriptors, Max: fewDescriptors}); err != nil {
		return err
	}
	fmt.Println(s.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = s.Shutdown(context.Background())
	}()
	return s.Serve()
}

func TestOutOfDescriptors(t *testing.T) {
	if kind := os.Getenv(exhaustEnv); kind != "" {
		if err := serveWithFewDescriptors(kind == "portable"); err != nil {
			t.Fatal(err)
		}
		return
	}
	both(t, func(t *testing.T, portable bool) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestOutOfDescriptors$")
		kind := "native"
		if portable {
			kind = "portable"
		}
		cmd.Env = append(os.Environ(), exhaustEnv+"="+kind)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = in.Close()
			end := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
			defer end.Stop()
			if err := cmd.Wait(); err != nil {
				t.Errorf("the other process: %v", err)
			}
		}()
		addr, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}

		const clients = fewDescriptors + 10
		var conns []*client
		for range clients {
			conn, err := net.Dial("tcp", strings.TrimSpace(addr))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			c := &client{conn, bufio.NewReader(conn), t}
			c.send("x\n")
			conns = append(conns, c)
		}
		first := conns[0]
		_ = first.SetDeadline(time.Now().Add(patience))
		first.want("x\n")
		ask := func() (turns, fails int) {
			first.send("turns\n")
			line, err := first.r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			a, b, _ := strings.Cut(strings.TrimSpace(line), " ")
			turns, _ = strconv.Atoi(a)
			fails, _ = strconv.Atoi(b)
			return turns, fails
		}
		eventually(t, "accepting failed", func() bool { _, fails := ask(); return fails > 0 })
		before, _ := ask()
		time.Sleep(500 * time.Millisecond)
		after, _ := ask()
		// Clients that came before the shortage may still be served meanwhile; a loop that spins makes thousands of turns.
		if after-before > 500 {
			t.Errorf("%d turns in half a second without descriptors: the loop spins", after-before)
		}

		// Whoever ends makes place for another; in the end all have been served.
		for i, c := range conns[1:] {
			_ = c.SetDeadline(time.Now().Add(patience))
			c.want("x\n")
			if i < fewDescriptors {
				_ = c.Close()
			}
		}
	})
}
