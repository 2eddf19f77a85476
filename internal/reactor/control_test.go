package reactor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestPostRunsInOrderAndWrites(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		conn := make(chan *Conn, 1)
		h := &script{opened: func(c *Conn) { conn <- c }}
		s := serve(t, h, Options{Portable: portable})
		c := dial(t, s)
		server := receiveIn(t, "Open", conn)
		var want strings.Builder
		for i := range 1000 {
			line := fmt.Sprintf("pushed %d\n", i)
			want.WriteString(line)
			server.Post(func() { server.Out().Append([]byte(line)) })
		}
		c.want(want.String())
	})
}

func TestPostAfterCloseIsDropped(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		conn := make(chan *Conn, 1)
		closed := make(chan error, 1)
		h := &script{
			opened: func(c *Conn) { conn <- c },
			closed: func(_ *Conn, err error) { closed <- err },
		}
		s := serve(t, h, Options{Portable: portable})
		c := dial(t, s)
		server := receiveIn(t, "Open", conn)
		_ = c.Close()
		if err := receiveIn(t, "Closed", closed); err != nil {
			t.Errorf("closed with %v", err)
		}
		server.Post(func() { t.Error("a function ran after the connection had closed") })
		server.Resume()
		done := make(chan struct{})
		s.Visit(func(*Conn) {}, func() { close(done) })
		receiveIn(t, "the posts are taken", done)
	})
}

func TestOneConnectionClosesAnother(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		var victim atomic.Pointer[Conn]
		var running atomic.Bool
		closed := make(chan error, 2)
		h := &script{
			do: func(c *Conn, line []byte) {
				running.Store(true)
				defer running.Store(false)
				switch line[0] {
				case 'v':
					victim.Store(c)
				case 'k':
					victim.Load().Close()
				case 'm': // a message to the other
					victim.Load().Out().Append([]byte("message\n"))
					victim.Load().Flush()
				}
				c.Out().Append(line)
			},
			closed: func(_ *Conn, err error) {
				if running.Load() {
					t.Error("Closed was called within another call")
				}
				closed <- err
			},
		}
		s := serve(t, h, Options{Portable: portable, Loops: 1})
		a, b := dial(t, s), dial(t, s)
		a.send("victim\n")
		a.want("victim\n")
		b.send("message\n")
		b.want("message\n")
		a.want("message\n")
		b.send("kill\n")
		b.want("kill\n")
		if err := receiveIn(t, "Closed", closed); err != nil {
			t.Errorf("closed with %v", err)
		}
		if rest, err := io.ReadAll(a.r); len(rest) > 0 {
			t.Errorf("got %q, %v", rest, err)
		}
	})
}

func TestPauseHoldsThePipelineUntilResume(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		conn := make(chan *Conn, 1)
		var paused atomic.Bool
		h := &script{}
		h.do = func(c *Conn, line []byte) {
			if paused.Load() {
				t.Error("Data was called on a paused connection")
			}
			c.Out().Append(line)
			if line[0] == 'w' {
				paused.Store(true)
				c.Pause()
				conn <- c
			}
		}
		s := serve(t, h, Options{Portable: portable})
		c, other := dial(t, s), dial(t, s)
		for range 3 {
			c.send("first\nwait\nsecond\nthird\n")
			c.want("first\nwait\n")
			server := receiveIn(t, "Pause", conn)
			c.send("fourth\n")
			paused.Store(false)
			other.send("other\n")
			other.want("other\n")
			paused.Store(true)
			server.Post(func() {
				server.Out().Append([]byte("meanwhile\n"))
			})
			c.want("meanwhile\n")
			paused.Store(false)
			server.Resume()
			c.want("second\nthird\nfourth\n")
		}
	})
}

func TestEachVisitsEveryConnectionOnce(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		s := serve(t, &script{}, Options{Portable: portable, Loops: 3})
		for range 30 {
			c := dial(t, s)
			c.send("x\n")
			c.want("x\n")
		}
		seen := make(map[uint64]int)
		s.Each(func(c *Conn) { seen[c.ID()]++ })
		if len(seen) != 30 {
			t.Errorf("%d connections seen, want 30", len(seen))
		}
		for id, n := range seen {
			if n != 1 || id == 0 {
				t.Errorf("connection %d seen %d times", id, n)
			}
		}
	})
}

func TestVisitFromAHandlerDoesNotLock(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		var opened atomic.Int64
		h := &script{opened: func(*Conn) { opened.Add(1) }}
		h.do = func(c *Conn, _ []byte) {
			c.Pause()
			var n atomic.Int64
			c.server.Visit(func(*Conn) { n.Add(1) }, func() {
				c.Post(func() { c.Out().Append(fmt.Appendf(nil, "%d clients\n", n.Load())) })
				c.Resume()
			})
		}
		s := serve(t, h, Options{Portable: portable, Loops: 2})
		clients := make([]*client, 10)
		for i := range clients {
			clients[i] = dial(t, s)
		}
		eventually(t, "all are open", func() bool { return opened.Load() == 10 })
		var wg sync.WaitGroup
		for _, c := range clients {
			wg.Go(func() {
				for range 20 {
					c.send("list\n")
					c.want("10 clients\n")
				}
			})
		}
		wg.Wait()
	})
}

