package index

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/larder-cache/larder/internal/invariants"
	"github.com/larder-cache/larder/internal/memory"
)

func firstByte(m uint64) int { return bits.TrailingZeros64(m) >> 3 }

// A spot is where a key stands, or that it does not stand anywhere. It is true while the chain is owned.
type spot struct {
	home    *bucket
	at      entry
	ref     memory.Ref
	rec     unsafe.Pointer // nil = no record
	hdr     uint64
	expired bool // there is a record, but for every caller it is absent
}

// seek owns the chain of a key and finds its record, expired or not. The lane is locked.
func (t *Table) seek(ln *lane, h uint64, key []byte) spot {
	s := spot{home: t.home(ln, h)}
	s.home.own()
	s.rec, s.hdr, s.ref, s.at = t.search(s.home, tagOf(h), key)
	t.judge(&s)
	return s
}

// judge says whether the record at the spot is expired.
func (t *Table) judge(s *spot) {
	if s.rec != nil {
		at := expiryAt(s.rec, s.hdr)
		s.expired = at != 0 && at <= t.clk.Now()
	}
}

// A glance is what a writer saw of its key before it locked anything. It is true as long as route and version are.
type glance struct {
	spot
	route   uint64
	version uint32
}

// glance looks for a key without a lock, so that nobody waits for this key's cache misses.
func (t *Table) glance(ln *lane, h uint64, key []byte) (g glance) {
	if lockedReads {
		return g
	}
	g.route = ln.route.Load()
	g.home = t.bucketAt(g.route, bucketOf(h, buckets(g.route)))
	if g.home == nil {
		return g // discarded
	}
	g.version = atomic.LoadUint32(&g.home.version)
	g.rec, g.hdr, g.ref, g.at = t.search(g.home, tagOf(h), key)
	if g.rec != nil {
		// A writer needs the record's second line too, and waits for it when it ends its bracket.
		prefetch(unsafe.Add(g.rec, lineSize))
	}
	loadBarrier()
	return g
}

// lockAt locks the lane, owns the chain of key and finds its record, where the glance saw it if that is still true. The
// lane is locked in any case; open is false when the table is closed, and nothing is owned then.
func (t *Table) lockAt(ln *lane, g *glance, h uint64, key []byte) (s spot, open bool) {
	ln.mu.Lock()
	if t.closed.Load() {
		return spot{}, false
	}
	if v := g.version; g.home != nil && v&(writing|owned) == 0 && ln.route.Load() == g.route &&
		atomic.CompareAndSwapUint32(&g.home.version, v, v|owned) {
		t.judge(&g.spot)
		return g.spot, true
	}
	return t.seek(ln, h, key), true
}

// release ends what lockAt or seek began, splits buckets if the lane has become too full, and wakes the reaper when a
// nearer deadline came in. home is nil when nothing is owned.
func (t *Table) release(ln *lane, home *bucket) {
	if home != nil {
		home.disown()
		t.grow(ln)
	}
	wake := ln.wake
	ln.wake = false
	ln.mu.Unlock()
	if wake {
		t.Wake()
	}
}

// overwrite writes a value over the one of the same key in the same cells, with the lock of no lane: it owns the chain
// just for the copy. It does so only when nothing that the lane counts changes, and reports whether it did.
func (t *Table) overwrite(g *glance, hdr uint64, key, value []byte, expireAt int64) bool {
	if g.rec == nil || g.version&(writing|owned) != 0 || (g.hdr^hdr)&recExpiry != 0 ||
		(g.hdr|hdr)&recLarge != 0 || !fitsOver(g.hdr, hdr) || len(value) > t.maxValue {
		return false
	}
	if hdr&recExpiry != 0 {
		// A deadline that does not come nearer leaves the bounds of the chain and the lane true.
		if before := expiryAt(g.rec, g.hdr); before <= t.clk.Now() || expireAt < before {
			return false
		}
	}
	if !atomic.CompareAndSwapUint32(&g.home.version, g.version, g.version|writing) {
		return false
	}
	storeBarrier()
	open := !t.closed.Load() // Close waits for those who saw it open
	if open {
		t.fill(g.rec, hdr, key, value, expireAt)
	}
	releaseStore(&g.home.version, g.version+change)
	return open
}

// headerOf returns the header of a record in one or more cells.
func headerOf(key, value []byte, expireAt int64, flags uint64) uint64 {
	hdr := uint64(len(value)) | uint64(len(key))<<keyShift | flags
	if expireAt != 0 {
		hdr |= recExpiry
	}
	if small(len(key), len(value), expireAt != 0) > memory.MaxCell {
		hdr |= recLarge | recExpiry
	}
	return hdr
}

