package index

import (
	"strconv"
	"sync"
	"unsafe"

	"github.com/larder-cache/larder/internal/memory"
)

// A Txn is exclusive access to one key. It lives in the key's lane, whose lock it holds beside the key's chain, so it costs
// no allocation; it is valid until Unlock. Readers go on: they see the record before or after each change.
type Txn struct {
	t      *Table
	ln     *lane
	h      uint64
	key    []byte
	s      spot
	stale  bool // s is from before a put
	closed bool
}

// Lock takes the lane of key. The caller does not block, does not lock another key (see Guard), and calls Unlock soon.
// key must stay as it is until then. On a closed table nothing is found and changes fail with ErrClosed.
func (t *Table) Lock(h uint64, key []byte) *Txn {
	ln := t.laneOf(h)
	g := t.glance(ln, h, key)
	s, open := t.lockAt(ln, &g, h, key)
	x := &ln.txn
	*x = Txn{t: t, ln: ln, h: h, key: key, s: s, closed: !open}
	return x
}

// Unlock ends the exclusive access.
func (x *Txn) Unlock() {
	t, ln, home := x.t, x.ln, x.s.home
	*x = Txn{}
	t.release(ln, home)
}

// Found reports whether the key has a record that is not expired.
func (x *Txn) Found() bool {
	x.look()
	return x.s.rec != nil && !x.s.expired
}

// Meta describes the record; the zero Meta when there is none.
func (x *Txn) Meta() Meta {
	if !x.Found() {
		return Meta{}
	}
	return x.t.describe(x.s.rec, x.s.hdr)
}

// Append appends the value, a counter as decimal text.
func (x *Txn) Append(dst []byte) []byte {
	if !x.Found() {
		return dst
	}
	return x.appendRange(dst, 0, x.Meta().Size)
}

func (x *Txn) appendRange(dst []byte, i, j int) []byte {
	rec, hdr := x.s.rec, x.s.hdr
	switch {
	case hdr&recInteger != 0:
		var b [20]byte
		v, _ := x.t.intAt(rec, memory.SlotSize, hdr)
		return append(dst, strconv.AppendInt(b[:0], v, 10)[i:j]...)
	case hdr&recLarge != 0:
		at := len(dst)
		dst = append(dst, make([]byte, j-i)...)
		x.t.payloadRead(rec, memory.SlotSize, hdr, dst[at:], keyLen(hdr)+i)
		return dst
	default:
		return append(dst, bytesAt(rec, prefix(hdr)+keyLen(hdr)+i, j-i)...)
	}
}

// Int returns the value as an integer: a counter's, or a string's in canonical decimal form. Without a record it is 0.
func (x *Txn) Int() (int64, error) {
	if !x.Found() {
		return 0, nil
	}
	rec, hdr := x.s.rec, x.s.hdr
	if hdr&recInteger != 0 {
		v, _ := x.t.intAt(rec, memory.SlotSize, hdr)
		return v, nil
	}
	if valueLen(hdr) > 20 {
		return 0, ErrNotInteger
	}
	var b [20]byte
	v, ok := ParseInt(x.appendRange(b[:0], 0, valueLen(hdr)))
	if !ok {
		return 0, ErrNotInteger
	}
	return v, nil
}

// ParseInt reads a canonical decimal int64: no space, no plus sign, no leading zero, no "-0".
func ParseInt(b []byte) (int64, bool) {
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' && len(b) > 1 {
		return 0, false
	}
	n := uint64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	if len(digits) < len(b) {
		return -int64(n), n <= 1<<63
	}
	return int64(n), n < 1<<63
}

// Put stores a value in place of whatever there is.
func (x *Txn) Put(value []byte, expireAt int64, fl Flags) error {
	return x.put(value, expireAt, (fl &^ FlagInteger).bits())
}

// PutInt stores a counter in place of whatever there is.
func (x *Txn) PutInt(v, expireAt int64, fl Flags) error {
	return x.put(intBytes(&v), expireAt, (fl | FlagInteger).bits())
}

