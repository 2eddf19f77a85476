package reactor

import (
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/larder-cache/larder/internal/netbuf"
)

const (
	// maxEvents is how many ready connections one wait reports; more are reported by the next.
	maxEvents = 128

	// maxPieces is how many blocks one write takes, and sendBudget how many bytes: a peer that drains as fast as we
	// send would otherwise keep the loop to itself.
	maxPieces  = 64
	sendBudget = 1 << 20

	// tick is how often a loop looks after what it has to look after in time.
	tick = 100 * time.Millisecond

	// yieldEvery is how often a busy loop calls the scheduler of its own accord. A goroutine that the scheduler has not
	// seen for 10 ms, because it only ever waits in system calls, is interrupted by a signal and loses its processor,
	// and each time the runtime's monitor then polls at 20 us for a while: together a tenth of a loop's CPU time.
	yieldEvery = 4 * time.Millisecond
)

// Slots that are no connection, as event data.
const (
	wakeSlot   = -1
	listenSlot = -2
)

// epollConn is what epoll needs to know about a connection.
type epollConn struct {
	fd       int32
	slot     int32 // index in the loop's table
	gen      int32 // distinguishes successive users of a slot
	mask     uint32
	lingered int32 // bytes thrown away
}

// loop is one event loop. Fields above share belong to its goroutine.
type loop struct {
	server  *Server
	handler Handler
	turns   TurnHandler
	index   int
	epoll   int
	wakeup  int // eventfd
	events  [maxEvents]unix.EpollEvent

	blocks *netbuf.Blocks
	table  []*Conn
	vacant []int32
	gen    int32
	live   int

	current *Conn   // the one being served; it needs no attend
	asked   []*Conn // stateAsked
	queue   []*Conn // stateQueued
	spare   []*Conn // the queue's other backing array
	timed   []*Conn // stateTimed

	clock     int64 // the server's time in this turn, 0 = not read
	nextSweep int64
	nextTrim  int64
	nextYield int64
	trimming  bool
	stopping  bool

	listener acceptor

	vector [][]byte
	iov    [maxPieces]unix.Iovec
	msg    unix.Msghdr

	counters counters

	share atomic.Int32 // connections given to this loop and not closed yet; read by the one that accepts

	posts posts
}

// epollBackend is the loops of a server.
type epollBackend struct {
	loops  []*loop
	wg     sync.WaitGroup
	closed chan struct{}
}

// newNative returns the loops of a server, of which the first accepts from ln.
func newNative(s *Server, ln net.Listener) (backend, error) {
	b := &epollBackend{closed: make(chan struct{})}
	for i := range s.opt.Loops {
		l, err := newLoop(s, i)
		if err != nil {
			b.release()
			return nil, err
		}
		b.loops = append(b.loops, l)
	}
	if err := b.loops[0].listen(ln, b.loops); err != nil {
		b.release()
		return nil, err
	}
	return b, nil
}

// release closes what loops that never ran hold.
func (b *epollBackend) release() {
	for _, l := range b.loops {
		l.release()
	}
}

func newLoop(s *Server, index int) (*loop, error) {
	l := &loop{server: s, handler: s.opt.Handler, turns: s.turns, index: index, wakeup: -1}
	l.listener.fd = -1
	l.vector = make([][]byte, 0, maxPieces)
	l.blocks = s.pool.NewBlocks(s.blockBudget())
	var err error
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		l.release()
		return nil, fmt.Errorf("reactor: epoll_create: %w", err)
	}
	if l.wakeup, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		l.release()
		return nil, fmt.Errorf("reactor: eventfd: %w", err)
	}
	// Edge-triggered: each write is one event, and nothing has to be read back.
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: wakeSlot}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, l.wakeup, &ev); err != nil {
		l.release()
		return nil, fmt.Errorf("reactor: epoll_ctl: %w", err)
	}
	return l, nil
}

// release closes the descriptors of the loop and gives its blocks back.
func (l *loop) release() {
	l.blocks.Close()
	l.listener.close()
	for _, fd := range []int{l.epoll, l.wakeup} {
		if fd > 0 {
			_ = unix.Close(fd)
		}
	}
}

func (b *epollBackend) start() {
	for _, l := range b.loops {
		b.wg.Go(l.run)
	}
	go func() {
		b.wg.Wait()
		close(b.closed)
	}()
}

func (b *epollBackend) done() <-chan struct{} { return b.closed }

func (b *epollBackend) stop() {
	for _, l := range b.loops {
		l.add(post{fn: l.stop})
	}
}

func (b *epollBackend) abort() {
	for _, l := range b.loops {
		l.add(post{fn: l.abort})
	}
}

