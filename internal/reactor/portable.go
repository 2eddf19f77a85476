package reactor

import (
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/larder-cache/larder/internal/netbuf"
)

const (
	// portableBlock is the block that waits in a read of a silent connection. A connection that fills it reads into
	// blocks of the usual size until it is silent again.
	portableBlock = netbuf.MinBlock

	// portablePieces and portableSend bound one write.
	portablePieces = 64
	portableSend   = 1 << 20

	// acceptPause is how long accepting rests after a failure.
	acceptPause = 100 * time.Millisecond
)

// portable is the implementation on the net package.
type portable struct {
	server   *Server
	listener net.Listener
	loops    []*virtualLoop
	wg       sync.WaitGroup // the acceptor and the connections
	quit     chan struct{}  // closed by stop
	closed   chan struct{}
	trimming atomic.Bool // a timer is set to trim the pool
}

// virtualLoop stands for a loop: its mutex is held during every call of the handler.
type virtualLoop struct {
	server  *Server
	backend *portable
	handler Handler
	turns   TurnHandler
	index   int

	mu       sync.Mutex
	blocks   *netbuf.Blocks
	table    []*Conn
	vacant   []int
	current  *Conn // the one whose call of the handler is going on
	stopping bool
	counters counters

	posts posts // its mutex is taken after mu, or alone
}

// newPortable returns the portable loops of a server, which accept from ln.
func newPortable(s *Server, ln net.Listener) backend {
	b := &portable{server: s, listener: ln, quit: make(chan struct{}), closed: make(chan struct{})}
	for i := range s.opt.Loops {
		b.loops = append(b.loops, &virtualLoop{
			server: s, backend: b, handler: s.opt.Handler, turns: s.turns, index: i,
			blocks: s.pool.NewBlocks(s.blockBudget()),
		})
	}
	return b
}

func (b *portable) start() {
	b.wg.Go(b.accept)
	go func() {
		b.wg.Wait()
		for _, l := range b.loops {
			l.end()
		}
		close(b.closed)
	}()
}

func (b *portable) done() <-chan struct{} { return b.closed }

func (b *portable) stop() {
	close(b.quit)
	_ = b.listener.Close()
	for _, l := range b.loops {
		l.each(func(c *Conn) { c.CloseAfterFlush() }, func() { l.stopping = true })
	}
}

func (b *portable) abort() {
	for _, l := range b.loops {
		l.each(func(c *Conn) { c.fail(ErrShutdown) }, nil)
	}
}

func (b *portable) run(i int, fn func()) bool { return b.loops[i].add(post{fn: fn}) }

func (b *portable) conns(i int) []*Conn { return b.loops[i].table }

func (b *portable) counters(k *counters) {
	for _, l := range b.loops {
		l.posts.sum(k)
	}
}

// accept takes in connections and gives each to the next loop.
func (b *portable) accept() {
	for next := 0; ; next++ {
		conn, err := b.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			b.server.complain(err)
			select {
			case <-b.quit:
				return
			case <-time.After(acceptPause):
			}
			continue
		}
		b.welcome(conn, b.loops[next%len(b.loops)])
	}
}

// welcome starts serving a connection, or turns it away when there are too many.
func (b *portable) welcome(conn net.Conn, l *virtualLoop) {
	s := b.server
	if s.clients.Add(1) > s.maxClients.Load() {
		s.clients.Add(-1)
		s.rejected.Add(1)
		_ = conn.SetDeadline(time.Now().Add(acceptPause))
		_, _ = conn.Write([]byte(RefusalMaxClients))
		_ = conn.Close()
		return
	}
	remote, local := conn.RemoteAddr().String(), conn.LocalAddr().String()
	switch conn := conn.(type) {
	case *net.TCPConn:
		d := s.opt.KeepAlive
		_ = conn.SetKeepAliveConfig(net.KeepAliveConfig{Enable: d > 0, Idle: d, Interval: max(d/3, time.Second), Count: 3})
	case *net.UnixConn:
		local += ":0"
		remote = local
	}
	p := &portableConn{c: s.newConn(remote, local), conn: conn, loop: l, size: portableBlock}
	p.changed.L = &l.mu
	p.c.host = p
	p.c.loop = int32(l.index)
	p.c.out.Bind(l.blocks)
	p.sending.Bind(l.blocks)
	b.wg.Go(p.run)
}

// each calls first and then fn for every open connection, on the loop.
func (l *virtualLoop) each(fn func(*Conn), first func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first != nil {
		first()
	}
	for _, c := range l.table {
		if c != nil {
			fn(c)
		}
	}
}

// begin begins a turn in which the handler is called for c, or nil for none in particular. The loop's mutex is held.
func (l *virtualLoop) begin(c *Conn) {
	l.current = c
	l.counters.Turns++
	if l.turns != nil {
		l.turns.BeginTurn(l.index)
	}
}

// finish ends the turn.
func (l *virtualLoop) finish() {
	if l.turns != nil {
		l.turns.EndTurn(l.index)
	}
	l.current = nil
	l.publish()
	if l.server.pool.Free() > 0 {
		l.backend.trim()
	}
}

// publish shows the counters to Stats.
func (l *virtualLoop) publish() {
	l.counters.BytesMoved = l.blocks.Moved()
	l.blocks.Publish()
	l.posts.show(&l.counters)
}

// trim lets the pool drop blocks that nobody needs, once a second while it has any.
func (b *portable) trim() {
	if !b.trimming.CompareAndSwap(false, true) {
		return
	}
	time.AfterFunc(slowTick, func() {
		b.server.pool.Trim()
		b.trimming.Store(false)
		if b.server.pool.Free() > 0 {
			b.trim()
		}
	})
}

// add appends to the posts and sees to it that somebody works on them. It returns false when the loop has ended.
func (l *virtualLoop) add(p post) bool { return l.posts.add(p, func() { go l.runPosts() }) }

// runPosts runs what is posted until nothing is left.
func (l *virtualLoop) runPosts() {
	for list := l.posts.take(true); len(list) > 0; list = l.posts.take(true) {
		for _, p := range list {
			l.mu.Lock()
			l.runPost(p)
			l.mu.Unlock()
		}
	}
}

// runPost runs one post. The loop's mutex is held.
func (l *virtualLoop) runPost(p post) {
	c := p.c
	if c != nil && c.state&(stateClosing|stateGone) != 0 {
		return
	}
	if p.fn != nil {
		l.begin(nil)
		p.fn()
		l.finish()
	} else {
		c.resume()
	}
	if c != nil {
		c.host.attend(c)
	}
}

// end lets the last posts run and gives the blocks back.
func (l *virtualLoop) end() {
	for !l.posts.end() {
		runtime.Gosched()
	}
	l.mu.Lock()
	l.blocks.Close()
	l.mu.Unlock()
	l.server.pool.Trim()
}
