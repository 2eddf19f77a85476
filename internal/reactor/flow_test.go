package reactor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestHalfClosedPeerGetsItsReplies(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		closed := make(chan error, 1)
		h := &script{budget: 10, closed: func(_ *Conn, err error) { closed <- err }}
		s := serve(t, h, Options{Portable: portable})
		c := dial(t, s)
		all := strings.Repeat("a line of the pipeline\n", 1000)
		c.send(all + "unfinished")
		if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		c.want(all)
		c.wantEnd()
		if err := receiveIn(t, "Closed", closed); err != nil {
			t.Errorf("closed with %v", err)
		}
	})
}

func TestResetPeerIsClosedAndOthersGoOn(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		closed := make(chan error, 1)
		h := &script{closed: func(_ *Conn, err error) { closed <- err }}
		s := serve(t, h, Options{Portable: portable})
		other := dial(t, s)
		other.send("before\n")
		other.want("before\n")
		c := dial(t, s)
		c.send("hello\nunfinished")
		c.want("hello\n")
		_ = c.Conn.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
		if err := receiveIn(t, "Closed", closed); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("closed with %v, want ECONNRESET", err)
		}
		other.send("after\n")
		other.want("after\n")
	})
}

func TestResetWhilePausedIsNoticed(t *testing.T) {
	closed := make(chan error, 1)
	h := &script{
		do:     func(c *Conn, line []byte) { c.Out().Append(line); c.Pause() },
		closed: func(_ *Conn, err error) { closed <- err },
	}
	s := serve(t, h, Options{})
	c := dial(t, s)
	c.send("hello\n")
	c.want("hello\n")
	_ = c.Conn.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
	if err := receiveIn(t, "Closed", closed); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("closed with %v, want ECONNRESET", err)
	}
}

func TestByteByByteGivesTheSameReplies(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		s := serve(t, &script{}, Options{Portable: portable})
		c := dial(t, s)
		var stream bytes.Buffer
		for i := 0; stream.Len() < 100_000; i++ {
			fmt.Fprintf(&stream, "line %d\n$%d\n%s", i, i%300, strings.Repeat("\n", i%300))
		}
		go func() {
			for _, b := range stream.Bytes() {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
			}
		}()
		c.want(stream.String())
	})
}

func TestLargeFrames(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		s := serve(t, &script{}, Options{Portable: portable})
		c := dial(t, s)
		for _, n := range []int{16 << 10, 64<<10 + 1, 1 << 20, 24 << 20} {
			body := strings.Repeat("0123456789abcdef", n/16) + "\n"
			frame := fmt.Sprintf("$%d\n%s", len(body), body)
			go func() { _, _ = io.WriteString(c, frame+"next\n") }()
			c.want(frame + "next\n")
		}
	})
}

func TestCloseInsideAPipelineRunsNothingMore(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		for _, flush := range []bool{false, true} {
			var ran atomic.Int64
			closed := make(chan error, 1)
			h := &script{
				do: func(c *Conn, line []byte) {
					ran.Add(1)
					c.Out().Append(line)
					if bytes.Equal(line, []byte("stop\n")) {
						if flush {
							c.CloseAfterFlush()
						} else {
							c.Close()
						}
					}
				},
				closed: func(_ *Conn, err error) { closed <- err },
			}
			s := serve(t, h, Options{Portable: portable})
			c := dial(t, s)
			c.send("one\ntwo\nstop\n" + strings.Repeat("more\n", 10_000))
			if err := receiveIn(t, "Closed", closed); err != nil {
				t.Errorf("closed with %v", err)
			}
			if flush {
				c.want("one\ntwo\nstop\n")
				c.wantEnd()
			}
			if n := ran.Load(); n != 3 {
				t.Errorf("%d frames ran, want 3", n)
			}
		}
	})
}

func TestLastReplySurvivesBytesStillUnderWay(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		h := &script{do: func(c *Conn, line []byte) {
			c.Out().Append(line)
			c.CloseAfterFlush()
		}}
		s := serve(t, h, Options{Portable: portable})
		for range 20 {
			c := dial(t, s)
			c.send("bye\n")
			for range 20 {
				if _, err := c.Write(make([]byte, 1000)); err != nil {
					break
				}
			}
			c.want("bye\n")
			c.wantEnd()
			_ = c.Close()
		}
	})
}

func TestLongOutputIsWrittenBeforeTheEnd(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		const n = 9 << 20
		h := &script{do: func(c *Conn, _ []byte) {
			for range n / 1024 {
				c.Out().Append(bytes.Repeat([]byte("z"), 1024))
			}
			c.CloseAfterFlush()
		}}
		s := serve(t, h, Options{Portable: portable})
		c := dial(t, s)
		c.send("all\n")
		time.Sleep(20 * time.Millisecond) // let the socket fill
		c.want(strings.Repeat("z", n))
		c.wantEnd()
	})
}

