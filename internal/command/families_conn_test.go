package command

import (
	"strconv"
	"testing"

	"github.com/larder-cache/larder/internal/clock"
	"github.com/larder-cache/larder/internal/netbuf"
	"github.com/larder-cache/larder/internal/store"
)

// testConn is a connection without a socket: commands go in as bytes, replies come out as bytes.
type testConn struct {
	client *Client
	out    netbuf.Output
	in     []byte
	reply  []byte
}

// testPeer takes the place of the reactor's connection.
type testPeer struct {
	id    uint64
	posts chan func()
}

func (p testPeer) ID() uint64        { return p.id }
func (p testPeer) Post(fn func())    { p.posts <- fn }
func (testPeer) RemoteAddr() string  { return "192.0.2.1:1" }
func (testPeer) LocalAddr() string   { return "192.0.2.2:2" }
func (testPeer) Pending() (int, int) { return 0, 0 }
func (testPeer) Close()              {}
func (testPeer) CloseAfterFlush()    {}
func (testPeer) Need(int)            {}
func (testPeer) Pause()              {}
func (testPeer) Resume()             {}

// testMemory is the memory limit of stores in tests of the families.
const testMemory = 256 << 20

func newTestConn(t testing.TB, clk *clock.Clock) *testConn { return newTestConns(t, clk, 1)[0] }

// newTestConns returns connections to one server, each on a loop of its own, so that each may have its goroutine.
func newTestConns(t testing.TB, clk *clock.Clock, n int) []*testConn {
	t.Helper()
	return connect(t, store.Options{MaxMemory: testMemory, Clock: clk}, n)
}

func connect(t testing.TB, o store.Options, n int) []*testConn {
	t.Helper()
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	server, err := New(Options{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	pool := netbuf.NewPool()
	conns := make([]*testConn, n)
	for i := range conns {
		conns[i] = new(testConn)
		conns[i].out.Bind(pool.NewBlocks(512 << 10))
		conns[i].client = server.connect(testPeer{uint64(i + 1), make(chan func(), 1)}, &conns[i].out, i)
	}
	return conns
}

// do runs one command and returns its reply, which is valid until the next call.
func (f *testConn) do(args ...[]byte) []byte {
	f.in = f.encode(f.in[:0], args...)
	return f.feed(f.in)
}

func (f *testConn) encode(dst []byte, args ...[]byte) []byte {
	dst = strconv.AppendInt(append(dst, '*'), int64(len(args)), 10)
	for _, a := range args {
		dst = strconv.AppendInt(append(dst, "\r\n$"...), int64(len(a)), 10)
		dst = append(append(dst, "\r\n"...), a...)
	}
	return append(dst, "\r\n"...)
}

// feed gives the bytes of whole commands to the client and returns the replies.
func (f *testConn) feed(in []byte) []byte {
	f.reply = f.reply[:0]
	for more := true; more; {
		var used int
		used, more = f.client.data(in)
		in = in[used:]
		if f.client.waiting {
			// A command does its work on another goroutine and posts its reply.
			(<-f.client.conn.(testPeer).posts)()
			more = true
		}
		for f.out.Len() > 0 {
			b := f.out.First()
			f.reply = append(f.reply, b...)
			f.out.Consume(len(b))
		}
	}
	return f.reply
}
