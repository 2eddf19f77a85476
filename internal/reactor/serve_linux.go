package reactor

import (
	"golang.org/x/sys/unix"

	"github.com/larder-cache/larder/internal/netbuf"
)

// serve handles the events of one connection: writing first, then reading.
func (l *loop) serve(c *Conn, events uint32) {
	switch {
	case c.state&stateLinger != 0:
		l.linger(c)
		return
	case c.state&(stateClosing|stateQueued) != 0:
		// It is dropped or served later in this turn.
		return
	}
	l.current = c
	if c.state&stateBlocked != 0 && events&^unix.EPOLLIN != 0 {
		l.write(c)
	}
	switch {
	case c.state&(stateClosing|statePaused|stateFlushing) == 0:
		if c.state&stateMore != 0 {
			l.goOn(c)
		} else if events&^unix.EPOLLOUT != 0 {
			l.read(c)
		}
	case events&(unix.EPOLLERR|unix.EPOLLHUP) != 0 && c.state&stateBlocked == 0:
		// Nothing is to be written and nothing may be read: the error would be reported for ever.
		c.fail(pendingError(c.fd))
	}
	l.settle(c)
	l.current = nil
}

// read takes in what has arrived, up to the turn's budget, and hands it to the handler.
func (l *loop) read(c *Conn) {
	if c.state&stateEnded != 0 || c.Congested() {
		return
	}
	for budget := l.server.opt.TurnBudget; ; {
		space := c.in.Space(l.blocks, netbuf.InputBlock, c.need)
		if len(space) > netbuf.InputBlock {
			space = space[:max(min(len(space), budget), netbuf.InputBlock)]
		}
		n, errno := receive(c.fd, space)
		l.counters.Reads++
		if n <= 0 {
			if c.in.Len() == 0 {
				c.in.Release(l.blocks)
			}
			switch errno {
			case 0:
				// The peer sends no more, but may still read: it gets its replies.
				c.state |= stateEnded
				c.CloseAfterFlush()
			case unix.EAGAIN:
			default:
				c.fail(errno)
			}
			return
		}
		l.counters.BytesIn += uint64(n)
		c.in.Filled(n)
		if c.in.Len() >= c.need {
			l.deliver(c)
		}
		const stop = stateClosing | statePaused | stateFlushing | stateMore
		if n < len(space) || c.state&stop != 0 || c.Congested() {
			return
		}
		if budget -= n; budget <= 0 {
			l.counters.BudgetStops++
			return
		}
	}
}

// goOn calls the handler again for input that it left in an earlier turn.
func (l *loop) goOn(c *Conn) {
	if c.Congested() {
		return
	}
	c.state &^= stateMore
	if c.in.Len() > 0 {
		l.deliver(c)
	}
}

// deliver calls the handler with the unread input.
func (l *loop) deliver(c *Conn) {
	c.need = 0
	used, more := l.handler.Data(c, c.in.Bytes())
	c.consume(l.blocks, used, more)
}

// write sends what waits, in one call. The connection is blocked while something is left.
func (l *loop) write(c *Conn) {
	var n int
	var errno unix.Errno
	if c.out.Pieces() == 1 {
		p := c.out.First()
		n, errno = send(c.fd, p[:min(len(p), sendBudget)])
	} else {
		n, errno = l.writeVector(c)
	}
	l.counters.Writes++
	if errno != 0 && errno != unix.EAGAIN {
		c.fail(errno)
		return
	}
	l.counters.BytesOut += uint64(n)
	c.out.Consume(n)
	if c.out.Len() == 0 {
		c.state &^= stateBlocked
		c.stalled, c.above = 0, 0
		return
	}
	l.counters.ShortWrites++
	if c.state&stateBlocked == 0 || n > 0 {
		c.stalled = l.now()
	}
	c.state |= stateBlocked
	l.watch(c)
}

// writeVector sends the pieces of the chain.
func (l *loop) writeVector(c *Conn) (int, unix.Errno) {
	pieces := c.out.Vector(l.vector)
	total, count := 0, 0
	for _, p := range pieces {
		p = p[:min(len(p), sendBudget-total)]
		l.iov[count].Base = &p[0]
		l.iov[count].SetLen(len(p))
		count++
		if total += len(p); total >= sendBudget {
			break
		}
	}
	l.msg.Iov = &l.iov[0]
	l.msg.SetIovlen(count)
	n, errno := sendVector(c.fd, &l.msg)
	// Blocks made to measure must not be kept alive from here.
	clear(l.iov[:count])
	clear(pieces)
	return n, errno
}

