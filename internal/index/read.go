package index

import (
	"runtime"
	"strconv"
	"sync/atomic"
	"unsafe"

	"github.com/larder-cache/larder/internal/memory"
)

// Status is the outcome of GetInto.
type Status uint8

const (
	// Missing says that the key is absent or expired.
	Missing Status = iota
	// Found says that the value was appended.
	Found
	// Short says that the destination had too little capacity: nothing was appended.
	Short
)

// A Framer appends what stands before a value of n bytes, at most MaxFrame bytes, and must not retain dst. It may be
// called with a length that turns out wrong; what it appended is then dropped.
type Framer func(dst []byte, n int) []byte

// MaxFrame is the most bytes that a Framer may append.
const MaxFrame = 24

const (
	// readTries is how often a reader repeats before it takes the lane's lock.
	readTries = 64
	// readSpins is how often, in all, a reader looks at an odd version before it takes the lane's lock: long enough for
	// most writers, short enough for a writer that lost its processor.
	readSpins = 2000
	// cheapCopy is the longest value in bytes that is worth a second attempt without the lock.
	cheapCopy = 64 << 10
)

// A wish is what a reader wants from a record.
type wish uint8

const (
	wantValue wish = iota
	wantRange
	wantInfo
)

// A reading carries a read's arguments and results; it lives on the stack of the caller.
type reading struct {
	dst      []byte
	frame    Framer
	from, to int64
	want     wish
	grow     bool
	info     Meta
	costly   bool // an attempt copied more than cheapCopy bytes in vain
}

// read answers r for key without a lock, or with the lane's lock after too many disturbed attempts.
func (t *Table) read(h uint64, key []byte, r *reading) Status {
	ln := t.laneOf(h)
	if !lockedReads {
		spins := 0
		for range readTries {
			route := ln.route.Load()
			home := t.bucketAt(route, bucketOf(h, buckets(route)))
			if home == nil {
				return Missing // discarded
			}
			v := atomic.LoadUint32(&home.version)
			for v&writing != 0 && spins < readSpins {
				spins++
				v = atomic.LoadUint32(&home.version)
			}
			if v&writing != 0 {
				break
			}
			if st, ok := t.attempt(ln, home, v, route, h, key, r); ok {
				return st
			}
			if r.costly {
				break
			}
		}
	}
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if t.closed.Load() {
		return Missing
	}
	route := ln.route.Load()
	home := t.home(ln, h)
	home.own()
	defer home.disown()
	st, ok := t.attempt(ln, home, home.version, route, h, key, r)
	if !ok {
		panic("index: a read of an owned chain was disturbed")
	}
	return st
}

// attempt searches and copies once. It reports false when what it saw may have been changing.
func (t *Table) attempt(ln *lane, home *bucket, v uint32, route, h uint64, key []byte, r *reading) (Status, bool) {
	rec, hdr, ref, _ := t.search(home, tagOf(h), key)
	if rec == nil {
		// The version says that the chain stood still, the route that it was the right chain.
		r.info = Meta{}
		return Missing, steady(home, v) && ln.route.Load() == route
	}
	room := t.arena.Room(ref)
	if prefix(hdr) > room {
		return Missing, false
	}
	expireAt := expiryAt(rec, hdr)
	if expireAt != 0 && expireAt <= t.clk.Now() {
		r.info = Meta{}
		return Missing, steady(home, v)
	}
	n, at := valueLen(hdr), prefix(hdr)+keyLen(hdr)
	if hdr&recLarge == 0 && at+n > room {
		return Missing, false
	}
	if hdr&recInteger != 0 {
		if n != 8 {
			return Missing, false
		}
		num, ok := t.intAt(rec, room, hdr)
		if !ok || !steady(home, v) {
			return Missing, false
		}
		return r.number(num, expireAt, flagsOf(hdr)), true
	}
	r.info = Meta{ExpireAt: expireAt, Size: n, Flags: flagsOf(hdr)}
	from, to := 0, n
	switch r.want {
	case wantInfo:
		return Found, steady(home, v)
	case wantRange:
		from, to = clampRange(r.from, r.to, n)
	}
	need := to - from
	if r.frame != nil {
		need += MaxFrame
	}
	dst := r.dst
	if cap(dst)-len(dst) < need {
		// A length is believed only when it is verified: a torn one could ask for gigabytes.
		if !steady(home, v) {
			return Missing, false
		}
		if !r.grow {
			return Short, true
		}
		grown := make([]byte, len(dst), growTo(cap(dst), len(dst)+need))
		copy(grown, dst)
		dst, r.dst = grown, grown
	}
	if r.frame != nil {
		dst = r.frame(dst, to-from)
	}
	base := len(dst)
	dst = dst[:base+to-from]
	if hdr&recLarge != 0 {
		if !t.payloadRead(rec, room, hdr, dst[base:], keyLen(hdr)+from) {
			return Missing, false
		}
	} else {
		copy(dst[base:], bytesAt(rec, at+from, to-from))
	}
	if !steady(home, v) {
		r.costly = to-from > cheapCopy
		return Missing, false
	}
	r.dst = dst
	return Found, true
}

// steady reports whether nothing of the chain changed since version v was read. Whether somebody owns it does not matter.
func steady(home *bucket, v uint32) bool {
	loadBarrier()
	return (atomic.LoadUint32(&home.version)^v)&^owned == 0
}