func (x *Txn) put(value []byte, expireAt int64, flags uint64) error {
	if x.closed {
		return ErrClosed
	}
	x.look()
	if err := x.t.put(x.ln, &x.s, x.h, x.key, value, expireAt, flags); err != nil {
		return err
	}
	x.stale = true
	return nil
}

// look finds the record again after a put. Most callers are done then, so it waits until it is asked.
func (x *Txn) look() {
	if x.stale {
		x.s, x.stale = x.t.seek(x.ln, x.h, x.key), false
	}
}

// SetExpire changes the deadline only; 0 = never. A record that has none may need a larger cell: with ErrFull it stays as
// it was.
func (x *Txn) SetExpire(expireAt int64) error {
	if x.closed {
		return ErrClosed
	}
	if !x.Found() {
		return nil
	}
	hdr := x.s.hdr
	if hdr&recExpiry != 0 {
		// The word is there. Zero in it means never, so that taking the deadline away needs no other cell.
		before := expiryOld(&x.s)
		x.s.home.begin()
		*(*int64)(unsafe.Add(x.s.rec, headerSize)) = expireAt
		x.t.account(x.ln, x.s.home, before, expireAt, 0)
		x.s.home.end()
		x.refresh()
		return nil
	}
	if expireAt == 0 {
		return nil
	}
	// The value moves by the width of the deadline: through a scratch, because the cell may be the same.
	b := scratches.Get().(*[]byte)
	defer scratches.Put(b)
	value := append((*b)[:0], bytesAt(x.s.rec, prefix(hdr)+keyLen(hdr), valueLen(hdr))...)
	return x.put(value, expireAt, hdr&(recInteger|recPassive))
}

// scratches hold a value of any record in one cell.
var scratches = sync.Pool{New: func() any {
	b := make([]byte, 0, memory.MaxCell)
	return &b
}}

// refresh looks at the record again after a change that left it in its place.
func (x *Txn) refresh() {
	at := expiryOld(&x.s)
	x.s.expired = at != 0 && at <= x.t.clk.Now()
}

// WriteAt writes p at off, with zeros between the value's end and off, keeps the deadline, and creates the key when it is
// missing. A counter becomes a string, a copy from a peer a record of our own.
func (x *Txn) WriteAt(off int, p []byte) error {
	if x.closed {
		return ErrClosed
	}
	t := x.t
	if len(x.key) > t.maxKey {
		return ErrKeyTooLarge
	}
	old := x.Meta()
	if off < 0 || off > t.maxValue || len(p) > t.maxValue-off {
		return ErrValueTooLarge
	}
	size := max(old.Size, off+len(p))
	hdr := uint64(size) | uint64(len(x.key))<<keyShift
	if x.Found() {
		hdr |= x.s.hdr & recExpiry
	} else if x.s.rec != nil {
		x.Delete() // its bytes and its deadline are the past
	}
	if small(len(x.key), size, hdr&recExpiry != 0) > memory.MaxCell {
		hdr |= recLarge | recExpiry
	}
	if !x.Found() || x.s.hdr&recInteger != 0 {
		return x.rewrite(hdr, old, off, p)
	}
	switch {
	case hdr&x.s.hdr&recLarge != 0:
		return x.writeLarge(hdr, old.Size, off, p)
	case hdr&recLarge == 0 && fitsOver(x.s.hdr, hdr):
		x.s.home.begin()
		*(*uint64)(x.s.rec) = hdr
		v := bytesAt(x.s.rec, prefix(hdr)+keyLen(hdr), size)
		clear(v[min(old.Size, size):])
		copy(v[off:], p)
		x.s.home.end()
		x.s.hdr = hdr
		return nil
	default:
		return x.rewrite(hdr, old, off, p)
	}
}

