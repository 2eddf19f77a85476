package reactor

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/larder-cache/larder/internal/netbuf"
)

// portableConn is the connection's implementation. Its loop's mutex guards everything but the socket.
type portableConn struct {
	c    *Conn
	conn net.Conn
	loop *virtualLoop
	slot int
	size int // of the block to read into

	changed sync.Cond
	writing bool          // somebody is writing
	sending netbuf.Output // what is being written
	vector  [portablePieces][]byte
	pieces  net.Buffers
}

// post implements host.
func (p *portableConn) post(c *Conn, fn func()) { p.loop.add(post{c, fn}) }

// unwritten implements host.
func (p *portableConn) unwritten(*Conn) int { return int(p.waiting()) }

// attend implements host. The reader may sit in a read or wait for a change, and there may be nobody to write.
func (p *portableConn) attend(c *Conn) {
	if c == p.loop.current || c.state&stateGone != 0 {
		return
	}
	switch {
	case c.state&stateClosing != 0:
		_ = p.conn.SetDeadline(past)
	case c.state&stateFlushing != 0:
		_ = p.conn.SetReadDeadline(past)
		p.bound()
	}
	p.limit()
	if c.out.Len() > 0 && !p.writing && c.state&stateClosing == 0 {
		p.writing = true
		go func() {
			p.loop.mu.Lock()
			defer p.loop.mu.Unlock()
			p.write()
		}()
	}
	p.changed.Broadcast()
}

// past is a deadline that has passed: it ends what waits on a socket.
var past = time.Unix(1, 0)

// bound starts the time that a closing connection has to write its output.
func (p *portableConn) bound() {
	if p.c.deadline == 0 {
		d := p.loop.server.opt.CloseTimeout
		p.c.deadline = p.loop.server.now() + int64(d)
		_ = p.conn.SetWriteDeadline(time.Now().Add(d))
	}
}

// waiting returns the bytes not yet written.
func (p *portableConn) waiting() int64 { return int64(p.c.out.Len() + p.sending.Len()) }

// run is the connection's goroutine: it reads, calls the handler and writes. The loop's mutex is held except in reads
// and writes.
func (p *portableConn) run() {
	l, c := p.loop, p.c
	l.mu.Lock()
	if l.stopping {
		// Never opened, so never reported as closed.
		l.mu.Unlock()
		p.hangUp()
		return
	}
	p.enter()
	l.begin(c)
	l.handler.Open(c)
	l.finish()
	for p.step() {
		// One read or one wait per step.
	}
	c.state |= stateGone
	for p.writing {
		_ = p.conn.SetDeadline(past)
		p.changed.Wait()
	}
	err := c.closes(&l.counters)
	polite := err == nil && c.state&stateFlushing != 0 && c.state&stateEnded == 0 && p.waiting() == 0 && !l.stopping
	l.begin(c)
	l.handler.Closed(c, err)
	l.finish()
	p.leave()
	l.publish()
	l.mu.Unlock()
	if polite {
		p.linger()
	}
	p.hangUp()
}

// step does the next thing for the connection and returns false when it is to be dropped.
func (p *portableConn) step() bool {
	l, c := p.loop, p.c
	if c.state&stateFlushing != 0 {
		p.bound()
	}
	p.limit()
	switch {
	case c.state&stateClosing != 0:
		return false
	case c.out.Len() > 0 && !p.writing:
		p.writing = true
		p.write()
	case c.state&stateFlushing != 0:
		if p.waiting() == 0 || (c.deadline != 0 && l.server.now() >= c.deadline) {
			return false
		}
		p.changed.Wait()
	case c.state&statePaused != 0:
		p.changed.Wait()
	case p.waiting() >= l.server.opt.OutputPause:
		p.changed.Wait()
	case c.state&stateMore != 0:
		c.state &^= stateMore
		l.counters.BudgetStops++
		p.deliver()
		l.mu.Unlock()
		runtime.Gosched()
		l.mu.Lock()
	case c.state&stateEnded != 0:
		c.state |= stateFlushing
	default:
		p.read()
	}
	return true
}

// read reads once and hands the input to the handler.
func (p *portableConn) read() {
	l, c := p.loop, p.c
	space := c.in.Space(l.blocks, p.size, c.need)
	if limit := max(l.server.opt.TurnBudget, portableBlock); len(space) > limit {
		space = space[:limit]
	}
	l.mu.Unlock()
	n, err := p.conn.Read(space)
	l.mu.Lock()
	l.counters.Reads++
	l.counters.BytesIn += uint64(n)
	p.size = portableBlock
	if n == len(space) {
		p.size = netbuf.InputBlock
	}
	c.in.Filled(n)
	switch {
	case c.state&(stateClosing|stateFlushing) != 0:
		return
	case err == nil:
	case errors.Is(err, io.EOF):
		c.state |= stateEnded
	default:
		c.fail(err)
	}
	switch {
	case c.in.Len() == 0:
		c.in.Release(l.blocks)
	case n == 0 || c.state&stateClosing != 0:
	case c.state&statePaused != 0:
		c.state |= stateMore
	case c.in.Len() >= c.need:
		p.deliver()
	}
}