func TestStatsFromAHandlerDoesNotLock(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		h := &script{do: func(c *Conn, _ []byte) { c.Out().Append(fmt.Appendf(nil, "%d clients\n", c.server.Stats().Clients)) }}
		s := serve(t, h, Options{Portable: portable})
		c := dial(t, s)
		c.send("stats\n")
		c.want("1 clients\n")
	})
}

func TestShutdownWritesWhatIsOwed(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		var closed atomic.Int64
		h := &script{
			do: func(c *Conn, _ []byte) {
				for range 4096 {
					c.Out().Append(make([]byte, 1024))
				}
			},
			closed: func(*Conn, error) { closed.Add(1) },
		}
		s := serve(t, h, Options{Portable: portable, Loops: 2})
		c, idle := dial(t, s), dial(t, s)
		c.send("all\n")
		eventually(t, "output waits", func() bool { return s.Stats().Writes > 0 })
		done := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			done <- s.Shutdown(ctx)
		}()
		idle.wantEnd()
		if n, err := io.Copy(io.Discard, c.r); n != 4096*1024 || err != nil {
			t.Errorf("%d bytes, %v; want %d", n, err, 4096*1024)
		}
		if err := receiveIn(t, "Shutdown", done); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if n := closed.Load(); n != 2 {
			t.Errorf("Closed was called %d times, want 2", n)
		}
		ran := make(chan struct{})
		s.Visit(func(*Conn) { t.Error("a connection is left") }, func() { close(ran) })
		receiveIn(t, "Visit after the end", ran)
	})
}

func TestShutdownDropsWhatDoesNotEnd(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		closed := make(chan error, 1)
		h := &script{
			do:     func(c *Conn, _ []byte) { c.Out().Append(make([]byte, 32<<20)) },
			closed: func(_ *Conn, err error) { closed <- err },
		}
		s := serve(t, h, Options{Portable: portable, CloseTimeout: time.Hour})
		c := dial(t, s)
		c.send("all\n")
		eventually(t, "output waits", func() bool { return s.Stats().Buffers.LargeBytes > 0 })
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v", err)
		}
		if err := receiveIn(t, "Closed", closed); !errors.Is(err, ErrShutdown) {
			t.Errorf("closed with %v, want ErrShutdown", err)
		}
	})
}

func TestShutdownBeforeServe(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		s, err := Listen("127.0.0.1:0", Options{Handler: &script{}, Portable: portable})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := s.Serve(); err != nil {
			t.Errorf("Serve after Shutdown: %v", err)
		}
		if err := s.Serve(); !errors.Is(err, ErrServing) {
			t.Errorf("Serve again: %v", err)
		}
		again, err := Listen(s.Addr().String(), Options{Handler: &script{}, Portable: portable})
		if err != nil {
			t.Fatalf("the port is not free after Shutdown: %v", err)
		}
		_ = again.Shutdown(context.Background())
	})
}

// TestConnectionsComeAndGo lets many connections end in every way at the same time.
func TestConnectionsComeAndGo(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		var opened, closed atomic.Int64
		h := &script{
			budget: 7,
			do: func(c *Conn, line []byte) {
				switch line[0] {
				case 'q':
					c.CloseAfterFlush()
				case 'k':
					c.Close()
				case 'p':
					c.Pause()
					go c.Resume()
				case 'l':
					go c.Post(func() { c.Out().Append([]byte("later\n")) })
				}
				c.Out().Append(line)
			},
			opened: func(*Conn) { opened.Add(1) },
			closed: func(*Conn, error) { closed.Add(1) },
		}
		s := serve(t, h, Options{Portable: portable, Loops: 2})
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for j := range 40 {
					c := dial(t, s)
					c.send("hello\np\nlater\n" + strings.Repeat("x\n", 100))
					switch (i + j) % 4 {
					case 0:
						c.send("quit\n")
						_, _ = io.Copy(io.Discard, c.r)
					case 1:
						c.send("kill\n")
						_, _ = io.Copy(io.Discard, c.r)
					case 2:
						c.want("hello\np\n")
					}
					_ = c.Close()
				}
			})
		}
		wg.Wait()
		eventually(t, "all are closed", func() bool { return closed.Load() == 320 && s.Stats().Clients == 0 })
		if n := opened.Load(); n != 320 {
			t.Errorf("%d opened, want 320", n)
		}
	})
}