// search walks a chain for a key. It trusts nothing that it reads: the chain may be changing.
func (t *Table) search(home *bucket, tag uint8, key []byte) (unsafe.Pointer, uint64, memory.Ref, entry) {
	v := atomic.LoadUint32(&home.version)
	for hop, b := 1, home; b != nil; hop++ {
		lo, hi := b.matches(tag)
		for ; lo != 0; lo &= lo - 1 {
			i := firstByte(lo)
			ref := b.ref(i)
			if rec, hdr := t.match(ref, key); rec != nil {
				return rec, hdr, ref, entry{b, i}
			}
		}
		for ; hi != 0; hi &= hi - 1 {
			i := 8 + firstByte(hi)&1
			ref := b.ref(i)
			if rec, hdr := t.match(ref, key); rec != nil {
				return rec, hdr, ref, entry{b, i}
			}
		}
		b = t.nextOf(b)
		// What looks like a long chain may be a circle of buckets that became something else.
		if hop%hopsBlind == 0 && !steady(home, v) {
			break
		}
	}
	return nil, 0, 0, entry{}
}

// number answers with a counter, whose bytes are made and not copied.
func (r *reading) number(v, expireAt int64, fl Flags) Status {
	var text [20]byte
	s := strconv.AppendInt(text[:0], v, 10)
	r.info = Meta{ExpireAt: expireAt, Size: len(s), Flags: fl}
	switch r.want {
	case wantInfo:
		return Found
	case wantRange:
		from, to := clampRange(r.from, r.to, len(s))
		s = s[from:to]
	}
	need := len(s)
	if r.frame != nil {
		need += MaxFrame
	}
	if !r.grow && cap(r.dst)-len(r.dst) < need {
		return Short
	}
	if r.frame != nil {
		r.dst = r.frame(r.dst, len(s))
	}
	r.dst = append(r.dst, s...)
	return Found
}

// clampRange turns inclusive ends, negative ones counted from the end, into a half-open range of n bytes.
func clampRange(from, to int64, n int) (int, int) {
	size := int64(n)
	if from < 0 && to < 0 && from > to {
		return 0, 0
	}
	if from < 0 {
		from = max(from+size, 0)
	}
	if to < 0 {
		to = max(to+size, 0)
	}
	to = min(to, size-1)
	if size == 0 || from > to {
		return 0, 0
	}
	return int(from), int(to) + 1
}

func growTo(capacity, need int) int { return max(need, min(2*capacity, capacity+1<<20)) }

// Get appends the value of key to dst, growing it when needed, and returns the result.
func (t *Table) Get(h uint64, dst, key []byte) ([]byte, Meta, bool) {
	r := reading{dst: dst, grow: true}
	st := t.read(h, key, &r)
	t.count(st)
	runtime.KeepAlive(t)
	return r.dst, r.info, st == Found
}

// GetInto appends frame(len) and the value to dst, within its capacity: with Short nothing is appended and info.Size says
// how long the value is; the frame and MaxFrame bytes must fit too. frame may be nil.
func (t *Table) GetInto(h uint64, dst, key []byte, frame Framer) ([]byte, Meta, Status) {
	r := reading{dst: dst, frame: frame}
	st := t.read(h, key, &r)
	if st != Short {
		t.count(st)
	}
	runtime.KeepAlive(t)
	return r.dst, r.info, st
}

// GetRange appends the bytes from to to of the value, both inclusive, negative ones counted from the end.
func (t *Table) GetRange(h uint64, dst, key []byte, from, to int64) ([]byte, Meta, bool) {
	r := reading{dst: dst, grow: true, want: wantRange, from: from, to: to}
	st := t.read(h, key, &r)
	t.count(st)
	runtime.KeepAlive(t)
	return r.dst, r.info, st == Found
}

// Probe describes the record of key without copying its value, and counts a hit or a miss.
func (t *Table) Probe(h uint64, key []byte) (Meta, bool) {
	in, ok := t.Peek(h, key)
	if ok {
		t.count(Found)
	} else {
		t.count(Missing)
	}
	return in, ok
}

// Peek describes the record of key without copying its value; it is not counted.
func (t *Table) Peek(h uint64, key []byte) (Meta, bool) {
	r := reading{want: wantInfo}
	st := t.read(h, key, &r)
	runtime.KeepAlive(t)
	return r.info, st == Found
}

// Prefetch asks for the line of the key's bucket, so that a read that follows soon finds it in the cache. Prefetching several
// keys before reading them overlaps their cache misses.
func (t *Table) Prefetch(h uint64) {
	if lockedReads {
		return
	}
	route := t.laneOf(h).route.Load()
	if b := t.bucketAt(route, bucketOf(h, buckets(route))); b != nil {
		prefetch(unsafe.Pointer(b))
	}
	runtime.KeepAlive(t)
}

// Usage returns the memory of a key's record: its cells and its share of a bucket.
func (t *Table) Usage(h uint64, key []byte) (int, bool) {
	ln := t.laneOf(h)
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if t.closed.Load() {
		return 0, false
	}
	s := t.seek(ln, h, key)
	defer s.home.disown()
	if s.rec == nil || s.expired {
		return 0, false
	}
	return int(t.cellBytes(s.hdr) + ln.index/max(ln.records, 1)), true
}
