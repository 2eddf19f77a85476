package netbuf

import (
	"sync/atomic"
	"unsafe"

	"github.com/larder-cache/larder/internal/invariants"
)

// Blocks is a loop's private store of blocks in front of a Pool. Only one goroutine may use it at a time. A block taken
// from one Blocks may be given to another of the same pool.
type Blocks struct {
	pool  *Pool
	class [NumClasses]cacheClass

	// vectors are empty backing arrays for the chains of Output: a connection keeps none while it has nothing to write.
	vectors [][][]byte

	moved uint64
}

// cacheClass is the private side of one block size.
type cacheClass struct {
	stack []*byte // the warmest block is last
	limit int     // most blocks the stack holds; 0 = not cached
	out   int64   // blocks taken minus blocks given back here; negative when others' blocks end here

	inflow    int64        // blocks brought in minus blocks sent away; guarded by the pool's class mutex
	published atomic.Int64 // out, as the pool sees it
}

// NewBlocks returns a private store that keeps up to budget bytes of each block size; 0 keeps nothing. Close it when
// its loop ends.
func (p *Pool) NewBlocks(budget int) *Blocks {
	b := &Blocks{pool: p}
	b.SetBudget(budget)
	p.mu.Lock()
	p.caches = append(p.caches, b)
	p.mu.Unlock()
	return b
}

// SetBudget changes how many bytes of each block size are kept, and at once returns what is above it. A size of which
// fewer than two blocks fit is not kept at all.
func (b *Blocks) SetBudget(budget int) {
	for i := range b.class {
		c := &b.class[i]
		c.limit = min(budget/classSize(i), maxCached)
		if c.limit < 2 {
			c.limit = 0
		}
		if len(c.stack) > c.limit {
			b.shed(i, c.limit)
		}
	}
}

// Get returns a block of at least n bytes, len = cap: of the smallest pooled size that fits, or of exactly n bytes when
// none does. Its contents are undefined.
func (b *Blocks) Get(n int) []byte {
	i := classOf(n)
	if i >= NumClasses {
		b.pool.largeCount.Add(1)
		b.pool.largeBytes.Add(int64(n))
		return make([]byte, n)
	}
	c := &b.class[i]
	k := len(c.stack) - 1
	if k < 0 {
		return b.refill(i)
	}
	p := c.stack[k]
	c.stack = c.stack[:k]
	c.out++
	if invariants.Enabled {
		b.pool.guard.taken(p, classSize(i))
	}
	return unsafe.Slice(p, classSize(i))
}

// refill serves Get when the stack is empty.
func (b *Blocks) refill(i int) []byte {
	c := &b.class[i]
	c.out++
	var p *byte
	if n := b.pool.take(i, c, max(c.limit/4, 1)); n > 0 {
		k := len(c.stack) - 1
		p = c.stack[k]
		c.stack = c.stack[:k]
		if invariants.Enabled {
			b.pool.guard.taken(p, classSize(i))
		}
	} else {
		p = b.pool.fresh(i, c)
	}
	return unsafe.Slice(p, classSize(i))
}

// Put gives a block back. The caller keeps no reference. The capacity must be that which Get returned; the length is
// free. A nil block is ignored.
func (b *Blocks) Put(block []byte) {
	size := cap(block)
	if size == 0 {
		return
	}
	i := classOf(size)
	if i >= NumClasses {
		b.pool.largeCount.Add(-1)
		b.pool.largeBytes.Add(int64(-size))
		return
	}
	if invariants.Enabled {
		if size != classSize(i) {
			invariants.Check(false, "block of %d bytes is not from this pool", size)
		}
		b.pool.guard.freed(unsafe.SliceData(block), size)
	}
	c := &b.class[i]
	c.out--
	c.stack = append(c.stack, unsafe.SliceData(block))
	if len(c.stack) > c.limit {
		b.shed(i, c.limit/4)
	}
}

// shed returns all but the keep warmest blocks of class i to the pool, in one operation.
func (b *Blocks) shed(i, keep int) {
	c := &b.class[i]
	n := len(c.stack) - keep
	b.pool.give(i, c, c.stack[:n])
	copy(c.stack, c.stack[n:])
	clear(c.stack[keep:])
	c.stack = c.stack[:keep]
}

// Publish shows the pool's books what was taken and given back since the last call. A loop calls it once per turn; it
// costs four comparisons when the balance is as before.
func (b *Blocks) Publish() {
	for i := range b.class {
		c := &b.class[i]
		if c.published.Load() != c.out {
			c.published.Store(c.out)
		}
	}
}

// Drain returns every cached block to the pool. The store stays usable.
func (b *Blocks) Drain() {
	for i := range b.class {
		if len(b.class[i].stack) > 0 {
			b.shed(i, 0)
		}
	}
	b.vectors = nil
	b.Publish()
}

// Close drains the store and takes it out of the pool's books. Blocks still in use are remembered by the pool and may
// be given back to any other store of it.
func (b *Blocks) Close() {
	b.Drain()
	p := b.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, other := range p.caches {
		if other != b {
			continue
		}
		p.caches = append(p.caches[:k], p.caches[k+1:]...)
		for i := range b.class {
			pc := &p.class[i]
			pc.mu.Lock()
			pc.departed += b.class[i].out
			pc.mu.Unlock()
		}
		return
	}
}

// Moved returns how many bytes the inputs of this store have moved to make room.
func (b *Blocks) Moved() uint64 { return b.moved }

const (
	// vectorLength is the length of chain that is kept for reuse; longer backing arrays are dropped.
	vectorLength = 64
	// maxVectors bounds how many spare backing arrays a store keeps: 64 of 1.5 KiB.
	maxVectors = 64
)

// vector returns an empty backing array for a chain.
func (b *Blocks) vector() [][]byte {
	k := len(b.vectors) - 1
	if k < 0 {
		return make([][]byte, 0, vectorLength)
	}
	v := b.vectors[k]
	b.vectors = b.vectors[:k]
	return v
}

// keepVector takes a backing array back; its elements must be nil.
func (b *Blocks) keepVector(v [][]byte) {
	if cap(v) == vectorLength && len(b.vectors) < maxVectors {
		b.vectors = append(b.vectors, v[:0])
	}
}
