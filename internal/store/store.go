// Package store keeps the collections of one cache: the registry of tables, their shared memory, and the reaper.
//
// A Store is what the library's facade and the server's commands both stand on, so that a program that embeds the cache
// and a client on the wire see the same collections. It adds nothing to a read or a write of a record: a Collection
// embeds its index.Table.
//
// # The reaper
//
// One goroutine removes expired records. It sleeps until the nearest deadline that any table knows; without deadlines it
// sleeps for ever, so an idle cache makes no wake-ups. A write with a nearer deadline wakes it. Passes are at least
// reapEvery apart and the pause after one is at least reapRest times its length, so reaping takes at most 40 % of a core.
//
// # The reclaimer
//
// A second goroutine gives memory back that records no longer need: it calls the arena's Tick, and moves records out of
// slots that the arena wants to empty. It works at most 40 % of the time, too, and sleeps when nothing came back. It also
// logs what the arena met, a refused write for instance: at once, and then at most once in ten seconds with a count.
//
// # Locks
//
// The registry's lock is above all lanes: it is held while a table is made, never while records are touched.
package store

import (
	"errors"
	"fmt"
	"log/slog"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/larder-cache/larder/internal/clock"
	"github.com/larder-cache/larder/internal/index"
	"github.com/larder-cache/larder/internal/memory"
)

const (
	// MaxKeyBytes is the longest key.
	MaxKeyBytes = index.MaxKey
	// DefaultMaxValueBytes is the longest value unless Options say otherwise: the limit of Redis.
	DefaultMaxValueBytes = 512 << 20
	// DefaultMaxMemory is the memory limit in bytes unless Options say otherwise.
	DefaultMaxMemory = 1 << 30
	// MinMaxMemory is the smallest memory limit in bytes.
	MinMaxMemory = memory.MinLimit
	// MaxMaxMemory is the largest memory limit in bytes.
	MaxMaxMemory = memory.MaxLimit
	// MaxNameBytes is the longest name of a collection.
	MaxNameBytes = 255
	// MaxCollections is how many collections one cache may have: each costs about 200 KB when empty.
	MaxCollections = 1024

	// heapMaxMemory is the default where the arena is an ordinary allocation, which shadow memory multiplies.
	heapMaxMemory = 64 << 20

	reapEvery = 100 * time.Millisecond
	reapRest  = 1.5
)

// Refusals of a store; those of tables are in package index.
var (
	ErrName               = errors.New("larder: a collection's name has 1 to 255 bytes")
	ErrExists             = errors.New("larder: collection exists")
	ErrTooManyCollections = errors.New("larder: too many collections")
	ErrOptions            = errors.New("larder: invalid options")
)

// Options of a store. The zero value is valid.
type Options struct {
	MaxMemory int64          // ceiling in bytes for everything outside the Go heap, MinMaxMemory to MaxMaxMemory; 0 = DefaultMaxMemory
	MaxValue  int            // longest value in bytes; 0 = DefaultMaxValueBytes
	Clock     *clock.Clock   // nil = the machine's; a manual one stops the reaper, see Reap
	Reclaim   memory.Reclaim // zero fields take those of memory.DefaultReclaim; see there
	HugePages string         // "auto" (or empty), "off" or "require", see memory.HugePages
	Lock      bool           // see memory.Options
	Logger    *slog.Logger   // nil = none
}

var hugePages = map[string]memory.HugePages{
	"": memory.HugePagesAuto, "auto": memory.HugePagesAuto, "off": memory.HugePagesOff, "require": memory.HugePagesRequire,
}

// Validate returns every problem of the options at once.
func (o Options) Validate() error {
	var problems []error
	if o.MaxMemory != 0 && (o.MaxMemory < MinMaxMemory || o.MaxMemory > MaxMaxMemory) {
		problems = append(problems, fmt.Errorf("%w: MaxMemory is %d, want %d to %d bytes", ErrOptions, o.MaxMemory, int64(MinMaxMemory), int64(MaxMaxMemory)))
	}
	if o.MaxValue < 0 || o.MaxValue > index.MaxValue {
		problems = append(problems, fmt.Errorf("%w: MaxValue is %d, want at most %d bytes", ErrOptions, o.MaxValue, index.MaxValue))
	}
	if _, ok := hugePages[o.HugePages]; !ok {
		problems = append(problems, fmt.Errorf("%w: HugePages is %q, want auto, off or require", ErrOptions, o.HugePages))
	}
	if r := o.Reclaim; r.Quiet < 0 || r.CoolOff < 0 || r.Floor < 0 || r.MaxPerTick < 0 || r.KeepPerClass < -1 {
		problems = append(problems, fmt.Errorf("%w: a figure of Reclaim is negative: %+v", ErrOptions, r))
	}
	return errors.Join(problems...)
}