// deliver calls the handler with the unread input.
func (p *portableConn) deliver() {
	l, c := p.loop, p.c
	c.need = 0
	l.begin(c)
	used, more := l.handler.Data(c, c.in.Bytes())
	c.consume(l.blocks, used, more)
	l.finish()
}

// stallLooks is how often within StallTimeout a write is looked at. A write that took some bytes and then none does not say
// when it stopped: it counts as progress made at the last look.
const stallLooks = 8

// write writes until nothing is left; the caller has set writing. The loop's mutex is held except during the writes
// themselves.
func (p *portableConn) write() {
	l, c := p.loop, p.c
	if p.waiting() >= l.server.opt.OutputPause {
		l.counters.Congestions++
	}
	idle := 0 // looks in a row without a byte taken
	for c.state&stateClosing == 0 && p.waiting() > 0 {
		if p.sending.Len() == 0 {
			p.sending.Swap(&c.out)
		}
		p.pieces = clip(p.sending.Vector(p.vector[:0]), portableSend)
		if c.state&stateFlushing == 0 {
			_ = p.conn.SetWriteDeadline(deadlineIn(l.server.opt.StallTimeout / stallLooks))
		}
		l.counters.Writes++
		l.publish()
		l.mu.Unlock()
		n, err := p.pieces.WriteTo(p.conn)
		l.mu.Lock()
		l.counters.BytesOut += uint64(n)
		p.sending.Consume(int(n))
		p.limit()
		l.publish()
		switch {
		case err == nil:
			idle = 0
		case !errors.Is(err, os.ErrDeadlineExceeded):
			c.fail(err)
		case c.state&stateFlushing != 0:
			c.fail(nil)
		case n > 0:
			idle = 0
		default:
			if idle++; idle == stallLooks {
				c.fail(ErrStalled)
			}
		}
		p.changed.Broadcast()
	}
	clear(p.vector[:])
	p.writing = false
	p.changed.Broadcast()
}

// limit applies the limits on output.
func (p *portableConn) limit() {
	c, opt := p.c, &p.loop.server.opt
	n := p.waiting()
	switch {
	case n > opt.OutputHard:
		c.fail(ErrOutputLimit)
	case n <= opt.OutputSoft:
		c.above = 0
	case c.above == 0:
		c.above = p.loop.server.now()
	case p.loop.server.now()-c.above >= int64(opt.OutputSoftFor):
		c.fail(ErrOutputLimit)
	}
}

// enter puts the connection into the loop's table.
func (p *portableConn) enter() {
	l := p.loop
	if n := len(l.vacant) - 1; n >= 0 {
		p.slot = l.vacant[n]
		l.vacant = l.vacant[:n]
		l.table[p.slot] = p.c
		return
	}
	p.slot = len(l.table)
	l.table = append(l.table, p.c)
}

// leave takes the connection out of the table and gives its blocks back.
func (p *portableConn) leave() {
	l := p.loop
	l.table[p.slot] = nil
	l.vacant = append(l.vacant, p.slot)
	p.c.in.Release(l.blocks)
	p.c.out.Release()
	p.sending.Release()
}

// linger ends our side and throws away what the peer still sends, for a bounded time.
func (p *portableConn) linger() {
	half, ok := p.conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	_ = p.conn.SetReadDeadline(time.Now().Add(lingerTime))
	var trash [512]byte
	for total := 0; total < lingerBytes; {
		n, err := p.conn.Read(trash[:])
		if err != nil {
			return
		}
		total += n
	}
}

// hangUp closes the socket.
func (p *portableConn) hangUp() {
	_ = p.conn.Close()
	p.loop.server.clients.Add(-1)
}

// clip shortens pieces to at most limit bytes.
func clip(pieces [][]byte, limit int) [][]byte {
	for i, p := range pieces {
		if len(p) >= limit {
			pieces[i] = p[:limit]
			return pieces[:i+1]
		}
		limit -= len(p)
	}
	return pieces
}

// deadlineIn returns the time after d; the zero time, which is no deadline, when d is beyond all reason.
func deadlineIn(d time.Duration) time.Time {
	const century = 100 * 365 * 24 * time.Hour
	if d > century {
		return time.Time{}
	}
	return time.Now().Add(d)
}
