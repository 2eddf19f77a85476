package reactor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
)

// echo sends everything back: the least that a handler can do.
type echo struct{}

func (echo) Open(*Conn)          {}
func (echo) Closed(*Conn, error) {}

func (echo) Data(c *Conn, in []byte) (int, bool) {
	out := c.Out()
	out.SetTail(append(out.Tail(len(in)), in...))
	return len(in), false
}

// serveEcho starts an echo server that ends with the test.
func serveEcho(tb testing.TB, o Options) *Server {
	tb.Helper()
	o.Handler = echo{}
	s, err := Listen("127.0.0.1:0", o)
	if err != nil {
		tb.Fatal(err)
	}
	go func() { _ = s.Serve() }()
	tb.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	return s
}

// BenchmarkEcho has connections that each ask, wait and ask again. threads/op is not what it measures: both sides run in
// this process, so its time is that of client and server together. Compare the implementations in one run.
func BenchmarkEcho(b *testing.B) {
	for _, portable := range []bool{false, true} {
		for _, conns := range []int{1, 50} {
			for _, size := range []int{64, 4096} {
				b.Run(fmt.Sprintf("portable=%v/conns=%d/bytes=%d", portable, conns, size), func(b *testing.B) {
					s := serveEcho(b, Options{Portable: portable})
					benchmarkEcho(b, s, conns, size)
				})
			}
		}
	}
}

func benchmarkEcho(b *testing.B, s *Server, conns, size int) {
	var clients []net.Conn
	for range conns {
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c)
	}
	before := s.Stats()
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	cpu := processTime()
	b.ResetTimer()
	var wg sync.WaitGroup
	for i, c := range clients {
		n := b.N / conns
		if i < b.N%conns {
			n++
		}
		wg.Go(func() {
			p := bytes.Repeat([]byte("e"), size)
			for range n {
				if _, err := c.Write(p); err != nil {
					b.Error(err)
					return
				}
				if _, err := io.ReadFull(c, p); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	runtime.ReadMemStats(&m1)
	after := s.Stats()
	n := float64(b.N)
	b.ReportMetric(float64(processTime()-cpu)/n, "cpu-ns/op")
	b.ReportMetric(float64(after.Turns-before.Turns)/n, "turns/op")
	b.ReportMetric(float64(m1.Mallocs-m0.Mallocs)/n, "mallocs/op")
}