// put stores key → value at the spot: over the record that stands there, or as a new one. flags are recInteger and
// recPassive bits. On an error the table is as it was, but for an expired record that stood there. After success the spot no longer says where the record stands.
func (t *Table) put(ln *lane, s *spot, h uint64, key, value []byte, expireAt int64, flags uint64) error {
	if len(key) > t.maxKey {
		return ErrKeyTooLarge
	}
	if len(value) > t.maxValue {
		return ErrValueTooLarge
	}
	hdr := headerOf(key, value, expireAt, flags)
	if s.expired {
		ln.expired++ // whatever happens now, it is gone
		t.remove(ln, s)
	}
	if s.rec != nil && fitsOver(s.hdr, hdr) {
		before := expiryOld(s)
		s.home.begin()
		t.fill(s.rec, hdr, key, value, expireAt)
		t.account(ln, s.home, before, expireAt, 0)
		s.home.end()
		t.verify(ln, s.home)
		return nil
	}
	ref := t.build(ln, hdr, key, value, expireAt)
	if ref == 0 {
		return ErrFull
	}
	return t.publish(ln, s, h, ref, hdr, expireAt)
}

// build makes a record in new cells, 0 at the ceiling.
func (t *Table) build(ln *lane, hdr uint64, key, value []byte, expireAt int64) (ref memory.Ref) {
	if hdr&recLarge != 0 {
		ref = t.allocLarge(ln, len(key)+len(value), nil, chunking{})
	} else {
		ref = t.alloc(ln, small(len(key), len(value), expireAt != 0))
	}
	if ref == 0 {
		ln.refused++
		return 0
	}
	t.fill(t.arena.At(ref), hdr, key, value, expireAt)
	return ref
}

// publish makes a record that is complete the one of its key, in place of the one at the spot or as a new one. At the
// ceiling, where a chain finds no overflow bucket, it frees it.
func (t *Table) publish(ln *lane, s *spot, h uint64, ref memory.Ref, hdr uint64, expireAt int64) error {
	if s.rec == nil {
		if !t.insert(ln, s.home, tagOf(h), ref, expireAt) {
			t.freeRecord(ln, ref, hdr)
			ln.refused++
			return ErrFull
		}
		ln.bytes += t.cellBytes(hdr)
		t.verify(ln, s.home)
		return nil
	}
	t.replace(ln, s, ref, hdr, expireAt)
	t.freeRecord(ln, s.ref, s.hdr)
	t.verify(ln, s.home)
	return nil
}

// replace puts a record that is complete in the place of the one at the spot, whose cells stay the caller's.
func (t *Table) replace(ln *lane, s *spot, ref memory.Ref, hdr uint64, expireAt int64) {
	before := expiryOld(s)
	s.home.begin()
	s.at.set(s.at.b.tags[s.at.i], ref)
	t.account(ln, s.home, before, expireAt, t.cellBytes(hdr)-t.cellBytes(s.hdr))
	s.home.end()
}

func expiryOld(s *spot) int64 { return expiryAt(s.rec, s.hdr) }

// fitsOver reports whether a record with header now can be written over the cells of one with header old.
func fitsOver(old, now uint64) bool {
	if (old|now)&recLarge != 0 {
		return old&now&recLarge != 0 && payloadLen(old) == payloadLen(now)
	}
	return memory.ClassFor(prefix(old)+payloadLen(old)) == memory.ClassFor(prefix(now)+payloadLen(now))
}

// fill writes a whole record into cells that are large enough.
func (t *Table) fill(rec unsafe.Pointer, hdr uint64, key, value []byte, expireAt int64) {
	*(*uint64)(rec) = hdr
	if hdr&recExpiry != 0 {
		*(*int64)(unsafe.Add(rec, headerSize)) = expireAt
	}
	if hdr&recLarge != 0 {
		t.payloadWrite(rec, hdr, key, 0)
		t.payloadWrite(rec, hdr, value, len(key))
		return
	}
	p := prefix(hdr)
	copy(bytesAt(rec, p, len(key)), key)
	copy(bytesAt(rec, p+len(key), len(value)), value)
}

// account follows a change of a record: its deadline from before to after, its cells by grown bytes.
func (t *Table) account(ln *lane, home *bucket, before, after, grown int64) {
	if grown != 0 {
		ln.bytes += grown
	}
	if before != 0 {
		ln.expiring--
	}
	t.arm(ln, home, after)
}