// A Store is a set of collections in one piece of memory. Methods are safe for concurrent use.
type Store struct {
	arena    *memory.Arena
	clk      *clock.Clock
	maxValue int

	mu          sync.RWMutex
	collections map[string]*Collection
	unlisted    []*index.Table
	closed      bool

	wake    chan struct{}
	stop    chan struct{}
	stopped chan struct{}

	reclaimWake      chan struct{}
	reclaimerStopped chan struct{}
	log              *slog.Logger
	complaints       []*complaint // the reclaimer's

	moved   atomic.Uint64 // cells, by evacuation
	passes  atomic.Uint64
	visited atomic.Uint64
}

// A Collection is a named table.
type Collection struct {
	*index.Table
	name string
}

// Name returns the collection's name.
func (c *Collection) Name() string { return c.name }

// Open makes a store without collections.
func Open(o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.MaxMemory == 0 {
		o.MaxMemory = DefaultMaxMemory
		if memory.HeapBacked {
			o.MaxMemory = heapMaxMemory
		}
	}
	if o.MaxValue == 0 {
		o.MaxValue = DefaultMaxValueBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	reclaim := o.Reclaim.WithDefaults()
	arena, err := memory.New(memory.Options{Limit: o.MaxMemory, HugePages: hugePages[o.HugePages], Lock: o.Lock, Reclaim: &reclaim})
	if err != nil {
		return nil, fmt.Errorf("larder: %w", err)
	}
	s := &Store{
		arena: arena, clk: o.Clock, maxValue: o.MaxValue, collections: map[string]*Collection{},
		wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
		reclaimWake: make(chan struct{}, 1), reclaimerStopped: make(chan struct{}),
		log: o.Logger, complaints: newComplaints(),
	}
	if o.Clock.IsManual() {
		close(s.stopped)
		close(s.reclaimerStopped)
	} else {
		arena.SetWake(s.wakeReclaimer)
		go s.reapLoop()
		go s.reclaimLoop()
	}
	return s, nil
}

// Collection returns the collection of that name, making it when it is missing.
func (s *Store) Collection(name string) (*Collection, error) {
	if c, ok := s.Lookup(name); ok {
		return c, nil
	}
	c, err := s.Create(name, 0)
	if errors.Is(err, ErrExists) {
		c, _ = s.Lookup(name)
		return c, nil
	}
	return c, err
}

// Create makes a collection whose values have at most maxValue bytes (0 = the store's limit) and refuses a name in use.
func (s *Store) Create(name string, maxValue int) (*Collection, error) {
	if len(name) < 1 || len(name) > MaxNameBytes {
		return nil, ErrName
	}
	if maxValue == 0 {
		maxValue = s.maxValue
	}
	if maxValue < 0 || maxValue > s.maxValue {
		return nil, fmt.Errorf("%w: MaxValue of collection %q is %d, want at most %d bytes", ErrOptions, name, maxValue, s.maxValue)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, index.ErrClosed
	case s.collections[name] != nil:
		return nil, ErrExists
	case len(s.collections) >= MaxCollections:
		return nil, ErrTooManyCollections
	}
	t, err := index.New(s.arena, s.clk, index.Options{MaxValue: maxValue, Wake: s.wakeReaper})
	if err != nil {
		return nil, err
	}
	c := &Collection{Table: t, name: name}
	s.collections[name] = c
	return c, nil
}

// Unlisted makes a collection without a name that is found by nobody.
func (s *Store) Unlisted() (*Collection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, index.ErrClosed
	}
	t, err := index.New(s.arena, s.clk, index.Options{MaxValue: s.maxValue})
	if err != nil {
		return nil, err
	}
	s.unlisted = append(s.unlisted, t)
	return &Collection{Table: t}, nil
}

// Lookup returns the collection of that name if there is one.
func (s *Store) Lookup(name string) (*Collection, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c, ok := s.collections[name]
	return c, ok
}

// Collections returns all collections sorted by name.
func (s *Store) Collections() []*Collection {
	s.mu.RLock()
	list := make([]*Collection, 0, len(s.collections))
	for _, c := range s.collections {
		list = append(list, c)
	}
	s.mu.RUnlock()
	sort.Slice(list, func(i, j int) bool { return list[i].name < list[j].name })
	return list
}

// Clock returns the store's clock.
func (s *Store) Clock() *clock.Clock { return s.clk }

// Close makes every collection empty and refuse writes, and gives the memory back. Calls that are under way finish.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return index.ErrClosed
	}
	s.closed = true
	s.mu.Unlock()
	close(s.stop)
	<-s.stopped
	<-s.reclaimerStopped
	for _, t := range s.tables() {
		t.Close()
	}
	s.arena.Discard()
	return nil
}

// Closed reports whether Close was called.
func (s *Store) Closed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.closed
}