// rewrite is WriteAt into new cells. The old value, if any, is a counter or lies in one cell; the new one may be large, and
// is built in its place so that only its cells are needed.
func (x *Txn) rewrite(hdr uint64, old Meta, off int, p []byte) error {
	t, ln := x.t, x.ln
	b := scratches.Get().(*[]byte)
	defer scratches.Put(b)
	before := x.Append((*b)[:0])
	size := valueLen(hdr)
	var ref memory.Ref
	if hdr&recLarge != 0 {
		ref = t.allocLarge(ln, payloadLen(hdr), nil, chunking{})
	} else {
		ref = t.alloc(ln, small(len(x.key), size, hdr&recExpiry != 0))
	}
	if ref == 0 {
		ln.refused++
		return ErrFull
	}
	rec := t.arena.At(ref)
	if hdr&recLarge == 0 {
		t.fill(rec, hdr, x.key, nil, old.ExpireAt)
		v := bytesAt(rec, prefix(hdr)+len(x.key), size)
		clear(v[copy(v, before):])
		copy(v[off:], p)
	} else {
		t.fill(rec, hdr, x.key, before, old.ExpireAt)
		t.payloadZero(rec, hdr, len(x.key)+len(before), size-len(before))
		t.payloadWrite(rec, hdr, p, len(x.key)+off)
	}
	x.stale = true
	return t.publish(ln, &x.s, x.h, ref, hdr, old.ExpireAt)
}

// writeLarge is WriteAt for a record that is and stays large: chunks that keep their place are written in it.
func (x *Txn) writeLarge(hdr uint64, oldSize, off int, p []byte) error {
	t, ln := x.t, x.ln
	key := keyLen(hdr)
	before, after := chunkingOf(payloadLen(x.s.hdr)), chunkingOf(payloadLen(hdr))
	if payloadLen(hdr) == payloadLen(x.s.hdr) {
		// The header may differ in its flags.
		x.s.home.begin()
		*(*uint64)(x.s.rec) = hdr
		t.payloadWrite(x.s.rec, hdr, p, key+off)
		x.s.home.end()
		x.s.hdr = hdr
		return nil
	}
	ref := t.allocLarge(ln, payloadLen(hdr), x.s.rec, before)
	if ref == 0 {
		ln.refused++
		return ErrFull
	}
	oldRef, oldHdr, oldRec := x.s.ref, x.s.hdr, x.s.rec
	rec := t.arena.At(ref)
	x.s.home.begin()
	*(*uint64)(rec) = hdr
	*(*int64)(unsafe.Add(rec, headerSize)) = expiryAt(oldRec, oldHdr)
	// Payload in chunks that moved.
	at := 0
	for i := range after.count() {
		n := min(after.size(i), payloadLen(oldHdr)-at)
		for done := 0; !sameChunk(after, before, i) && done < n; {
			src := t.piece(oldRec, memory.SlotSize, payloadLen(oldHdr), at+done)
			src = src[:min(len(src), n-done)]
			t.payloadWrite(rec, hdr, src, at+done)
			done += len(src)
		}
		at += after.size(i)
	}
	if gap := off - oldSize; gap > 0 {
		t.payloadZero(rec, hdr, key+oldSize, gap)
	}
	t.payloadWrite(rec, hdr, p, key+off)
	x.s.at.set(tagOf(x.h), ref)
	ln.bytes += t.cellBytes(hdr) - t.cellBytes(oldHdr)
	x.s.home.end()
	t.freeLarge(ln, oldRef, oldHdr, true, after)
	x.s.ref, x.s.rec, x.s.hdr = ref, rec, hdr
	return nil
}

// Delete removes the record and reports whether there was one.
func (x *Txn) Delete() bool {
	x.look()
	if x.s.rec == nil {
		return false
	}
	was := x.Found()
	if !was {
		x.ln.expired++
	}
	x.t.remove(x.ln, &x.s)
	return was
}

// Add adds delta to the counter of key, which starts at 0, and returns the sum. A string in canonical decimal form becomes
// a counter. rearm sets the deadline to expireAt; otherwise a deadline stays.
func (t *Table) Add(h uint64, key []byte, delta, expireAt int64, rearm bool) (int64, error) {
	x := t.Lock(h, key)
	defer x.Unlock()
	v, err := x.Int()
	if err != nil {
		return 0, err
	}
	sum := v + delta
	if delta > 0 && sum < v || delta < 0 && sum > v {
		return 0, ErrOverflow
	}
	in := x.Meta()
	if !rearm {
		expireAt = in.ExpireAt
	}
	if err := x.PutInt(sum, expireAt, in.Flags&^FlagPassive); err != nil {
		return 0, err
	}
	return sum, nil
}