// settle ends the serving of a connection: it writes, applies the limits, and tells the kernel what to report.
func (l *loop) settle(c *Conn) {
	if c.out.Len() > 0 && c.state&(stateBlocked|stateClosing) == 0 {
		l.write(c)
	}
	if c.state&stateBlocked != 0 {
		l.limit(c)
	}
	if c.state&stateClosing != 0 {
		l.drop(c)
		return
	}
	if c.state&stateFlushing != 0 {
		if c.out.Len() == 0 {
			l.drop(c)
			return
		}
		if c.deadline == 0 {
			c.deadline = l.now() + int64(l.server.opt.CloseTimeout)
			l.watch(c)
		}
	} else if c.state&(stateMore|statePaused|stateQueued) == stateMore && !c.Congested() {
		l.counters.BudgetStops++
		c.state |= stateQueued
		l.queue = append(l.queue, c)
	}
	l.arm(c)
}

// limit applies the limits on output to a connection that has more than its socket takes.
func (l *loop) limit(c *Conn) {
	n := int64(c.out.Len())
	if n > l.server.opt.OutputHard {
		c.fail(ErrOutputLimit)
		return
	}
	if n <= l.server.opt.OutputSoft {
		c.above = 0
	} else if c.above == 0 {
		c.above = l.now()
		l.watch(c)
	}
}

// arm tells the kernel which events of c are wanted, if that has changed.
func (l *loop) arm(c *Conn) {
	var mask uint32
	if c.state&(statePaused|stateEnded|stateFlushing) == 0 && !c.Congested() {
		mask = unix.EPOLLIN
	}
	if c.state&stateBlocked != 0 {
		mask |= unix.EPOLLOUT
	}
	if mask != c.mask {
		if c.mask&^mask&unix.EPOLLIN != 0 && c.Congested() {
			l.counters.Congestions++
		}
		l.setMask(c, mask)
	}
}

// setMask registers the events wanted of c.
func (l *loop) setMask(c *Conn, mask uint32) {
	c.mask = mask
	ev := unix.EpollEvent{Events: mask, Fd: c.slot, Pad: c.gen}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_MOD, int(c.fd), &ev); err != nil {
		c.fail(err)
		l.drop(c)
	}
}

// adopt makes c, whose descriptor is fd, a connection of this loop.
func (l *loop) adopt(c *Conn, fd int32) {
	c.loop, c.host, c.fd = int32(l.index), l, fd
	c.out.Bind(l.blocks)
	if n := len(l.vacant) - 1; n >= 0 {
		c.slot = l.vacant[n]
		l.vacant = l.vacant[:n]
	} else {
		c.slot = int32(len(l.table))
		l.table = append(l.table, nil)
	}
	l.gen++
	c.gen = l.gen
	l.table[c.slot] = c
	l.live++
	c.mask = unix.EPOLLIN
	ev := unix.EpollEvent{Events: c.mask, Fd: c.slot, Pad: c.gen}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, int(fd), &ev); err != nil || l.stopping {
		// Never opened, so never reported as closed.
		c.state |= stateGone
		l.forget(c)
		return
	}
	l.current = c
	l.handler.Open(c)
	l.settle(c)
	l.current = nil
}

// drop ends a connection: the handler is told, the buffers go back, the socket is closed, or half closed while bytes of
// the peer may still be on their way.
func (l *loop) drop(c *Conn) {
	if c.state&stateGone != 0 {
		return
	}
	c.state |= stateGone
	err := c.closes(&l.counters)
	polite := err == nil && c.state&stateFlushing != 0 && c.state&stateEnded == 0 && c.out.Len() == 0
	l.handler.Closed(c, err)
	c.in.Release(l.blocks)
	c.out.Release()
	if !polite {
		l.forget(c)
		return
	}
	_ = unix.Shutdown(int(c.fd), unix.SHUT_WR)
	c.state |= stateLinger
	if !l.linger(c) {
		return
	}
	if l.stopping {
		l.forget(c)
		return
	}
	c.deadline = l.now() + int64(lingerTime)
	l.watch(c)
	if c.mask != unix.EPOLLIN {
		l.setMask(c, unix.EPOLLIN)
	}
}

// linger throws away what a dropped connection still receives. It returns false when the peer has ended and the
// connection is forgotten.
func (l *loop) linger(c *Conn) bool {
	trash := l.blocks.Get(netbuf.InputBlock)
	defer l.blocks.Put(trash)
	for {
		n, errno := receive(c.fd, trash)
		c.lingered += int32(n)
		if errno == unix.EAGAIN {
			return true
		}
		if n == 0 || c.lingered > lingerBytes {
			l.forget(c)
			return false
		}
		if n < len(trash) {
			return true
		}
	}
}

// forget closes the socket of a connection that is gone and frees its slot. The kernel drops the registration with the
// last reference to the socket.
func (l *loop) forget(c *Conn) {
	c.state &^= stateLinger
	_ = unix.Close(int(c.fd))
	l.table[c.slot] = nil
	l.vacant = append(l.vacant, c.slot)
	l.live--
	l.share.Add(-1)
	l.server.clients.Add(-1)
}
