package index

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// A cursor is a place in an order that growth does not change: lanes by number, and within a lane the records by their
// low hash bits read backwards. In that order a bucket is always an interval, and a split cuts one interval in two.
//
//	cursor = lane << 25 | position, 31 bits
const (
	positionBits = 25
	positions    = 1 << positionBits
	maxCursor    = Lanes<<positionBits - 1

	// emptyBudget is how many buckets without records a call may pass in addition to ten per record asked for.
	emptyBudget = 512
)

func positionOf(h uint64) uint32 { return bits.Reverse32(uint32(h)) >> (32 - positionBits) }

// interval returns the bucket that covers a position, and the position at which the next one begins.
func interval(pos, n uint32) (bucketNo, next uint32) {
	h := bits.Reverse32(pos << (32 - positionBits))
	width := bits.Len32(n - 1)
	bucketNo = h & (1<<width - 1)
	// Of a pair whose upper half does not exist yet the lower one covers both intervals.
	if half := uint32(1) << width >> 1; bucketNo|half >= n {
		width--
		bucketNo &= half - 1
	}
	shift := positionBits - min(width, positionBits)
	return bucketNo, (pos>>shift + 1) << shift
}

// A found is a record that a walk copied, but for a long value.
type found struct {
	pos      uint32
	key, end int // key = buf[key:key+keyLen], value = buf[key+keyLen:end]
	keyLen   int
	hash     uint64
	long     bool // the value is read when its turn comes
	info     Meta
}

// A gathering is the scratch of one walk.
type gathering struct {
	buf  []byte
	recs []found
	long []byte
}

var gatherings = sync.Pool{New: func() any { return new(gathering) }}

const (
	// keptGathering is the largest scratch in bytes that is kept for the next walk.
	keptGathering = 1 << 20
	// longValue is the length in bytes from which a walk does not copy a value under the lane's lock, so that what it
	// copies there is bounded by the records of a chain and not by their sizes.
	longValue = 16 << 10
)

// keep puts the scratch away for the next walk.
func (g *gathering) keep() {
	if cap(g.buf) <= keptGathering {
		gatherings.Put(g)
	}
}

// Scan walks on from cursor (0 starts) until it gave about count records to fn, and returns the cursor to go on with, 0
// at the end. Every record that is there during the whole walk is given at least once; one that is given may be given
// again. No lock is held in fn, which may change the table; key and value are its own only until it returns. With
// values false no value is copied and fn gets nil. When fn returns false the walk stops, after at most the few records (in
// practice none) that share a cursor with that one, and the next cursor goes on right after.
func (t *Table) Scan(cursor uint64, count int, values bool, fn func(key, value []byte, info Meta) bool) (uint64, error) {
	if cursor > maxCursor {
		return 0, ErrCursor
	}
	count = max(count, 1)
	budget := emptyBudget + 10*min(count, 1<<20)
	g := gatherings.Get().(*gathering)
	defer g.keep()
	number, pos := uint32(cursor>>positionBits), uint32(cursor%positions)
	given, stopped := 0, false
	for number < Lanes {
		next, err := t.gather(g, &t.lanes[number], pos, values)
		if err != nil {
			return 0, err
		}
		for i, f := range g.recs {
			key, value := g.buf[f.key:f.key+f.keyLen], []byte(nil)
			there := true
			if f.long {
				value, f.info, there = t.longValue(g, f.hash, key)
			} else if values {
				value = g.buf[f.key+f.keyLen : f.end]
			}
			if there {
				given++
				stopped = !fn(key, value, f.info) || stopped
			}
			if !stopped {
				continue
			}
			if i+1 == len(g.recs) {
				return t.cursor(number, next), nil
			}
			// Records at one position cannot be told apart by a cursor: a stop waits for the last of them.
			if p := g.recs[i+1].pos; p > f.pos {
				return uint64(number)<<positionBits | uint64(p), nil
			}
		}
		if next >= positions {
			number, pos = number+1, 0
		} else {
			pos = next
		}
		budget--
		if given >= count || budget <= 0 {
			break
		}
	}
	runtime.KeepAlive(t)
	return t.cursor(number, pos), nil
}

// longValue reads a value that gather left out. It may be another one by now, or gone.
func (t *Table) longValue(g *gathering, h uint64, key []byte) ([]byte, Meta, bool) {
	r := reading{dst: g.long[:0], grow: true}
	st := t.read(h, key, &r)
	if cap(r.dst) <= keptGathering {
		g.long = r.dst
	}
	return r.dst, r.info, st == Found
}

func (t *Table) cursor(number, pos uint32) uint64 {
	if pos >= positions {
		number, pos = number+1, 0
	}
	if number >= Lanes {
		return 0
	}
	return uint64(number)<<positionBits | uint64(pos)
}

// gather copies the records of the bucket at pos, from pos on, in the order of the walk. An empty lane is one step.
func (t *Table) gather(g *gathering, ln *lane, pos uint32, values bool) (uint32, error) {
	g.buf, g.recs = g.buf[:0], g.recs[:0]
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if t.closed.Load() {
		return 0, ErrClosed
	}
	if ln.records == 0 {
		return positions, nil
	}
	route := ln.route.Load()
	no, next := interval(pos, buckets(route))
	now := t.clk.Now()
	home := t.bucketAt(route, no)
	if home.vacant() {
		return next, nil
	}
	home.own()
	defer home.disown()
	for b := home; b != nil; b = t.nextOf(b) {
		for i, tag := range b.tags {
			if tag == 0 {
				continue
			}
			rec := t.arena.At(b.ref(i))
			hdr := headerAt(rec)
			if at := expiryAt(rec, hdr); at != 0 && at <= now {
				continue
			}
			f := found{key: len(g.buf), keyLen: keyLen(hdr), info: t.describe(rec, hdr)}
			x := Txn{t: t, s: spot{rec: rec, hdr: hdr}}
			g.buf = append(g.buf, t.keyOf(rec, hdr, nil)...)
			f.hash = t.Hash(g.buf[f.key:])
			f.pos = positionOf(f.hash)
			if f.pos < pos {
				g.buf = g.buf[:f.key]
				continue
			}
			if f.long = values && f.info.Size >= longValue; values && !f.long {
				g.buf = x.appendRange(g.buf, 0, f.info.Size)
			}
			f.end = len(g.buf)
			g.recs = append(g.recs, f)
		}
	}
	slices.SortFunc(g.recs, func(a, b found) int { return cmp.Compare(a.pos, b.pos) })
	return next, nil
}

// Random appends a key picked at random among the records that are not expired; ok is false when there is none.
func (t *Table) Random(dst []byte) (_ []byte, ok bool) {
	g := gatherings.Get().(*gathering)
	defer g.keep()
	number, pos := rand.N[uint32](Lanes), rand.N[uint32](positions)
	// Walk round from a random place to the first bucket with a record.
	for range Lanes + 1 {
		for pos < positions {
			next, err := t.gather(g, &t.lanes[number%Lanes], pos, false)
			if err != nil {
				return dst, false
			}
			if len(g.recs) > 0 {
				f := g.recs[rand.N(len(g.recs))]
				return append(dst, g.buf[f.key:f.key+f.keyLen]...), true
			}
			pos = next
		}
		number, pos = number+1, 0
	}
	return dst, false
}