func TestCloseAfterFlushIsBounded(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		for _, posted := range []bool{false, true} {
			closed := make(chan error, 1)
			conn := make(chan *Conn, 1)
			h := &script{
				do: func(c *Conn, _ []byte) {
					c.Out().Append(make([]byte, 32<<20))
					if !posted {
						c.CloseAfterFlush()
					}
					conn <- c
				},
				closed: func(_ *Conn, err error) { closed <- err },
			}
			s := serve(t, h, Options{Portable: portable, CloseTimeout: 200 * time.Millisecond})
			c := dial(t, s)
			c.send("all\n")
			server := receiveIn(t, "Data", conn)
			if posted {
				eventually(t, "the socket is full", func() bool { return s.Stats().Writes > 0 })
				server.Post(server.CloseAfterFlush)
			}
			if err := receiveIn(t, "Closed", closed); err != nil {
				t.Errorf("closed with %v", err)
			}
			eventually(t, "the blocks came back", func() bool { return s.Stats().Buffers.LargeBytes == 0 })
		}
	})
}

// flood sends lines without reading until a write does not go through, and returns how many whole lines went.
func flood(c *client, line string) int {
	block := strings.Repeat(line, 1000)
	sent := 0
	for {
		_ = c.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
		n, err := io.WriteString(c, block[sent%len(line):])
		sent += n
		if err != nil {
			_ = c.SetDeadline(time.Now().Add(patience))
			return sent
		}
	}
}

func TestPeerThatDoesNotReadIsSlowedNotServed(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		h := &script{do: func(c *Conn, line []byte) { c.Out().Append(bytes.Repeat(line, 10)) }}
		s := serve(t, h, Options{Portable: portable})
		c := dial(t, s)
		line := strings.Repeat("x", 99) + "\n"
		sent := flood(c, line)
		st := s.Stats()
		if got := st.Buffers.Bytes(); got > 4<<20 {
			t.Errorf("%d bytes of blocks for a peer that does not read", got)
		}
		if st.Congestions == 0 && !portable {
			t.Error("the congestion is not counted")
		}
		turns := h.turns.Load()
		time.Sleep(500 * time.Millisecond)
		if n := h.turns.Load() - turns; n > 20 {
			t.Errorf("%d turns in half a second for a peer that does nothing", n)
		}
		other := dial(t, s)
		other.send("x\n")
		other.want(strings.Repeat("x\n", 10))

		// It reads again, and nothing is missing.
		if part := sent % len(line); part > 0 {
			go func() { _, _ = io.WriteString(c, line[part:]) }()
			sent += len(line) - part
		}
		got, err := io.Copy(io.Discard, io.LimitReader(c.r, int64(10*sent)))
		if err != nil || got != int64(10*sent) {
			t.Errorf("%d bytes, %v; want %d", got, err, 10*sent)
		}
	})
}

func TestOutputLimits(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		for _, c := range []struct {
			name string
			opt  Options
			want error
		}{
			{"hard", Options{OutputHard: 8 << 20}, ErrOutputLimit},
			{"soft", Options{OutputSoft: 8 << 20, OutputSoftFor: 200 * time.Millisecond}, ErrOutputLimit},
			{"stalled", Options{StallTimeout: 200 * time.Millisecond}, ErrStalled},
		} {
			t.Run(c.name, func(t *testing.T) {
				closed := make(chan error, 2)
				h := &script{
					do: func(c *Conn, line []byte) {
						if line[0] == 'b' {
							line = make([]byte, 32<<20)
						}
						c.Out().Append(line)
					},
					closed: func(_ *Conn, err error) { closed <- err },
				}
				c.opt.Portable = portable
				s := serve(t, h, c.opt)
				other := dial(t, s)
				peer := dial(t, s)
				if c.want == ErrOutputLimit && c.opt.OutputSoftFor > 0 && portable {
					// The limit is looked at when something is written: the peer reads a little at a time.
					go func() {
						for {
							if _, err := peer.Read(make([]byte, 4<<10)); err != nil {
								return
							}
							time.Sleep(time.Millisecond)
						}
					}()
				}
				peer.send("big\n")
				if err := receiveIn(t, "the cut", closed); !errors.Is(err, c.want) {
					t.Errorf("closed with %v, want %v", err, c.want)
				}
				eventually(t, "memory came back", func() bool { return s.Stats().Buffers.LargeBytes == 0 })
				eventually(t, "it is counted", func() bool {
					st := s.Stats()
					return st.OutputCut+st.Stalled == 1 && st.Closed == 1
				})
				other.send("ok\n")
				other.want("ok\n")
			})
		}
	})
}

