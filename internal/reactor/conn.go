package reactor

import (
	"errors"
	"time"

	"github.com/larder-cache/larder/internal/netbuf"
)

// state is what holds for a connection; its loop owns it.
type state uint16

const (
	stateClosing  state = 1 << iota // Close was called, or a fault found: to be dropped
	stateFlushing                   // CloseAfterFlush was called, or the peer ended: to be dropped when written
	stateEnded                      // the peer sends no more
	statePaused                     // Pause was called
	stateMore                       // Data can go on without new input
	stateBlocked                    // the last write did not complete
	stateGone                       // Closed was called
	stateLinger                     // gone, and read into nothing until the peer ends

	stateAsked  // in the loop's list of connections that ask for attention
	stateQueued // in the loop's list of connections with more to do
	stateTimed  // in the loop's list of connections to look after in time
)

// Conn is one connection. Unless a method says otherwise, it may be called only on the connection's loop: by the
// handler, or by a function given to Post.
type Conn struct {
	// Session is the handler's.
	Session any

	out   netbuf.Output
	in    netbuf.Input
	need  int
	state state
	loop  int32
	epollConn

	id      uint64
	created time.Time
	remote  string
	local   string
	server  *Server
	host    host
	err     error // why it closes

	// Times are nanoseconds of the server's clock, 0 = not running.
	stalled  int64 // since when the peer has taken no output
	above    int64 // since when the output has been above the soft limit
	deadline int64 // when a closing connection is dropped
}

// host is the implementation behind a connection.
type host interface {
	// attend looks after c, whose state or output has changed, before the turn ends.
	attend(c *Conn)
	// post runs fn on the loop of c; nil resumes c.
	post(c *Conn, fn func())
	// unwritten returns the bytes of output of c that the socket has not taken.
	unwritten(c *Conn) int
}

// Out returns the output chain. What is appended during a call of the handler or a posted function is written after it;
// for another connection than that of the call, call Flush on it.
func (c *Conn) Out() *netbuf.Output { return &c.out }

// Congested reports whether so much output waits that Data should stop, with more set.
func (c *Conn) Congested() bool { return int64(c.out.Len()) >= c.server.opt.OutputPause }

// Pending returns how many bytes of input wait for the rest of their frame and how many of output to be written. While one
// of the two changes, bytes come or go.
func (c *Conn) Pending() (input, output int) { return c.in.Len(), c.host.unwritten(c) }

// ID returns the connection's number: positive, rising, never used twice. Callable from any goroutine.
func (c *Conn) ID() uint64 { return c.id }

// Loop returns the index of the connection's loop, 0 to Options.Loops - 1. Callable from any goroutine.
func (c *Conn) Loop() int { return int(c.loop) }

// CreatedAt returns when the connection was accepted. Callable from any goroutine.
func (c *Conn) CreatedAt() time.Time { return c.created }

// RemoteAddr returns the peer's address as host:port, or the socket's path and ":0" for a unix socket. Callable from any
// goroutine.
func (c *Conn) RemoteAddr() string { return c.remote }

// LocalAddr returns our own address in the form of RemoteAddr. Callable from any goroutine.
func (c *Conn) LocalAddr() string { return c.local }

// Close ends the connection: Data is not called again, output that waits is lost. Closed is called soon after, never
// within another call of the handler.
func (c *Conn) Close() { c.fail(nil) }

// fail closes c for a reason.
func (c *Conn) fail(err error) {
	if c.state&(stateClosing|stateGone) != 0 {
		return
	}
	c.state |= stateClosing
	c.err = err
	c.host.attend(c)
}

// CloseAfterFlush ends the connection when its output is written, or at the latest after Options.CloseTimeout. Data is
// not called again.
func (c *Conn) CloseAfterFlush() {
	if c.state&(stateClosing|stateFlushing|stateGone) != 0 {
		return
	}
	c.state |= stateFlushing
	c.host.attend(c)
}

// Need says that the frame at the head of the input takes n bytes in all: Data is not called with less, and room is made
// at once. It holds until the next call of Data; larger than Options.InputLimit closes the connection.
func (c *Conn) Need(n int) { c.need = n }

// Flush has output written that was appended outside a call for this connection.
func (c *Conn) Flush() { c.host.attend(c) }

// Pause stops reading and calling Data until Resume.
func (c *Conn) Pause() {
	if c.state&statePaused == 0 {
		c.state |= statePaused
		c.host.attend(c)
	}
}

// Resume ends Pause: Data is called again if there is unread input. Callable from any goroutine.
func (c *Conn) Resume() { c.host.post(c, nil) }

// Post runs fn on the connection's loop, outside any other call of the handler, and then writes the connection's output.
// After the connection has closed fn is dropped. Callable from any goroutine; functions posted by one goroutine run in
// order.
func (c *Conn) Post(fn func()) { c.host.post(c, fn) }

// consume takes what Data used up off the input and notes what it wants.
func (c *Conn) consume(b *netbuf.Blocks, used int, more bool) {
	if used < 0 || used > c.in.Len() {
		c.fail(ErrHandler)
		return
	}
	c.in.Consume(b, used)
	if more && c.in.Len() > 0 {
		c.state |= stateMore
		return
	}
	if max(c.need, c.in.Len()) > c.server.opt.InputLimit {
		c.fail(ErrInputLimit)
	}
}

// closes reports whether err is a fault of the connection rather than the peer's orderly end, and counts it.
func (c *Conn) closes(k *counters) error {
	switch {
	case errors.Is(c.err, ErrOutputLimit):
		k.OutputCut++
	case errors.Is(c.err, ErrStalled):
		k.Stalled++
	case errors.Is(c.err, ErrInputLimit):
		k.InputCut++
	}
	k.Closed++
	return c.err
}
