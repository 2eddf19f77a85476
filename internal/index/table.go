package index

import (
	"fmt"
	"hash/maphash"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/larder-cache/larder/internal/clock"
	"github.com/larder-cache/larder/internal/memory"
)

// Options of a table.
type Options struct {
	MaxKey   int    // longest key in bytes, at most MaxKey; 0 = MaxKey
	MaxValue int    // longest value in bytes, at most MaxValue; 0 = MaxValue
	Wake     func() // called, without a lock, when a deadline comes nearer than the last SetWakeAt; may be nil
}

// A Table maps keys to values. All methods are safe for concurrent use.
type Table struct {
	arena    *memory.Arena
	clk      *clock.Clock
	seed     maphash.Seed
	lanes    *[Lanes]lane
	maxKey   int
	maxValue int
	birth    int64 // ms; expiry hints count from here
	id       uint64
	wakeFn   func()
	_        [64]byte

	wakeAt  atomic.Int64
	closed  atomic.Bool
	reaping sync.Mutex // one pass of Reap at a time; above the lanes
	_       [40]byte

	counters [stripes]stripe
}

var tableIDs atomic.Uint64

// New makes an empty table in the arena.
func New(arena *memory.Arena, clk *clock.Clock, o Options) (*Table, error) {
	if o.MaxKey == 0 {
		o.MaxKey = MaxKey
	}
	if o.MaxValue == 0 {
		o.MaxValue = MaxValue
	}
	if o.MaxKey < 0 || o.MaxKey > MaxKey || o.MaxValue < 0 || o.MaxValue > MaxValue {
		return nil, fmt.Errorf("index: MaxKey %d must be 1 to %d and MaxValue %d must be 1 to %d", o.MaxKey, MaxKey, o.MaxValue, MaxValue)
	}
	overhead := int64(unsafe.Sizeof(Table{}) + unsafe.Sizeof([Lanes]lane{}))
	if err := arena.Charge(overhead); err != nil {
		return nil, ErrFull
	}
	t := &Table{
		arena: arena, clk: clk, seed: maphash.MakeSeed(), lanes: new([Lanes]lane),
		maxKey: o.MaxKey, maxValue: o.MaxValue, birth: clk.Now(), id: tableIDs.Add(1), wakeFn: o.Wake,
	}
	t.wakeAt.Store(math.MaxInt64)
	for i := range t.lanes {
		if err := t.openLane(&t.lanes[i], uint8(i)); err != nil {
			for j := range i {
				t.abandonLane(&t.lanes[j])
			}
			arena.Uncharge(overhead)
			return nil, err
		}
	}
	for i := range t.lanes {
		arena.Register(&t.lanes[i])
	}
	return t, nil
}

// Hash returns the hash of a key, by which every method finds it. It differs from table to table and run to run.
func (t *Table) Hash(key []byte) uint64 { return maphash.Bytes(t.seed, key) }

// Close makes every later call find nothing and every later write fail with ErrClosed. It returns when no writer is
// inside. The arena may then be discarded.
func (t *Table) Close() {
	t.closed.Store(true)
	for i := range t.lanes {
		// Whoever holds a lane or a chain finishes; whoever comes later sees closed.
		ln := &t.lanes[i]
		ln.mu.Lock()
		route := ln.route.Load()
		for b := range buckets(route) {
			home := t.bucketAt(route, b)
			for try := 0; atomic.LoadUint32(&home.version)&writing != 0; try++ {
				pause(try)
			}
		}
		// From here on nobody finds a bucket, whatever becomes of the memory.
		dir := t.arena.At(memory.Ref(route >> 32))
		for s := range ln.segments {
			atomic.StoreUint32((*uint32)(unsafe.Add(dir, uintptr(s)*4)), 0)
		}
		ln.records, ln.expiring, ln.earliest = 0, 0, 0
		ln.bytes, ln.overflow, ln.index = 0, 0, 0
		ln.mu.Unlock()
	}
}

// Closed reports whether Close was called.
func (t *Table) Closed() bool { return t.closed.Load() }

// Len returns the number of records, those included that expired and were not yet reaped.
func (t *Table) Len() int {
	n := int64(0)
	for i := range t.lanes {
		ln := &t.lanes[i]
		ln.mu.Lock()
		n += ln.records
		ln.mu.Unlock()
	}
	return int(n)
}