func TestWritingComesBeforeReading(t *testing.T) {
	waiting := make(chan int, 1)
	var before atomic.Int64
	var conn atomic.Pointer[Conn]
	h := &script{do: func(c *Conn, line []byte) {
		if line[0] == 'p' {
			waiting <- c.Out().Len()
			return
		}
		conn.Store(c)
		c.Out().Append(make([]byte, 6<<20))
	}}
	s := serve(t, h, Options{OutputPause: 64 << 20})
	c := dial(t, s)
	c.send("fill\n")
	eventually(t, "the socket is full", func() bool { return s.Stats().ShortWrites > 0 })

	// While the loop is held both become ready: there is room to write, and something to read.
	hold := make(chan struct{})
	held := make(chan struct{})
	conn.Load().Post(func() {
		before.Store(int64(conn.Load().Out().Len()))
		close(held)
		<-hold
	})
	receiveIn(t, "the loop", held)
	c.send("probe\n")
	if _, err := io.CopyN(io.Discard, c.r, 2<<20); err != nil {
		t.Fatal(err)
	}
	close(hold)
	if n := receiveIn(t, "Data", waiting); int64(n) >= before.Load() {
		t.Errorf("%d bytes waited when Data was called, as many as before: nothing was written first", n)
	}
}

func TestPipelineWithoutEndDelaysNobody(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		h := &script{budget: 256}
		s := serve(t, h, Options{Portable: portable, Loops: 1})
		greedy := dial(t, s)
		done := make(chan struct{})
		go func() { _, _ = io.Copy(io.Discard, greedy.Conn) }()
		go func() {
			defer close(done)
			block := strings.Repeat("greedy\n", 10_000)
			for {
				if _, err := io.WriteString(greedy, block); err != nil {
					return
				}
			}
		}()
		c := dial(t, s)
		eventually(t, "the pipeline runs", func() bool { return s.Stats().BudgetStops > 10 })
		var slow int
		for range 200 {
			start := time.Now()
			c.send("ping\n")
			c.want("ping\n")
			if time.Since(start) > 250*time.Millisecond {
				slow++
			}
		}
		// Without turns each of them would wait for ever; a few are late on a machine that others use too.
		if slow > 10 {
			t.Errorf("%d of 200 echoes took more than 250 ms beside an endless pipeline", slow)
		}
		_ = greedy.Close()
		<-done
	})
}

func TestTurnBudgetEndsAnUnbrokenRead(t *testing.T) {
	conn := make(chan *Conn, 1)
	h := &script{opened: func(c *Conn) { conn <- c }, do: func(*Conn, []byte) {}}
	s := serve(t, h, Options{Loops: 1, TurnBudget: 32 << 10})
	c := dial(t, s)
	server := receiveIn(t, "Open", conn)
	hold, held := make(chan struct{}), make(chan struct{})
	server.Post(func() {
		close(held)
		<-hold
	})
	receiveIn(t, "the loop", held)
	const total = 256 << 10
	c.send(strings.Repeat("a line without a reply, 32 bytes\n", total/33))
	close(hold)
	eventually(t, "all is read", func() bool { return s.Stats().BytesIn == total/33*33 })
	if n := s.Stats().BudgetStops; n < 2 {
		t.Errorf("stopped %d times in %d bytes with a budget of %d", n, total, 32<<10)
	}
}

func TestMaxClients(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		s := serve(t, &script{}, Options{MaxClients: 2, Portable: portable})
		a, b := dial(t, s), dial(t, s)
		for _, c := range []*client{a, b} {
			c.send("x\n")
			c.want("x\n")
		}
		c := dial(t, s)
		c.want(RefusalMaxClients)
		c.wantEnd()
		if st := s.Stats(); st.Rejected != 1 || st.Clients != 2 {
			t.Errorf("%d rejected, %d clients", st.Rejected, st.Clients)
		}
		s.SetMaxClients(3)
		c = dial(t, s)
		c.send("x\n")
		c.want("x\n")
		_ = a.Close()
		eventually(t, "the place is free", func() bool { return s.Stats().Clients == 2 })
		c = dial(t, s)
		c.send("x\n")
		c.want("x\n")
	})
}

