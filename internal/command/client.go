package command

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/larder-cache/larder/internal/netbuf"
	"github.com/larder-cache/larder/internal/store"
	"github.com/larder-cache/larder/internal/wire"
)

// peer is the connection as a client sees it; reactor.Conn is one. Tests have one of their own.
type peer interface {
	ID() uint64
	RemoteAddr() string
	LocalAddr() string
	Pending() (input, output int)
	Close()
	CloseAfterFlush()
	Need(n int)
	Pause()
	Resume()
	Post(fn func())
}

// replyMode is what CLIENT REPLY chose.
type replyMode uint8

const (
	replyOn   replyMode = iota
	replyOff            // no replies
	replySkip           // no reply to the command that follows CLIENT REPLY SKIP
)

// Client is the state of one connection. It belongs to the loop of its connection; shown is what others may read.
type Client struct {
	server *Server
	loop   *loop
	conn   peer
	out    *netbuf.Output

	b        []byte // the tail of the output while a call from the reactor lasts, else nil
	current  *store.Collection
	wanted   string         // name of the collection that does not exist and for which current stands, see database.go
	base     unsafe.Pointer // the first key of the running command, whose hash is known
	baseHash uint64
	proto    int
	muted    bool // replies are thrown away
	failed   bool // the running command replied with an error
	stopped  bool // no further command runs: closing, or waiting for work done elsewhere
	waiting  bool // the running command replies later
	closing  bool // no further command will ever run
	trusted  bool // authenticated, or no password was set when the connection came
	mode     replyMode
	moded    bool // the running command was CLIENT REPLY
	last     *Command
	sleeping *time.Timer // of DEBUG SLEEP
	moving   [2]int      // bytes of input and output under way when last looked at by the idle timeout
	parser   wire.Parser

	shown shown
}

// shown is what others than the loop read: CLIENT LIST, the idle timeout, and work done for the client elsewhere.
type shown struct {
	id      uint64
	created time.Time
	name    atomic.Pointer[string]
	library atomic.Pointer[[2]string] // name and version that CLIENT SETINFO told
	last    atomic.Pointer[Command]
	active  atomic.Int64 // ms since the epoch of the last command
	db      atomic.Pointer[string]
	proto   atomic.Int32
	noEvict atomic.Bool
	gone    atomic.Bool // disconnected: work for it elsewhere may end
}

// db returns the current collection. A new connection is in collection "0", which exists from the start of the server.
func (c *Client) db() *store.Collection { return c.current }

// hash returns the hash of a key of the current collection. For the first key of the running command it was computed
// with the window, unless SELECT came between.
func (c *Client) hash(key []byte) uint64 {
	if unsafe.Pointer(unsafe.SliceData(key)) == c.base && c.base != nil {
		return c.baseHash
	}
	return c.current.Hash(key)
}

// now returns the time in milliseconds since the epoch. It is read once for a window of commands.
func (c *Client) now() int64 {
	if c.loop.now == 0 {
		c.loop.now = c.server.clock.Now()
	}
	return c.loop.now
}

// scratch returns an empty buffer of the loop. A handler that made it grow gives it back with keepScratch.
func (c *Client) scratch() []byte { return c.loop.scratch[:0] }

// keepScratch keeps b for later calls of scratch, unless it is so large that it should not stay.
func (c *Client) keepScratch(b []byte) {
	if cap(b) <= maxScratch {
		c.loop.scratch = b[:0]
	}
}