// Buckets returns the number of home buckets: what a walk, however few records there are, looks at.
func (t *Table) Buckets() (n int) {
	for i := range t.lanes {
		n += int(buckets(t.lanes[i].route.Load()))
	}
	return n
}

// Flush removes every record that was there when it began. It holds a lane for one segment at a time.
func (t *Table) Flush() {
	for i := range t.lanes {
		ln := &t.lanes[i]
		for b := uint32(0); ; b += segmentBuckets {
			ln.mu.Lock()
			if t.closed.Load() || b >= buckets(ln.route.Load()) {
				ln.mu.Unlock()
				break
			}
			t.flushSegment(ln, b)
			ln.mu.Unlock()
		}
	}
	runtime.KeepAlive(t)
}

func (t *Table) flushSegment(ln *lane, first uint32) {
	route := ln.route.Load()
	for i := first; i < min(first+segmentBuckets, buckets(route)); i++ {
		home := t.bucketAt(route, i)
		if home.vacant() {
			continue
		}
		home.own()
		for t.dropFirst(ln, home) {
		}
		home.hint = 0
		home.disown()
	}
	if ln.records == 0 {
		ln.earliest = 0
	}
}

// dropFirst removes some record of a chain and reports whether there was one.
func (t *Table) dropFirst(ln *lane, home *bucket) bool {
	for i, tag := range home.tags {
		if tag != 0 {
			ref := home.ref(i)
			rec := t.arena.At(ref)
			t.remove(ln, &spot{home: home, at: entry{home, i}, ref: ref, rec: rec, hdr: headerAt(rec)})
			return true
		}
	}
	return false
}

const (
	stripeBits = 6
	stripes    = 1 << stripeBits
	// stackBits is the size of the smallest stack: a finer look would spread one goroutine, a coarser one join two.
	stackBits = 11
)

// A stripe counts hits and misses of some goroutines, so that readers do not share a line.
type stripe struct {
	hits, misses atomic.Uint64
	_            [112]byte
}

// count notes a read, unless the table is closed. Goroutines spread over the stripes by where their stacks lie.
func (t *Table) count(st Status) {
	var mark byte
	s := &t.counters[uint64(uintptr(unsafe.Pointer(&mark))>>stackBits)*0x9E3779B97F4A7C15>>(64-stripeBits)]
	switch {
	case st == Found:
		s.hits.Add(1)
	case !t.closed.Load():
		s.misses.Add(1)
	}
}

// TableStats describe a table. Bytes and counts are of this moment, the unsigned ones since the table was made.
type TableStats struct {
	Records         int64
	Expiring        int64 // records with a deadline
	Buckets         int64
	OverflowBuckets int64
	Bytes           int64 // cells of records
	IndexBytes      int64 // cells of buckets and directories
	Hits, Misses    uint64
	Expired         uint64 // records removed because their time had come
	Refused         uint64 // writes refused at the memory limit
	Splits          uint64
}

// Stats sums the lanes, one after the other. Of a closed table only the counts since its making are left.
func (t *Table) Stats() TableStats {
	var s TableStats
	open := !t.closed.Load()
	for i := range t.lanes {
		ln := &t.lanes[i]
		ln.mu.Lock()
		s.Records += ln.records
		s.Expiring += ln.expiring
		if open {
			s.Buckets += int64(buckets(ln.route.Load()))
		}
		s.OverflowBuckets += ln.overflow
		s.Bytes += ln.bytes
		s.IndexBytes += ln.index
		s.Expired += ln.expired
		s.Refused += ln.refused
		s.Splits += ln.splits
		ln.mu.Unlock()
	}
	for i := range t.counters {
		s.Hits += t.counters[i].hits.Load()
		s.Misses += t.counters[i].misses.Load()
	}
	return s
}

// ResetStats sets the counters of Stats to zero.
func (t *Table) ResetStats() {
	for i := range t.lanes {
		ln := &t.lanes[i]
		ln.mu.Lock()
		ln.expired, ln.refused, ln.splits = 0, 0, 0
		ln.mu.Unlock()
	}
	for i := range t.counters {
		t.counters[i].hits.Store(0)
		t.counters[i].misses.Store(0)
	}
}
