package index

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/larder-cache/larder/internal/memory"
)

const (
	laneBits = 6
	// Lanes is the number of lanes of a table.
	Lanes = 1 << laneBits

	segmentBuckets = 32
	segmentSize    = segmentBuckets * bucketSize
	firstDirectory = 16                  // segments
	directoryStep  = 4                   // growth
	directories    = 7                   // sizes up to maxDirectory
	maxDirectory   = memory.SlotSize / 4 // segments: 2 million buckets, 14 million records, in each lane
)

// A lane is an independent table of the keys whose top hash bits are its number.
type lane struct {
	laneFields
	_ [laneSize - unsafe.Sizeof(laneFields{})]byte
}

// laneSize keeps the lines that readers load apart from those that writers of the lane before change.
const laneSize = (unsafe.Sizeof(laneFields{}) + 2*lineSize - 1) &^ (lineSize - 1)

// lineSize is that of a cache line.
const lineSize = 64

type laneFields struct {
	// Read by Get. Changed by growth only.
	route atomic.Uint64 // directory's memory.Ref << 32 | number of buckets
	_     [lineSize - 8]byte

	// Changed under mu. What an overwrite in place touches is the lock alone; its line comes from another core often
	// enough.
	mu       sync.Mutex
	wake     bool // a deadline came nearer than what the reaper waits for
	number   uint8
	earliest int64 // lower bound of the expiries in ms; 0 = nothing expires
	records  int64
	expiring int64
	bytes    int64 // cells of records
	overflow int64 // overflow buckets
	index    int64 // cells of buckets and directories

	changes  uint64 // of records and overflow buckets
	stuck    uint32 // writes until growth is tried again, after there was no memory for it
	segments uint32
	// All directories that the lane ever had, the smallest first: readers may still look at an old one.
	directories [directories]memory.Ref
	capacity    uint32 // segments that the directory holds
	splits      uint64
	expired     uint64
	refused     uint64
	table       *Table
	txn         Txn
	magazines   memory.Magazines
}

// Lock, TryLock, Unlock and Magazines make the lane a memory.Owner.
func (ln *lane) Lock() { ln.mu.Lock() }

// TryLock takes the lane's lock if that is free.
func (ln *lane) TryLock() bool { return ln.mu.TryLock() }

// Unlock releases the lane's lock.
func (ln *lane) Unlock() { ln.mu.Unlock() }

// Magazines returns the lane's free stacks.
func (ln *lane) Magazines() *memory.Magazines { return &ln.magazines }

func (t *Table) laneOf(h uint64) *lane { return &t.lanes[h>>(64-laneBits)] }

func buckets(route uint64) uint32 { return uint32(route) }

// bucketAt returns bucket i under a route; nil when the arena was discarded under a reader.
func (t *Table) bucketAt(route uint64, i uint32) *bucket {
	seg := t.segment(memory.Ref(route>>32), i/segmentBuckets)
	if !t.arena.Valid(seg) {
		return nil
	}
	return (*bucket)(unsafe.Add(t.arena.At(seg), uintptr(i%segmentBuckets)*bucketSize))
}

// segment returns the reference of a segment in a directory.
func (t *Table) segment(dir memory.Ref, s uint32) memory.Ref {
	return memory.Ref(atomic.LoadUint32((*uint32)(unsafe.Add(t.arena.At(dir), uintptr(s)*4))))
}

// home returns the home bucket of a hash. The lane is locked.
func (t *Table) home(ln *lane, h uint64) *bucket {
	route := ln.route.Load()
	return t.bucketAt(route, bucketOf(h, buckets(route)))
}

// nextOf returns the bucket that follows b in its chain, nil at the end. It trusts nothing: b may have become a record.
func (t *Table) nextOf(b *bucket) *bucket {
	r := b.next()
	if !t.arena.Valid(r) || t.arena.Room(r) < bucketSize {
		return nil
	}
	return (*bucket)(t.arena.At(r))
}

// alloc takes a cell for n bytes of a record.
func (t *Table) alloc(ln *lane, n int) memory.Ref {
	return ln.magazines.Alloc(t.arena, memory.ClassFor(n))
}

// allocIndex takes a cell for n bytes of the index.
func (t *Table) allocIndex(ln *lane, n int) memory.Ref {
	return ln.magazines.Alloc(t.arena, memory.IndexClassFor(n))
}

// allocGrowth is allocIndex for growth, without which the lane can do: at the memory limit it must not take from others.
func (t *Table) allocGrowth(ln *lane, n int) memory.Ref {
	return ln.magazines.AllocSpare(t.arena, memory.IndexClassFor(n))
}

func (t *Table) indexBytes(n int) int64 { return int64(t.arena.Size(memory.IndexClassFor(n))) }

func (t *Table) free(ln *lane, r memory.Ref) { ln.magazines.Free(t.arena, r) }

// cellBytes returns the memory of a record's cells.
func (t *Table) cellBytes(h uint64) int64 {
	if h&recLarge == 0 {
		return int64(t.arena.Size(memory.ClassFor(prefix(h) + payloadLen(h))))
	}
	c := chunkingOf(payloadLen(h))
	n := t.arena.Size(memory.HeadClassFor(c.headSize())) + c.whole*memory.SlotSize + c.cells*memory.MaxCell
	if c.rest > 0 {
		n += t.arena.Size(memory.ClassFor(c.rest))
	}
	return int64(n)
}

// openLane gives the lane its first directory and segment.
func (t *Table) openLane(ln *lane, number uint8) error {
	ln.table, ln.number = t, number
	dir := t.allocIndex(ln, firstDirectory*4)
	if dir == 0 {
		return ErrFull
	}
	clear(bytesAt(t.arena.At(dir), 0, firstDirectory*4))
	ln.index += t.indexBytes(firstDirectory * 4)
	ln.capacity = firstDirectory
	ln.directories[0] = dir
	ln.route.Store(uint64(dir) << 32)
	if !t.addSegment(ln) {
		t.free(ln, dir)
		ln.magazines.Flush(t.arena)
		return ErrFull
	}
	ln.route.Store(ln.route.Load() | segmentBuckets)
	return nil
}

// abandonLane undoes openLane for a table that nobody got.
func (t *Table) abandonLane(ln *lane) {
	dir := memory.Ref(ln.route.Load() >> 32)
	t.free(ln, memory.Ref(*(*uint32)(t.arena.At(dir))))
	t.free(ln, dir)
	ln.magazines.Flush(t.arena)
}