func (b *epollBackend) run(i int, fn func()) bool { return b.loops[i].add(post{fn: fn}) }

func (b *epollBackend) conns(i int) []*Conn { return b.loops[i].table }

func (b *epollBackend) counters(k *counters) {
	for _, l := range b.loops {
		l.posts.sum(k)
	}
}

// run is the loop's goroutine. It is not locked to its thread: yielding would then hand over between two threads.
func (l *loop) run() {
	for !l.stopping || l.live > 0 {
		n, errno := wait(l.epoll, l.events[:], l.timeout())
		if errno != 0 && errno != unix.EINTR {
			// Only a descriptor closed by someone else brings us here; going on would spin.
			panic(fmt.Sprintf("reactor: epoll_wait: %v", errno))
		}
		l.turn(n)
		if now := l.now(); now >= l.nextYield {
			l.nextYield = now + int64(yieldEvery)
			runtime.Gosched()
		}
	}
	l.end()
}

// timeout returns how many milliseconds the next wait may last.
func (l *loop) timeout() int {
	switch {
	case len(l.queue) > 0 || len(l.asked) > 0:
		return 0
	case len(l.timed) > 0 || l.listener.deaf:
		return int(tick / time.Millisecond)
	case l.trimming:
		return int(slowTick / time.Millisecond)
	}
	return -1
}

// turn serves n events and everything else that is due.
func (l *loop) turn(n int) {
	l.clock = 0
	l.counters.Turns++
	if l.turns != nil {
		l.turns.BeginTurn(l.index)
	}
	queue := l.queue
	l.queue = l.spare[:0]
	for i := range l.events[:n] {
		ev := &l.events[i]
		switch ev.Fd {
		case wakeSlot:
			l.takePosts()
		case listenSlot:
			l.accept()
		default:
			if c := l.table[ev.Fd]; c != nil && c.gen == ev.Pad {
				l.serve(c, ev.Events)
			}
		}
	}
	for i, c := range queue {
		queue[i] = nil
		c.state &^= stateQueued
		if c.state&stateGone == 0 {
			l.serve(c, unix.EPOLLOUT)
		}
	}
	l.spare = queue[:0]
	for i := 0; i < len(l.asked); i++ {
		c := l.asked[i]
		l.asked[i] = nil
		c.state &^= stateAsked
		if c.state&stateGone == 0 {
			l.current = c
			l.settle(c)
			l.current = nil
		}
	}
	l.asked = l.asked[:0]
	l.sweep()
	if l.turns != nil {
		l.turns.EndTurn(l.index)
	}
	l.counters.BytesMoved = l.blocks.Moved()
	l.blocks.Publish()
	l.posts.show(&l.counters)
}

// now returns the server's time, read at most once per turn.
func (l *loop) now() int64 {
	if l.clock == 0 {
		l.clock = l.server.now()
	}
	return l.clock
}

// add appends to the loop's posts and wakes it. It returns false when the loop has ended.
func (l *loop) add(p post) bool { return l.posts.add(p, func() { kick(l.wakeup) }) }

// takePosts runs what was posted. What comes meanwhile wakes the loop again.
func (l *loop) takePosts() {
	for _, p := range l.posts.take(false) {
		l.runPost(p)
	}
}

func (l *loop) runPost(p post) {
	c := p.c
	switch {
	case c == nil:
		p.fn()
	case c.state&(stateClosing|stateGone) != 0:
	default:
		if p.fn != nil {
			p.fn()
		} else {
			c.resume()
		}
		l.attend(c)
	}
}

// attend implements host.
func (l *loop) attend(c *Conn) {
	if c != l.current && c.state&(stateAsked|stateGone) == 0 {
		c.state |= stateAsked
		l.asked = append(l.asked, c)
	}
}

// unwritten implements host.
func (l *loop) unwritten(c *Conn) int { return c.out.Len() }

// post implements host.
func (l *loop) post(c *Conn, fn func()) { l.add(post{c, fn}) }

// stop begins the graceful end.
func (l *loop) stop() {
	l.stopping = true
	l.listener.close()
	for _, c := range l.table {
		switch {
		case c == nil:
		case c.state&stateLinger != 0:
			l.forget(c)
		default:
			c.CloseAfterFlush()
		}
	}
}

// abort drops what the graceful end left.
func (l *loop) abort() {
	for _, c := range l.table {
		if c != nil {
			c.fail(ErrShutdown)
		}
	}
}

// end takes the last posts, of which those for the loop itself still run, and closes the loop's descriptors.
func (l *loop) end() {
	for !l.posts.end() {
		l.takePosts()
	}
	l.release()
}