// arm notes a deadline in the bucket and the lane.
func (t *Table) arm(ln *lane, home *bucket, expireAt int64) {
	if expireAt == 0 {
		return
	}
	ln.expiring++
	if hint := t.hintOf(expireAt); home.hint == 0 || hint < home.hint {
		home.hint = hint
	}
	if ln.earliest == 0 || expireAt < ln.earliest {
		ln.earliest = expireAt
	}
	if expireAt < t.wakeAt.Load() {
		ln.wake = true
	}
}

// insert adds a reference to a chain, with a new overflow bucket when it is full. It reports false at the ceiling.
func (t *Table) insert(ln *lane, home *bucket, tag uint8, ref memory.Ref, expireAt int64) bool {
	b := home
	for b.vacancy() < 0 {
		next := t.nextOf(b)
		if next == nil {
			r := t.allocIndex(ln, bucketSize)
			if r == 0 {
				return false
			}
			next = (*bucket)(t.arena.At(r))
			*next = bucket{}
			ln.overflow++
			ln.index += bucketSize
			home.begin()
			b.over = uint32(r)
			home.end()
		}
		b = next
	}
	home.begin()
	entry{b, b.vacancy()}.set(tag, ref)
	t.arm(ln, home, expireAt)
	home.end()
	ln.records++
	ln.changes++
	return true
}

// remove takes the record at the spot away.
func (t *Table) remove(ln *lane, s *spot) {
	if expiryOld(s) != 0 {
		ln.expiring--
	}
	ln.records--
	ln.changes++
	ln.bytes -= t.cellBytes(s.hdr)
	s.home.begin()
	drained := t.vacate(ln, s.home, s.at)
	s.home.end()
	if drained != 0 {
		t.free(ln, drained)
	}
	t.freeRecord(ln, s.ref, s.hdr)
	s.rec, s.expired = nil, false
	t.verify(ln, s.home)
}

// vacate clears an entry and fills it with one of the chain's last bucket, so that overflow buckets drain. It returns an
// overflow bucket that is not needed any more. The caller is between begin and end.
func (t *Table) vacate(ln *lane, home *bucket, e entry) memory.Ref {
	e.clear()
	if home.over == 0 {
		return 0
	}
	prev, last := home, t.nextOf(home)
	for n := t.nextOf(last); n != nil; n = t.nextOf(last) {
		prev, last = last, n
	}
	used := 0
	from := -1
	for i, tag := range last.tags {
		if tag != 0 {
			used++
			from = i
		}
	}
	if from >= 0 && last != e.b {
		e.set(last.tags[from], last.ref(from))
		entry{last, from}.clear()
		used--
	}
	if used > 0 {
		return 0
	}
	r := prev.next()
	prev.over = 0
	ln.overflow--
	ln.index -= bucketSize
	return r
}

func (t *Table) freeRecord(ln *lane, ref memory.Ref, hdr uint64) {
	if hdr&recLarge != 0 {
		t.freeLarge(ln, ref, hdr, false, chunking{})
		return
	}
	t.free(ln, ref)
}

// Set stores value under key until expireAt (milliseconds since the Unix epoch, 0 = for ever). key and value are copied.
// FlagInteger is not allowed here; counters are made by Add and PutInt.
func (t *Table) Set(h uint64, key, value []byte, expireAt int64, fl Flags) error {
	flags := (fl &^ FlagInteger).bits()
	ln := t.laneOf(h)
	g := t.glance(ln, h, key)
	if t.overwrite(&g, headerOf(key, value, expireAt, flags), key, value, expireAt) {
		runtime.KeepAlive(t)
		return nil
	}
	s, open := t.lockAt(ln, &g, h, key)
	err := ErrClosed
	if open {
		err = t.put(ln, &s, h, key, value, expireAt, flags)
	}
	t.release(ln, s.home)
	return err
}

// Delete removes key and reports whether it was there.
func (t *Table) Delete(h uint64, key []byte) bool {
	ln := t.laneOf(h)
	g := t.glance(ln, h, key)
	s, _ := t.lockAt(ln, &g, h, key)
	was := s.rec != nil && !s.expired
	if s.rec != nil {
		if s.expired {
			ln.expired++
		}
		t.remove(ln, &s)
	}
	t.release(ln, s.home)
	return was
}

func (t *Table) verify(ln *lane, home *bucket) {
	if invariants.Enabled {
		t.checkChain(ln, home)
	}
}
