package reactor

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/larder-cache/larder/internal/netbuf"
)

// Server listens on one address and serves its connections.
type Server struct {
	opt   Options
	turns TurnHandler // the handler, when it wants turns
	pool  *netbuf.Pool
	epoch time.Time // zero of the server's clock

	backend backend
	addr    net.Addr

	serving   atomic.Bool
	startOnce sync.Once
	stopOnce  sync.Once

	maxClients  atomic.Int64
	clients     atomic.Int64
	lastID      atomic.Uint64
	accepted    atomic.Uint64
	rejected    atomic.Uint64
	acceptFails atomic.Uint64
	complained  atomic.Int64 // server's time of the last log line about accepting
}

// backend is an implementation of loops.
type backend interface {
	start()
	// stop begins a graceful end: no new connections, the present ones close when their output is written. It may come
	// before start.
	stop()
	// abort drops what stop left.
	abort()
	// done is closed when every connection is closed and every loop has ended.
	done() <-chan struct{}
	// run runs fn on a loop, or returns false when it has ended.
	run(loop int, fn func()) bool
	// conns returns the open connections of a loop; called on the loop.
	conns(loop int) []*Conn
	counters(k *counters)
}

// Listen opens addr, "host:port" or "unix:/path", and prepares the loops. Clients can connect from then on; they are
// served from Serve on. Errors wrap ErrAddress, ErrOptions or the system's error, such as syscall.EADDRINUSE.
func Listen(addr string, o Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Server{opt: o.withDefaults(), pool: netbuf.NewPool(), epoch: time.Now()}
	s.turns, _ = o.Handler.(TurnHandler)
	s.maxClients.Store(int64(s.opt.MaxClients))
	l, err := listen(addr)
	if err != nil {
		return nil, err
	}
	s.addr = l.Addr()
	if s.opt.Portable {
		s.backend = newPortable(s, l)
		return s, nil
	}
	s.backend, err = newNative(s, l)
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	return s, nil
}

// Addr returns the address listened on; its port is the true one.
func (s *Server) Addr() net.Addr { return s.addr }

// Loops returns the number of loops.
func (s *Server) Loops() int { return s.opt.Loops }

// SetMaxClients changes the most connections at one time. Present ones stay.
func (s *Server) SetMaxClients(n int) { s.maxClients.Store(int64(n)) }

// Serve serves connections until Shutdown has ended the loops; it then returns nil. It can be called once.
func (s *Server) Serve() error {
	if s.serving.Swap(true) {
		return ErrServing
	}
	s.startOnce.Do(s.backend.start)
	<-s.backend.done()
	return nil
}

// Shutdown stops listening, lets connections write what they owe, closes them and ends the loops. When ctx ends before,
// the remaining connections are dropped and its error is returned. It must not be called on a loop.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stopOnce.Do(s.backend.stop)
	// Without Serve the loops run only to end.
	s.startOnce.Do(s.backend.start)
	select {
	case <-s.backend.done():
		return nil
	case <-ctx.Done():
	}
	s.backend.abort()
	<-s.backend.done()
	return ctx.Err()
}

// Visit runs fn for every open connection, on its loop, and then done once, on some loop or, when the server has ended,
// on the caller's goroutine. It does not wait, so a handler may call it; loops run at the same time, so fn must be safe
// for concurrent use.
func (s *Server) Visit(fn func(*Conn), done func()) {
	left := new(atomic.Int32)
	left.Store(int32(s.opt.Loops))
	finish := func() {
		if left.Add(-1) == 0 && done != nil {
			done()
		}
	}
	for i := range s.opt.Loops {
		ok := s.backend.run(i, func() {
			for _, c := range s.backend.conns(i) {
				if c != nil && c.state&(stateClosing|stateGone) == 0 {
					fn(c)
				}
			}
			finish()
		})
		if !ok {
			finish()
		}
	}
}

// Each runs fn for every open connection, one at a time, each on its loop, and returns when all are done. It must not
// be called on a loop, which would wait for itself; see Visit.
func (s *Server) Each(fn func(*Conn)) {
	var mu sync.Mutex
	done := make(chan struct{})
	s.Visit(func(c *Conn) {
		mu.Lock()
		defer mu.Unlock()
		fn(c)
	}, func() { close(done) })
	<-done
}

// Stats returns the totals. The loops' part is that of their last turns. A handler may call it.
func (s *Server) Stats() Stats {
	st := Stats{
		Loops:       s.opt.Loops,
		Clients:     s.clients.Load(),
		Accepted:    s.accepted.Load(),
		Rejected:    s.rejected.Load(),
		AcceptFails: s.acceptFails.Load(),
		Buffers:     s.pool.Stats(),
	}
	s.backend.counters(&st.counters)
	return st
}

// now returns nanoseconds of the server's clock: monotonic, never 0.
func (s *Server) now() int64 { return int64(time.Since(s.epoch)) + 1 }

// newConn returns a connection that is accepted and belongs to no loop yet.
func (s *Server) newConn(remote, local string) *Conn {
	s.accepted.Add(1)
	return &Conn{id: s.lastID.Add(1), created: time.Now(), remote: remote, local: local, server: s}
}

// complaintInterval is the least time between two log lines about accepting.
const complaintInterval = 10 * time.Second

// complain counts a failure to accept and logs it, at most once per complaintInterval.
func (s *Server) complain(err error) {
	n := s.acceptFails.Add(1)
	if s.opt.Logger == nil {
		return
	}
	now, last := s.now(), s.complained.Load()
	if (last == 0 || now-last > int64(complaintInterval)) && s.complained.CompareAndSwap(last, now) {
		s.opt.Logger.Warn("cannot accept connections for now", "error", err, "times", n, "clients", s.clients.Load())
	}
}

// blockBudget returns the budget of a loop's block store in bytes.
func (s *Server) blockBudget() int { return max(orDefault(s.opt.BlockBudget, netbuf.DefaultBudget), 0) }
