package command

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/larder-cache/larder/internal/clock"
	"github.com/larder-cache/larder/internal/netbuf"
	"github.com/larder-cache/larder/internal/store"
	"github.com/larder-cache/larder/internal/wire"
)

const (
	// DefaultDatabases is how many numbered collections SELECT offers.
	DefaultDatabases = 16
	// DefaultMaxClients is the most connections at one time.
	DefaultMaxClients = 10_000
	// MaxMaxClients bounds the connections: each is a file descriptor.
	MaxMaxClients = 1_000_000
	// MaxIdleTimeout bounds a duration far below where sums of it with the clock could overflow.
	MaxIdleTimeout = 365 * 24 * time.Hour
	// MaxPassword is the longest password in bytes.
	MaxPassword = 512
)

// ErrOptions is what every complaint about options wraps.
var ErrOptions = errors.New("command: invalid options")

// Options of a server.
type Options struct {
	Store       *store.Store   // required; it stays the caller's to close, after the reactor has stopped
	Logger      *slog.Logger   // nil = none
	Level       *slog.LevelVar // what CONFIG SET loglevel changes; may be nil
	Version     string         // of Larder
	Databases   int            // numbered collections; 0 = DefaultDatabases
	Password    string         // empty = none, at most MaxPassword bytes
	MaxClients  int            // 0 = DefaultMaxClients, at most MaxMaxClients
	IdleTimeout time.Duration  // whole seconds, at most MaxIdleTimeout; 0 = never
	MaxBulk     int64          // longest argument in bytes; 0 = wire.DefaultMaxBulk

	// For INFO and CONFIG GET only.
	Bind       string
	TCPPort    int
	Dir        string
	ConfigFile string
	Loops      int

	OutputHard, OutputSoft int64         // limits of unwritten replies, in bytes
	OutputSoftFor          time.Duration // how long the soft one may be exceeded

	// Shutdown is called once, on a goroutine of its own, when a client asked for it. nil refuses SHUTDOWN.
	Shutdown func()
}

// Validate returns every problem of the options at once.
func (o Options) Validate() error {
	var problems []error
	complain := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf("%w: "+format, append([]any{ErrOptions}, args...)...))
		}
	}
	complain(o.Store == nil, "no store")
	complain(o.Databases < 0 || o.Databases > math.MaxInt32, "%d databases", o.Databases)
	complain(len(o.Password) > MaxPassword, "the password has more than %d bytes", MaxPassword)
	complain(o.MaxClients < 0 || o.MaxClients > MaxMaxClients, "MaxClients is %d, want at most %d", o.MaxClients, MaxMaxClients)
	complain(o.IdleTimeout < 0 || o.IdleTimeout > MaxIdleTimeout, "IdleTimeout is %s, want at most %s", o.IdleTimeout, MaxIdleTimeout)
	complain(o.MaxBulk != 0 && o.MaxBulk < wire.MinMaxBulk, "MaxBulk is %d, want at least %d", o.MaxBulk, wire.MinMaxBulk)
	return errors.Join(problems...)
}

// Server holds what all connections share. It is the handler of a reactor.
type Server struct {
	o     Options
	store *store.Store
	clock *clock.Clock
	first *store.Collection // collection "0", where connections start
	// absent is always empty and stands for collections that do not exist, see database.go.
	absent *store.Collection
	log    *slog.Logger
	start  time.Time
	runID  string

	password   atomic.Pointer[secret] // nil = none
	maxClients atomic.Int64
	idle       atomic.Int64 // seconds, 0 = never
	maxBulk    atomic.Int64

	accepted       atomic.Uint64
	refused        atomic.Uint64 // over maxclients
	badLogins      atomic.Uint64
	protocolErrors atomic.Uint64
	idleClosed     atomic.Uint64
	peakUsed       atomic.Int64 // bytes, the highest that was seen
	looking        atomic.Bool  // a look at the memory in use is due, see watchPeak
	browserSeen    atomic.Int64 // ms since the epoch of the last log line about one
	shutdown       atomic.Bool
	loops          atomic.Pointer[[]*loop]

	mu      sync.Mutex
	clients map[uint64]*Client
	peak    int
	sweeper *time.Timer // runs while there is an idle timeout
	closed  bool
	base    baseline
}

// New makes a server. It opens collection "0".
func New(o Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Databases == 0 {
		o.Databases = DefaultDatabases
	}
	if o.MaxClients == 0 {
		o.MaxClients = DefaultMaxClients
	}
	if o.MaxBulk == 0 {
		o.MaxBulk = wire.DefaultMaxBulk
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	first, err := o.Store.Collection("0")
	if err != nil {
		return nil, fmt.Errorf("command: collection 0: %w", err)
	}
	absent, err := o.Store.Unlisted()
	if err != nil {
		return nil, fmt.Errorf("command: the empty collection: %w", err)
	}
	var id [20]byte
	_, _ = rand.Read(id[:]) // never fails
	s := &Server{
		o: o, store: o.Store, clock: o.Store.Clock(), first: first, absent: absent, log: o.Logger, start: time.Now(),
		runID: hex.EncodeToString(id[:]), clients: map[uint64]*Client{},
	}
	s.setPassword(o.Password)
	s.maxClients.Store(int64(o.MaxClients))
	s.maxBulk.Store(o.MaxBulk)
	s.setIdle(int64(o.IdleTimeout / time.Second))
	return s, nil
}

// connect makes the client of a new connection. Over the limit it gets an error and is closed.
func (s *Server) connect(conn peer, out *netbuf.Output, loopIndex int) *Client {
	c := &Client{
		server: s, conn: conn, out: out, current: s.first, proto: wire.RESP2, trusted: s.password.Load() == nil,
	}
	c.parser.SetMaxBulk(s.maxBulk.Load())
	c.parser.SetAuthenticated(c.trusted)
	c.shown.id = conn.ID()
	c.shown.created = time.Now()
	c.shown.active.Store(s.clock.Now())
	name := s.first.Name()
	c.shown.db.Store(&name)
	c.shown.proto.Store(wire.RESP2)
	c.loop = s.loopAt(loopIndex)
	s.mu.Lock()
	full := len(s.clients) >= int(s.maxClients.Load())
	if !full {
		s.clients[c.shown.id] = c
		s.peak = max(s.peak, len(s.clients))
	}
	s.mu.Unlock()
	if full {
		s.refused.Add(1)
		c.fail("ERR max number of clients reached")
		c.close()
		c.flush()
		return c
	}
	s.accepted.Add(1)
	return c
}

// loopAt returns what the clients of one event loop share.
func (s *Server) loopAt(i int) *loop {
	if known := s.loops.Load(); known != nil && i < len(*known) {
		return (*known)[i]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*loop
	if known := s.loops.Load(); known != nil {
		list = append(list, *known...)
	}
	for len(list) <= i {
		list = append(list, newLoop())
	}
	s.loops.Store(&list)
	return list[i]
}

// disconnect forgets a client.
func (s *Server) disconnect(c *Client) {
	c.stopped, c.closing = true, true
	c.shown.gone.Store(true)
	if c.sleeping != nil {
		c.sleeping.Stop()
	}
	s.mu.Lock()
	if s.clients[c.shown.id] == c {
		delete(s.clients, c.shown.id)
	}
	s.mu.Unlock()
}

// list returns the clients in the order in which they came.
func (s *Server) list() []*Client {
	s.mu.Lock()
	list := make([]*Client, 0, len(s.clients))
	for _, c := range s.clients {
		list = append(list, c)
	}
	s.mu.Unlock()
	sortClients(list)
	return list
}
