package index

import (
	"encoding/binary"
	"math/bits"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/larder-cache/larder/internal/invariants"
	"github.com/larder-cache/larder/internal/memory"
)

const (
	bucketSize    = 64 // one cache line
	bucketEntries = 10

	// hopsBlind is how many buckets of a chain a reader follows between two looks at its version.
	hopsBlind = 64
)

// A bucket is one cache line.
//
//	0      4      8        18     20     24                64
//	├──────┼──────┼────────┼──────┼──────┼─────────────────┤
//	│version│ hint │ tags×10│ spare│ over │ references × 10 │
//
// The version of a home bucket covers its whole chain of overflow buckets, whose own versions and hints are unused.
type bucket struct {
	version uint32 // see own and begin
	hint    uint32 // lower bound of the earliest expiry in the chain, see hintOf; 0 = nothing expires
	tags    [bucketEntries]uint8
	_       uint16
	over    uint32 // memory.Ref of the next bucket of the chain
	refs    [bucketEntries]uint32
}

// More or less than a line would cost a second cache miss per read.
var _ = [1]struct{}{}[unsafe.Sizeof(bucket{})-bucketSize]

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// matches returns a bit at 8*i+7 for each tag i that may equal tag; a false match is possible and harmless, a missed one
// is not possible. The first result covers tags 0 to 7, the second 8 and 9.
func (b *bucket) matches(tag uint8) (uint64, uint64) {
	p := uint64(tag) * lowBits
	x := binary.LittleEndian.Uint64(b.tags[:8]) ^ p
	y := (uint64(binary.LittleEndian.Uint16(b.tags[8:])) ^ p&0xFFFF) | 0xFFFF_FFFF_FFFF_0000
	return (x - lowBits) &^ x & highBits, (y - lowBits) &^ y & highBits
}

// vacancy returns the first free entry, or -1.
func (b *bucket) vacancy() int {
	for i, t := range b.tags {
		if t == 0 {
			return i
		}
	}
	return -1
}

// vacant reports whether a chain has no record. The lane is locked.
func (b *bucket) vacant() bool { return b.tags == [bucketEntries]uint8{} && b.over == 0 }

func (b *bucket) ref(i int) memory.Ref { return memory.Ref(atomic.LoadUint32(&b.refs[i])) }

func (b *bucket) next() memory.Ref { return memory.Ref(atomic.LoadUint32(&b.over)) }

// Bits of a version.
const (
	writing = 1 // somebody is changing the chain: readers repeat
	owned   = 2 // the holder of the lane's lock has the chain to itself: writers without that lock keep out
	change  = 4 // each change adds this much
)

// own keeps writers that do not hold the lane's lock out of the chain, until disown. The caller holds the lane's lock; it
// may own the chain already. Only a writer that copies one value can be inside, so the wait is short.
func (b *bucket) own() {
	for try := 0; ; try++ {
		v := atomic.LoadUint32(&b.version)
		if v&owned != 0 || v&writing == 0 && atomic.CompareAndSwapUint32(&b.version, v, v|owned) {
			return
		}
		pause(try)
	}
}

// disown ends own. The caller owns the chain: without that a writer that copies one value could be inside, and the version
// that it leaves would be lost.
func (b *bucket) disown() {
	if invariants.Enabled {
		invariants.Check(b.version&owned != 0, "a chain is given up at version %d that nobody owns", b.version)
	}
	releaseStore(&b.version, b.version&^owned)
}

// isOwned reports whether the chain is owned. The caller holds the lane's lock, so nobody else changes that.
func (b *bucket) isOwned() bool { return atomic.LoadUint32(&b.version)&owned != 0 }

// begin makes readers of the chain repeat. The caller owns the chain.
func (b *bucket) begin() {
	if invariants.Enabled {
		invariants.Check(b.version&(writing|owned) == owned, "a change begins in a chain at version %d", b.version)
	}
	releaseStore(&b.version, b.version|writing)
	storeBarrier()
}

// end lets readers in again.
func (b *bucket) end() { releaseStore(&b.version, b.version+change-writing) }

// pause passes time until a writer without the lane's lock is done. It may have lost its thread or its processor.
func pause(try int) {
	switch {
	case try < 100:
	case try < 1000:
		runtime.Gosched()
	default:
		time.Sleep(20 * time.Microsecond)
	}
}

// empty clears all but the version, which must never pass through another value while readers look.
func (b *bucket) empty() {
	b.hint, b.over = 0, 0
	b.tags = [bucketEntries]uint8{}
	b.refs = [bucketEntries]uint32{}
}

// An entry names one place of a chain.
type entry struct {
	b *bucket
	i int
}

func (e entry) set(tag uint8, r memory.Ref) {
	atomic.StoreUint32(&e.b.refs[e.i], uint32(r))
	e.b.tags[e.i] = tag
}

func (e entry) clear() { e.set(0, 0) }

// tagOf takes eight hash bits below those that choose the lane; 0 marks a free entry, so it becomes 1.
func tagOf(h uint64) uint8 {
	t := uint8(h >> (64 - laneBits - 8))
	if t == 0 {
		return 1
	}
	return t
}

// bucketOf maps a hash to one of n buckets by linear hashing: as many low bits as n needs, one fewer where that bucket
// does not exist yet.
func bucketOf(h uint64, n uint32) uint32 {
	mask := uint32(1)<<bits.Len32(n-1) - 1
	i := uint32(h) & mask
	if i >= n {
		i &= mask >> 1
	}
	return i
}
