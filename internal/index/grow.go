package index

import (
	"math/bits"
	"slices"
	"unsafe"

	"github.com/larder-cache/larder/internal/memory"
)

// fillTarget is the records per bucket above which a lane splits: 70 % of the entries of a line leave a full bucket, and so an
// overflow, rare.
const fillTarget = 7

// grow splits buckets until the lane is below its fill, at most two at a time, so no write pays for more than that. The
// caller holds the lane's lock and owns no chain.
func (t *Table) grow(ln *lane) {
	for range 2 {
		if ln.records <= int64(buckets(ln.route.Load()))*fillTarget {
			return
		}
		if ln.stuck > 0 {
			ln.stuck--
			return
		}
		if !t.split(ln) {
			ln.stuck = stuckFor
			return
		}
	}
}

// stuckFor is how many writes a lane waits before it asks again for memory to grow.
const stuckFor = 64

// addSegment appends a segment to the directory, which grows when it is full. Old directories stay as they are: a
// reader may still look at one.
func (t *Table) addSegment(ln *lane) bool {
	route := ln.route.Load()
	dir := memory.Ref(route >> 32)
	if ln.segments == ln.capacity {
		capacity := ln.capacity * directoryStep
		if capacity > maxDirectory {
			return false
		}
		bigger := t.allocGrowth(ln, int(capacity)*4)
		if bigger == 0 {
			return false
		}
		b := bytesAt(t.arena.At(bigger), 0, int(capacity)*4)
		clear(b[copy(b, bytesAt(t.arena.At(dir), 0, int(ln.capacity)*4)):])
		ln.index += t.indexBytes(len(b))
		ln.capacity = capacity
		ln.directories[slices.Index(ln.directories[:], 0)] = bigger
		dir = bigger
	}
	seg := t.allocGrowth(ln, segmentSize)
	if seg == 0 {
		if dir != memory.Ref(route>>32) {
			ln.route.Store(uint64(dir)<<32 | uint64(buckets(route)))
		}
		return false
	}
	clear(bytesAt(t.arena.At(seg), 0, segmentSize))
	ln.index += segmentSize
	*(*uint32)(unsafe.Add(t.arena.At(dir), uintptr(ln.segments)*4)) = uint32(seg)
	ln.segments++
	ln.route.Store(uint64(dir)<<32 | uint64(buckets(route)))
	return true
}

// split makes one more bucket and moves to it the records of its parent that belong there. It reports false when there
// is no memory for a segment; the lane then works on with longer chains.
//
// A reader that entered before sees the parent's version change. One that comes with the old route after the split sees
// the route change when it misses. One with the new route finds the new bucket complete, because the route is stored
// after it and while the parent is still odd.
func (t *Table) split(ln *lane) bool {
	n := buckets(ln.route.Load())
	if n == ln.segments*segmentBuckets && !t.addSegment(ln) {
		return false
	}
	route := ln.route.Load()
	level := uint32(1) << (bits.Len32(n) - 1) // the largest power of two that is at most n
	parent, child := t.bucketAt(route, n-level), t.bucketAt(route, n)
	parent.own()
	child.own()

	// Records and overflow buckets of the chain. Both new chains together never need more overflow than the old one.
	var (
		refs  [4 * bucketEntries]memory.Ref
		spare [4]memory.Ref
	)
	records, overs := refs[:0], spare[:0]
	for b := parent; b != nil; b = t.nextOf(b) {
		for i, tag := range b.tags {
			if tag != 0 {
				records = append(records, b.ref(i))
			}
		}
		if r := b.next(); r != 0 {
			overs = append(overs, r)
		}
	}
	// Hash before anybody has to wait: this is where the cache misses are.
	type placed struct {
		ref  memory.Ref
		tag  uint8
		move bool
		hint uint32
	}
	var room [4 * bucketEntries]placed
	all := room[:0]
	for _, r := range records {
		rec := t.arena.At(r)
		h := t.hashRecord(rec)
		all = append(all, placed{r, tagOf(h), uint32(h)&level != 0, t.hintOf(expiryAt(rec, headerAt(rec)))})
	}

	parent.begin()
	parent.empty()
	child.empty()
	tails := [2]*bucket{parent, child}
	used := [2]int{}
	for _, p := range all {
		side, home := 0, parent
		if p.move {
			side, home = 1, child
		}
		if used[side] == bucketEntries {
			r := overs[len(overs)-1]
			overs = overs[:len(overs)-1]
			next := (*bucket)(t.arena.At(r))
			*next = bucket{}
			tails[side].over = uint32(r)
			tails[side], used[side] = next, 0
		}
		entry{tails[side], used[side]}.set(p.tag, p.ref)
		used[side]++
		if p.hint != 0 && (home.hint == 0 || p.hint < home.hint) {
			home.hint = p.hint
		}
	}
	ln.route.Store(route&^0xFFFF_FFFF | uint64(n+1))
	parent.end()

	for _, r := range overs {
		ln.overflow--
		ln.index -= bucketSize
		t.free(ln, r)
	}
	ln.splits++
	ln.changes++
	t.verify(ln, parent)
	t.verify(ln, child)
	parent.disown()
	child.disown()
	return true
}

// hashRecord hashes the key of a record again.
func (t *Table) hashRecord(rec unsafe.Pointer) uint64 {
	hdr := headerAt(rec)
	if hdr&recLarge == 0 {
		return t.Hash(bytesAt(rec, prefix(hdr), keyLen(hdr)))
	}
	return t.Hash(t.keyOf(rec, hdr, nil))
}

// keyOf returns the key of a record: a view for a small one, appended to dst for a large one. The lane is locked.
func (t *Table) keyOf(rec unsafe.Pointer, hdr uint64, dst []byte) []byte {
	n := keyLen(hdr)
	if hdr&recLarge == 0 {
		return bytesAt(rec, prefix(hdr), n)
	}
	// A key within the first chunk needs no copy.
	if p := t.piece(rec, memory.SlotSize, payloadLen(hdr), 0); len(p) >= n {
		return p[:n]
	}
	dst = append(dst[:0], make([]byte, n)...)
	t.payloadRead(rec, memory.SlotSize, hdr, dst, 0)
	return dst
}
