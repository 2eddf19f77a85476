package command

import "time"

// minSweep and maxSweep bound how often idle connections are looked for.
const minSweep, maxSweep = time.Second, time.Minute

// setIdle sets after how many seconds without a command a connection is closed; 0 = never. Only while there is such a
// time does the server look for idle connections, a quarter of the time apart.
func (s *Server) setIdle(seconds int64) {
	s.idle.Store(seconds)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sweeper != nil {
		s.sweeper.Stop()
		s.sweeper = nil
	}
	if seconds > 0 && !s.closed {
		s.sweeper = time.AfterFunc(sweepEvery(seconds), s.sweep)
	}
}

func sweepEvery(seconds int64) time.Duration {
	return max(minSweep, min(maxSweep, time.Duration(seconds)*time.Second/4))
}

// sweep closes the connections that sent no command for too long. One that waits for a reply is not idle, nor is one that
// is sending a long command or taking a long reply. This is the only watch over idle connections: the reactor below has
// none, because it knows neither commands nor CONFIG SET.
func (s *Server) sweep() {
	seconds := s.idle.Load()
	if seconds == 0 {
		return
	}
	for _, c := range s.list() {
		if c.idleFor() < seconds {
			continue
		}
		c.conn.Post(func() {
			if c.waiting || c.idleFor() < seconds || c.moves() {
				return
			}
			s.idleClosed.Add(1)
			c.cut()
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sweeper != nil {
		s.sweeper.Reset(sweepEvery(seconds))
	}
}

// moves reports whether bytes came or went since it was last asked, and counts that as activity.
func (c *Client) moves() bool {
	input, output := c.conn.Pending()
	now := [2]int{input, output}
	if now == c.moving {
		return false
	}
	c.moving = now
	c.shown.active.Store(c.server.clock.Now())
	return true
}

// Close stops what the server does by itself. Call it when the reactor has stopped.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.sweeper != nil {
		s.sweeper.Stop()
		s.sweeper = nil
	}
}
