package raw

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Patience bounds every read and write of a Conn, so that a server that falls
// silent fails the test instead of hanging it.
const Patience = 30 * time.Second

// Conn is a connection to a server under test. Its methods that take no error
// path fail the test.
type Conn struct {
	net.Conn
	tb testing.TB
	in *bufio.Reader
}

// Dial connects to addr; the connection is closed when the test ends.
func Dial(tb testing.TB, addr string) *Conn {
	tb.Helper()
	nc, err := net.DialTimeout("tcp", addr, Patience)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { nc.Close() })
	return &Conn{Conn: nc, tb: tb, in: bufio.NewReaderSize(nc, 64<<10)}
}

// Append appends a command as an array of bulk strings.
func Append(dst []byte, args ...string) []byte {
	dst = append(dst, '*')
	dst = strconv.AppendInt(dst, int64(len(args)), 10)
	dst = append(dst, "\r\n"...)
	for _, a := range args {
		dst = append(dst, '$')
		dst = strconv.AppendInt(dst, int64(len(a)), 10)
		dst = append(dst, "\r\n"...)
		dst = append(dst, a...)
		dst = append(dst, "\r\n"...)
	}
	return dst
}

// TrySend writes bytes as they are.
func (c *Conn) TrySend(p []byte) error {
	if err := c.SetWriteDeadline(time.Now().Add(Patience)); err != nil {
		return err
	}
	_, err := c.Write(p)
	return err
}

// Send writes bytes as they are.
func (c *Conn) Send(p []byte) {
	c.tb.Helper()
	if err := c.TrySend(p); err != nil {
		c.tb.Fatal(err)
	}
}

// TryReceive reads one reply.
func (c *Conn) TryReceive() (Reply, error) {
	if err := c.SetReadDeadline(time.Now().Add(Patience)); err != nil {
		return Reply{}, err
	}
	return Read(c.in)
}

// Receive reads one reply.
func (c *Conn) Receive() Reply {
	c.tb.Helper()
	r, err := c.TryReceive()
	if err != nil {
		c.tb.Fatal(err)
	}
	return r
}

// Do sends one command and reads its reply.
func (c *Conn) Do(args ...string) Reply {
	c.tb.Helper()
	c.Send(Append(nil, args...))
	return c.Receive()
}

// Want sends one command and fails the test when its reply is not the given
// one, as Reply.String renders it.
func (c *Conn) Want(reply string, args ...string) {
	c.tb.Helper()
	if got := c.Do(args...).String(); got != reply {
		c.tb.Errorf("%.200q: got %s, want %s", args, got, reply)
	}
}

// Closed waits until the server has closed the connection and returns the
// bytes that came before.
func (c *Conn) Closed() []byte {
	c.tb.Helper()
	if err := c.SetReadDeadline(time.Now().Add(Patience)); err != nil {
		c.tb.Fatal(err)
	}
	rest, err := io.ReadAll(c.in)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		c.tb.Errorf("the server did not close the connection: %v (after %.200q)", err, rest)
	}
	return rest
}
