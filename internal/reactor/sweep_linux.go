package reactor

// watch puts c on the list of connections to look after in time.
func (l *loop) watch(c *Conn) {
	if c.state&stateTimed == 0 {
		c.state |= stateTimed
		l.timed = append(l.timed, c)
	}
}

// sweep does what is due by the clock. A loop with nothing to watch does not read it.
func (l *loop) sweep() {
	l.trim()
	if len(l.timed) == 0 && !l.listener.deaf {
		return
	}
	now := l.now()
	if now < l.nextSweep {
		return
	}
	l.nextSweep = now + int64(tick)
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
