package command

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/larder-cache/larder/internal/clock"
	"github.com/larder-cache/larder/internal/netbuf"
	"github.com/larder-cache/larder/internal/store"
)

// rig feeds a server as the reactor does, without sockets: it holds the input that a client left, pauses, and ends.
type rig struct {
	t      testing.TB
	server *Server
	client *Client
	peer   *rigPeer
	out    netbuf.Output
	in     []byte
	reply  []byte
}

// rigPeer is the connection of a rig.
type rigPeer struct {
	id       uint64
	posts    chan func()
	paused   bool
	closed   bool // Close
	flushing bool // CloseAfterFlush
	need     int
	input    int // what Pending returns
	output   int
}

var rigIDs atomic.Uint64

func (p *rigPeer) ID() uint64                   { return p.id }
func (p *rigPeer) RemoteAddr() string           { return fmt.Sprintf("192.0.2.1:%d", p.id) }
func (p *rigPeer) LocalAddr() string            { return "192.0.2.2:6379" }
func (p *rigPeer) Pending() (input, output int) { return p.input, p.output }
func (p *rigPeer) Close()                       { p.closed = true }
func (p *rigPeer) CloseAfterFlush()             { p.flushing = true }
func (p *rigPeer) Need(n int)                   { p.need = n }
func (p *rigPeer) Pause()                       { p.paused = true }
func (p *rigPeer) Resume()                      { p.paused = false }
func (p *rigPeer) Post(fn func())               { p.posts <- fn }

// newRigServer opens a server of its own for a test.
func newRigServer(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Store == nil {
		s, err := store.Open(store.Options{MaxMemory: 256 << 20, Clock: clock.System()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		o.Store = s
	}
	server, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// dial connects to the server.
func dial(t testing.TB, s *Server) *rig {
	r := &rig{t: t, server: s, peer: &rigPeer{id: rigIDs.Add(1), posts: make(chan func(), 16)}}
	r.out.Bind(netbuf.NewPool().NewBlocks(512 << 10))
	r.client = s.connect(r.peer, &r.out, 0)
	return r
}

// ended reports whether the connection runs no further command.
func (r *rig) ended() bool { return r.peer.closed || r.peer.flushing }

// send gives bytes to the client and returns what it replied by the time it waits for more. A client that waits for work
// done elsewhere is waited for.
func (r *rig) send(in []byte) []byte {
	r.t.Helper()
	r.reply = r.reply[:0]
	// New bytes may lie anywhere.
	r.in = append(append(make([]byte, 0, len(r.in)+len(in)), r.in...), in...)
	for {
		more := false
		if !r.ended() && !r.peer.paused && len(r.in) >= r.peer.need {
			r.peer.need = 0
			var used int
			before := len(r.in)
			used, more = r.client.data(r.in)
			r.in = r.in[used:]
			if more && used == 0 && before > 0 && r.out.Len() == 0 {
				r.t.Fatal("the client wants another turn and did nothing in this one")
			}
		}
		r.drain()
		switch {
		case r.peer.paused:
			r.post()
			if len(r.in) == 0 && !r.peer.paused {
				r.drain()
				return r.reply
			}
		case !more || len(r.in) == 0:
			return r.reply
		}
	}
}

// post runs what comes from elsewhere.
func (r *rig) post() {
	r.t.Helper()
	select {
	case fn := <-r.peer.posts:
		fn()
	case <-time.After(10 * time.Second):
		r.t.Fatal("a paused client was not resumed")
	}
}

// posted runs what others have posted by now.
func (r *rig) posted() {
	for {
		select {
		case fn := <-r.peer.posts:
			fn()
		default:
			return
		}
	}
}

// drain takes what is in the output, unless the connection was cut.
func (r *rig) drain() {
	for r.out.Len() > 0 {
		b := r.out.First()
		if !r.peer.closed {
			r.reply = append(r.reply, b...)
		}
		r.out.Consume(len(b))
	}
}

// do runs a command written as in testdata and returns its reply as testdata has it.
func (r *rig) do(line string) string {
	r.t.Helper()
	return show(r.send(encode(splitCommand(r.t, line))))
}

// expect runs a command and compares its reply.
func (r *rig) expect(line, want string) {
	r.t.Helper()
	if got := r.do(line); got != want {
		r.t.Errorf("%s\n\tgot  %s\n\twant %s", line, got, want)
	}
}

func encode(args [][]byte) []byte {
	out := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		out = fmt.Appendf(out, "$%d\r\n%s\r\n", len(a), a)
	}
	return out
}

// show writes replies of both versions as testdata has them: +OK -ERR text :5 "bulk" nil [array] {map} <set> txt:"text"
// #t ,1.5; several replies are joined with " | ".
func show(reply []byte) string {
	var parts []string
	for len(reply) > 0 {
		var part string
		part, reply = showOne(reply)
		parts = append(parts, part)
	}
	return strings.Join(parts, " | ")
}

func showOne(reply []byte) (text string, rest []byte) {
	line, rest, ok := bytes.Cut(reply, []byte("\r\n"))
	if !ok || len(line) == 0 {
		return fmt.Sprintf("malformed %q", reply), nil
	}
	n, _ := strconv.Atoi(string(line[1:]))
	many := func(count int) []string {
		items := make([]string, count)
		for i := range items {
			items[i], rest = showOne(rest)
		}
		return items
	}
	switch line[0] {
	case '_':
		return "nil", rest
	case '$', '=':
		if n < 0 {
			return "nil", rest
		}
		if len(rest) < n+2 {
			return fmt.Sprintf("cut short %q", reply), nil
		}
		body := rest[:n]
		rest = rest[n+2:]
		if line[0] == '=' {
			return string(body[:4]) + quoteBulk(body[4:]), rest
		}
		return quoteBulk(body), rest
	case '*':
		if n < 0 {
			return "nil", rest
		}
		items := many(n)
		return "[" + strings.Join(items, ", ") + "]", rest
	case '~':
		items := many(n)
		return "<" + strings.Join(items, ", ") + ">", rest
	case '%':
		items := many(2 * n)
		pairs := make([]string, n)
		for i := range pairs {
			pairs[i] = items[2*i] + ": " + items[2*i+1]
		}
		return "{" + strings.Join(pairs, ", ") + "}", rest
	}
	return string(line), rest
}

var anyID = regexp.MustCompile(`:ID\b`)

// same compares a reply with what testdata wants; ":ID" stands for any integer.
func same(got, want string) bool {
	if !strings.Contains(want, ":ID") {
		return got == want
	}
	pattern := anyID.ReplaceAllString(regexp.QuoteMeta(want), `:[0-9]+`)
	return regexp.MustCompile("^" + pattern + "$").MatchString(got)
}
