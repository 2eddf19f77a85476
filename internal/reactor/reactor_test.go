package reactor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience bounds everything a test waits for. It is long because the machines are shared.
const patience = 20 * time.Second

// script is a handler for tests. Its frames are lines, except "$n\n" followed by n bytes. Each frame is given to do.
type script struct {
	do     func(c *Conn, line []byte)
	opened func(c *Conn)
	closed func(c *Conn, err error)
	budget int // frames per call of Data; 0 = all
	excess int // how much more than there is Data says that it used

	calls   atomic.Int64
	inside  [8]atomic.Int32 // calls going on, per loop
	overlap atomic.Bool
	turns   atomic.Int64
	outside atomic.Bool // a call was made between turns
	inTurn  [8]atomic.Bool
	fault   atomic.Pointer[string]
}

func (s *script) enter(c *Conn) func() {
	if s.inside[c.Loop()].Add(1) != 1 {
		s.overlap.Store(true)
	}
	if !s.inTurn[c.Loop()].Load() {
		s.outside.Store(true)
	}
	return func() { s.inside[c.Loop()].Add(-1) }
}

func (s *script) BeginTurn(loop int) {
	s.inTurn[loop].Store(true)
	s.turns.Add(1)
}

func (s *script) EndTurn(loop int) { s.inTurn[loop].Store(false) }

func (s *script) Open(c *Conn) {
	defer s.enter(c)()
	c.Session = new(int)
	if s.opened != nil {
		s.opened(c)
	}
}

func (s *script) Data(c *Conn, in []byte) (used int, more bool) {
	defer s.enter(c)()
	s.calls.Add(1)
	if s.excess > 0 {
		return len(in) + s.excess, false
	}
	for frames := 0; ; frames++ {
		if c.Congested() || (s.budget > 0 && frames == s.budget) {
			return used, true
		}
		rest := in[used:]
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			return used, false
		}
		size := end + 1
		if rest[0] == '$' {
			n, err := strconv.Atoi(string(rest[1:end]))
			if err != nil || n < 0 {
				c.Out().Append([]byte("bad length\n"))
				c.CloseAfterFlush()
				return used, false
			}
			if size += n; len(rest) < size {
				c.Need(size)
				return used, false
			}
		}
		used += size
		if s.do == nil {
			c.Out().Append(rest[:size])
		} else {
			s.do(c, rest[:size])
		}
		if c.state&(stateClosing|stateFlushing|statePaused) != 0 {
			return used, false
		}
	}
}

func (s *script) Closed(c *Conn, err error) {
	defer s.enter(c)()
	if n := c.Session.(*int); *n != 0 {
		text := "Closed called twice"
		s.fault.Store(&text)
	} else {
		*n = 1
	}
	if s.closed != nil {
		s.closed(c, err)
	}
}

// both runs a test on the native and on the portable implementation.
func both(t *testing.T, test func(t *testing.T, portable bool)) {
	t.Run("native", func(t *testing.T) { test(t, false) })
	t.Run("portable", func(t *testing.T) { test(t, true) })
}

// serve starts a server that ends with the test, and checks then that nothing is left behind.
func serve(t *testing.T, h *script, o Options) *Server {
	t.Helper()
	o.Handler = h
	return serveAt(t, "127.0.0.1:0", h, o)
}

func serveAt(t *testing.T, addr string, h *script, o Options) *Server {
	t.Helper()
	o.Handler = h
	s, err := Listen(addr, o)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if h.overlap.Load() {
			t.Error("calls of the handler overlapped on one loop")
		}
		if h.outside.Load() {
			t.Error("the handler was called between two turns")
		}
		if text := h.fault.Load(); text != nil {
			t.Error(*text)
		}
		st := s.Stats()
		if st.Clients != 0 {
			t.Errorf("%d clients are left", st.Clients)
		}
		if st.Buffers.Large != 0 {
			t.Errorf("%d large blocks are left", st.Buffers.Large)
		}
		for _, c := range st.Buffers.Classes {
			if c.InUse != 0 || c.Allocated != c.InUse+c.Cached+c.Free {
				t.Errorf("blocks are left: %+v", c)
			}
		}
	})
	return s
}

// client is a connection with a reader and a deadline.
type client struct {
	net.Conn
	r *bufio.Reader
	t *testing.T
}

