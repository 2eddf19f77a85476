package reactor

import "time"

// watch puts c on the list of connections to look after in time.
func (l *loop) watch(c *Conn) {
	if c.state&stateTimed == 0 {
		c.state |= stateTimed
		l.timed = append(l.timed, c)
	}
}

// watchesIdle reports whether connections of this loop may become idle for too long.
func (l *loop) watchesIdle() bool { return l.server.opt.IdleTimeout > 0 && l.live > 0 }

// idleTick is how often idle connections are looked for: a quarter of the timeout, so they live at most a quarter longer.
func (l *loop) idleTick() time.Duration {
	return min(max(l.server.opt.IdleTimeout/4, 10*time.Millisecond), slowTick)
}

// sweep does what is due by the clock. A loop with nothing to watch does not read it.
func (l *loop) sweep() {
	l.trim()
	if len(l.timed) == 0 && !l.listener.deaf && !l.watchesIdle() {
		return
	}
	now := l.now()
	if now < l.nextSweep {
		return
	}
	l.nextSweep = now + int64(tick)
	if l.watchesIdle() {
		l.nextSweep = now + min(int64(tick), int64(l.idleTick()))
		l.closeIdle(now)
	}
	l.listener.retry(l)
	l.sweepTimed(now)
}

// sweepTimed looks after the connections that wait for something with a limit and takes the others off the list.
func (l *loop) sweepTimed(now int64) {
	opt := &l.server.opt
	keep := l.timed[:0]
	// Dropping a connection calls the handler, which may put others on the list behind those that are swept.
	for i := 0; i < len(l.timed); i++ {
		c := l.timed[i]
		switch {
		case c.state&stateLinger != 0:
			if now >= c.deadline {
				l.forget(c)
			}
		case c.state&stateGone != 0:
		case c.deadline != 0 && now >= c.deadline:
			l.cut(c, nil)
		case c.stalled != 0 && now-c.stalled >= int64(opt.StallTimeout):
			l.cut(c, ErrStalled)
		case c.above != 0 && now-c.above >= int64(opt.OutputSoftFor):
			l.cut(c, ErrOutputLimit)
		}
		if c.state&stateLinger != 0 || (c.state&stateGone == 0 && (c.deadline != 0 || c.stalled != 0 || c.above != 0)) {
			keep = append(keep, c)
		} else {
			c.state &^= stateTimed
		}
	}
	clear(l.timed[len(keep):])
	l.timed = keep
}

// closeIdle closes the connections from which nothing came for too long.
func (l *loop) closeIdle(now int64) {
	limit := int64(l.server.opt.IdleTimeout)
	for _, c := range l.table {
		if c != nil && c.state&(stateGone|statePaused|stateFlushing) == 0 && now-c.active >= limit {
			l.cut(c, ErrIdle)
		}
	}
}

// cut drops a connection for a reason.
func (l *loop) cut(c *Conn, err error) {
	l.current = c
	c.fail(err)
	l.drop(c)
	l.current = nil
}

// trim lets the pool drop blocks that nobody needs, once a second while it has any.
func (l *loop) trim() {
	l.trimming = l.server.pool.Free() > 0
	if !l.trimming {
		return
	}
	if now := l.now(); now >= l.nextTrim {
		l.server.pool.Trim()
		l.nextTrim = now + int64(slowTick)
	}
}
