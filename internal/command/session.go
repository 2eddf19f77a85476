package command

import (
	"errors"
	"time"
	"unsafe"

	"github.com/larder-cache/larder/internal/wire"
)

// data runs the commands in the input window by window. It stops early, with more set, when the connection has had its
// turn, and when a command stopped the client.
func (c *Client) data(in []byte) (used int, more bool) {
	l := c.loop
	c.parser.SetMaxBulk(c.server.maxBulk.Load())
	for ran := 0; !c.stopped; {
		if more = ran >= maxTurnCommands || c.full(); more {
			break
		}
		n, end, err := c.fill(in[used:])
		l.now = 0
		done := c.runWindow(n)
		ran += done
		if done < n || c.stopped {
			// What is parsed and did not run is input again.
			if done > 0 {
				end = l.window[done-1].end
			}
			used += end
			c.parser.Reset()
			continue
		}
		used += end
		if err != nil {
			c.protocolError(err)
			break
		}
		if end == 0 || used == len(in) {
			c.wait(len(in) - used)
			break
		}
	}
	c.flush()
	c.show()
	l.publish()
	l.reset(len(in))
	return used, more
}

// show brings up to date what others may see of the client.
func (c *Client) show() {
	if c.shown.last.Load() != c.last {
		c.shown.last.Store(c.last)
	}
	at := c.loop.turn
	if at == 0 {
		at = c.now()
	}
	c.shown.active.Store(at)
}

// fill parses the next window and returns the number of its commands and the bytes up to their end. An error stands
// behind the last command.
func (c *Client) fill(in []byte) (n, end int, err error) {
	l := c.loop
	args, hashed := l.args[:0], 0
	limit := windowCommands
	if !c.trusted {
		// What AUTH decides holds for the bytes behind it.
		limit = 1
	}
	for n < limit && len(args) < windowArgs {
		first, size := len(args), 0
		args, size, err = c.parser.Parse(args, in[end:])
		end += size
		if err != nil || size == 0 {
			break
		}
		if len(args) == first {
			continue
		}
		s := &l.window[n]
		n++
		s.first, s.last, s.end = first, len(args), end
		s.cmd = byName.find(args[first])
		if s.cmd != nil && s.cmd.hashed && first+1 < len(args) {
			s.hash = c.current.Hash(args[first+1])
			l.hashes[hashed] = s.hash
			hashed++
		}
	}
	l.args = args
	if hashed > 1 {
		// In a loop of their own the loads stand close together, so the processor has many of them under way at once.
		for _, h := range l.hashes[:hashed] {
			c.current.Prefetch(h)
		}
	}
	return n, end, err
}

// runWindow runs the first n commands of the window and returns how many of them ran.
func (c *Client) runWindow(n int) int {
	l := c.loop
	db := c.current
	for i := 0; i < n; i++ {
		s := &l.window[i]
		args := l.args[s.first:s.last:s.last]
		c.base = nil
		if s.cmd != nil && s.cmd.hashed && len(args) > 1 && c.current == db {
			c.base, c.baseHash = unsafe.Pointer(unsafe.SliceData(args[1])), s.hash
		}
		c.execute(s.cmd, args)
		if c.stopped || c.full() {
			n = i + 1
			break
		}
	}
	c.base = nil
	return n
}

// full reports whether so many replies wait that they should be written first. The open block does not count: a reply
// longer than it closes it.
func (c *Client) full() bool { return c.out.Len() >= maxTurnReply }

// wait tells the connection how much input the command at its head needs.
func (c *Client) wait(have int) {
	if have == 0 {
		return
	}
	if n := c.parser.Need(); n > have {
		c.conn.Need(n)
	}
}

// protocolError replies with what is wrong with the input and closes the connection: where the next command starts is
// not known.
func (c *Client) protocolError(err error) {
	c.server.protocolErrors.Add(1)
	text := err.Error()
	var broken *wire.Error
	if errors.As(err, &broken) {
		text = broken.Error()
	}
	if c.mode == replyOn {
		c.fail("ERR " + text)
	}
	c.close()
}

// excessive reports whether the reply that is being built is beyond the output limit; the connection is then cut at once,
// before the rest of the reply takes memory too.
func (c *Client) excessive() bool {
	if c.tooLong(int64(c.out.Len())) && !c.closing {
		c.cut()
	}
	return c.closing
}

// tooLong reports whether a reply of n bytes is beyond the output limit.
func (c *Client) tooLong(n int64) bool {
	limit := c.server.o.OutputHard
	return limit > 0 && n > limit
}

// cut runs no further command and closes the connection; replies that wait are lost.
func (c *Client) cut() {
	c.stopped, c.closing = true, true
	c.conn.Close()
}

// close runs no further command and closes the connection when the replies are written.
func (c *Client) close() {
	c.stopped, c.closing = true, true
	c.conn.CloseAfterFlush()
}

// later runs work on a goroutine of its own and then reply on the client's loop. Commands behind this one wait; other
// clients do not.
func (c *Client) later(work func(), reply func()) {
	finish := c.suspend(reply)
	go func() {
		work()
		finish()
	}()
}

// sleep replies after some time. The end of the connection ends the sleep.
func (c *Client) sleep(d time.Duration, reply func()) {
	c.sleeping = time.AfterFunc(d, c.suspend(reply))
}

// suspend stops the client until the function that it returns has been called, from any goroutine; reply runs on the
// client's loop then.
func (c *Client) suspend(reply func()) (finish func()) {
	c.conn.Pause()
	c.stopped, c.waiting = true, true
	muted := c.muted
	return func() {
		c.conn.Post(func() {
			c.stopped, c.waiting = c.closing, false
			if !muted && !c.closing {
				reply()
				c.flush()
			}
			c.conn.Resume()
		})
	}
}