func dial(t *testing.T, s *Server) *client {
	t.Helper()
	c, err := net.Dial(s.Addr().Network(), s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return &client{c, bufio.NewReader(c), t}
}

func (c *client) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) want(s string) {
	c.t.Helper()
	got := make([]byte, len(s))
	if n, err := io.ReadFull(c.r, got); err != nil {
		c.t.Fatalf("got %.80q, %v; want %.80q", got[:n], err, s)
	}
	if string(got) != s {
		c.t.Fatalf("got %.80q, want %.80q", got, s)
	}
}

func (c *client) wantEnd() {
	c.t.Helper()
	if rest, err := io.ReadAll(c.r); err != nil || len(rest) > 0 {
		c.t.Fatalf("got %.80q, %v; want the end", rest, err)
	}
}

// eventually waits for a condition that no channel tells about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// receiveIn returns what comes from ch, in time.
func receiveIn[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("not in time: %s", what)
		panic("unreachable")
	}
}

func TestEchoInOrder(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		s := serve(t, &script{}, Options{Loops: 2, Portable: portable})
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				c := dial(t, s)
				for j := range 50 {
					line := fmt.Sprintf("%d of %d\n", j, i)
					c.send(line)
					c.want(line)
				}
			})
		}
		wg.Wait()
		if n := s.Stats().Accepted; n != 20 {
			t.Errorf("%d connections accepted, want 20", n)
		}
	})
}

func TestUnixSocket(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		path := filepath.Join(t.TempDir(), "s")
		h := &script{do: func(c *Conn, _ []byte) { c.Out().Append([]byte(c.RemoteAddr() + " " + c.LocalAddr() + "\n")) }}
		s := serveAt(t, "unix:"+path, h, Options{Portable: portable})
		c := dial(t, s)
		c.send("who\n")
		c.want(path + ":0 " + path + ":0\n")
		if _, err := Listen("unix:"+path, Options{Handler: h}); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("second server on the same socket: %v", err)
		}
	})
}

func TestUnixSocketOfADeadServerIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = ln.Close()
	s := serveAt(t, "unix:"+path, &script{}, Options{})
	c := dial(t, s)
	c.send("hello\n")
	c.want("hello\n")
}

func TestPortInUseIsSaid(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		s := serve(t, &script{}, Options{Portable: portable})
		_, err := Listen(s.Addr().String(), Options{Handler: &script{}, Portable: portable})
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatalf("got %v, want EADDRINUSE", err)
		}
	})
}

func TestBadOptionsAndAddresses(t *testing.T) {
	for _, addr := range []string{"", "nowhere", "unix:", "127.0.0.1"} {
		if _, err := Listen(addr, Options{Handler: &script{}}); !errors.Is(err, ErrAddress) {
			t.Errorf("%q: %v, want ErrAddress", addr, err)
		}
	}
	_, err := Listen("127.0.0.1:0", Options{Loops: -1, MaxClients: -1})
	if !errors.Is(err, ErrOptions) {
		t.Fatalf("got %v, want ErrOptions", err)
	}
	for _, word := range []string{"Handler", "Loops", "MaxClients"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not speak of %s", err, word)
		}
	}
}

func TestAddresses(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		h := &script{do: func(c *Conn, _ []byte) { c.Out().Append([]byte(c.RemoteAddr() + " " + c.LocalAddr() + "\n")) }}
		s := serve(t, h, Options{Portable: portable})
		c := dial(t, s)
		c.send("who\n")
		c.want(c.Conn.LocalAddr().String() + " " + s.Addr().String() + "\n")

		any4 := serveAt(t, ":0", h, Options{Portable: portable})
		_, port, _ := net.SplitHostPort(any4.Addr().String())
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		c = &client{conn, bufio.NewReader(conn), t}
		c.send("who\n")
		c.want(conn.LocalAddr().String() + " 127.0.0.1:" + port + "\n")
	})
}

func TestAnIPv4AddressListensOnIPv4Only(t *testing.T) {
	l, err := listen("0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	addr := l.Addr().(*net.TCPAddr)
	if c, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", addr.Port)); err != nil {
		t.Fatal(err)
	} else {
		_ = c.Close()
	}
	if c, err := net.Dial("tcp6", fmt.Sprintf("[::1]:%d", addr.Port)); err == nil {
		_ = c.Close()
		t.Fatalf("%s answers on IPv6", addr)
	}
}