func TestInputLimitReservesNothing(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		for _, frame := range []string{
			"$9000000\nbody",               // announced
			strings.Repeat("x", 2_000_000), // never ending
		} {
			closed := make(chan error, 1)
			h := &script{closed: func(_ *Conn, err error) { closed <- err }}
			s := serve(t, h, Options{InputLimit: 1 << 20, Portable: portable})
			c := dial(t, s)
			_, _ = io.WriteString(c, frame)
			if err := receiveIn(t, "Closed", closed); !errors.Is(err, ErrInputLimit) {
				t.Errorf("closed with %v, want ErrInputLimit", err)
			}
			eventually(t, "it is counted", func() bool { return s.Stats().InputCut == 1 })
		}
	})
}

func TestHandlerThatUsesTooMuchLosesTheConnection(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		closed := make(chan error, 1)
		h := &script{excess: 1, closed: func(_ *Conn, err error) { closed <- err }}
		s := serve(t, h, Options{Portable: portable})
		c := dial(t, s)
		c.send("x\n")
		if err := receiveIn(t, "Closed", closed); !errors.Is(err, ErrHandler) {
			t.Errorf("closed with %v, want ErrHandler", err)
		}
	})
}

func TestPendingTellsWhatIsUnderWay(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		const owed = 32 << 20 // more than the buffers of two sockets
		conns := make(chan *Conn, 1)
		h := &script{
			opened: func(c *Conn) { conns <- c },
			do: func(c *Conn, line []byte) {
				if string(line) == "much\n" {
					c.Out().Append(make([]byte, owed))
				}
			},
		}
		s := serve(t, h, Options{Portable: portable})
		c := dial(t, s)
		conn := receiveIn(t, "Open", conns)
		pending := func() (input, output int) {
			done := make(chan struct{})
			conn.Post(func() {
				input, output = conn.Pending()
				close(done)
			})
			receiveIn(t, "Post", done)
			return input, output
		}
		if in, out := pending(); in != 0 || out != 0 {
			t.Errorf("%d and %d bytes on a silent connection", in, out)
		}
		c.send("$1000\nabc")
		eventually(t, "unfinished input shows", func() bool { in, _ := pending(); return in == len("$1000\nabc") })
		c.send(strings.Repeat("y", 997) + "much\n")
		eventually(t, "unwritten output shows", func() bool { _, out := pending(); return out > 0 })
		_, before := pending()
		if _, err := io.CopyN(io.Discard, c.r, owed/2); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it becomes less", func() bool { _, out := pending(); return out < before })
	})
}

func TestIdleConnectionsHoldNoBlock(t *testing.T) {
	s := serve(t, &script{}, Options{})
	for range 300 {
		c := dial(t, s)
		c.send("x\n$20000\n")
		c.want("x\n")
		c.send(strings.Repeat("y", 20_000))
		c.want("$20000\n" + strings.Repeat("y", 20_000))
	}
	eventually(t, "no block is in use", func() bool {
		st := s.Stats().Buffers
		for _, c := range st.Classes {
			if c.InUse != 0 {
				return false
			}
		}
		return st.Large == 0
	})
}

func TestConnectionsSpreadOverLoops(t *testing.T) {
	both(t, func(t *testing.T, portable bool) {
		h := &script{do: func(c *Conn, _ []byte) { c.Out().Append([]byte{byte('0' + c.Loop())}) }}
		s := serve(t, h, Options{Portable: portable, Loops: 4})
		var count [4]int
		for range 40 {
			c := dial(t, s)
			c.send("which\n")
			loop, err := c.r.ReadByte()
			if err != nil {
				t.Fatal(err)
			}
			count[loop-'0']++
		}
		if count != [4]int{10, 10, 10, 10} {
			t.Errorf("40 connections on 4 loops: %v", count)
		}
	})
}

func TestOneReceiveAndOneSendPerRequest(t *testing.T) {
	s := serveEcho(t, Options{})
	c := dial(t, s)
	line := []byte("a request of some length\n")
	buf := make([]byte, len(line))
	ask := func() {
		if _, err := c.Write(line); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c.Conn, buf); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	eventually(t, "the turn is over", func() bool { return s.Stats().Writes == 1 })
	before := s.Stats()
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	const n = 5000
	for range n {
		ask()
	}
	runtime.ReadMemStats(&m1)
	eventually(t, "the last turn is over", func() bool { return s.Stats().Writes >= before.Writes+n })
	st := s.Stats()
	if reads, writes := st.Reads-before.Reads, st.Writes-before.Writes; reads != n || writes != n {
		t.Errorf("%d receives and %d sends for %d requests", reads, writes, n)
	}
	if allocs := m1.Mallocs - m0.Mallocs; allocs > n/50 && !raceEnabled {
		t.Errorf("%d allocations for %d requests", allocs, n)
	}
}
