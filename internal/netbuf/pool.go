package netbuf

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	// MinBlock and MaxBlock are the smallest and the largest pooled block, in bytes. Sizes between them are powers of
	// two. Larger requests are served by a block of exactly the size asked for.
	MinBlock = 4 << 10
	MaxBlock = 32 << 10

	// NumClasses is the number of pooled block sizes: 4, 8, 16 and 32 KiB.
	NumClasses = 4

	// DefaultBudget is how many bytes of one block size a loop keeps to itself: 128 blocks of 4 KiB down to 16 of
	// 32 KiB, so at most 2 MiB per loop.
	DefaultBudget = 512 << 10

	// maxCached bounds a private stack however large its budget is: beyond it more blocks only cool the cache.
	maxCached = 512
)

// classSize returns the block size of class i in bytes.
func classSize(i int) int { return MinBlock << i }

// classOf returns the class of the smallest block that holds n bytes; NumClasses or more means none does.
func classOf(n int) int { return bits.Len(uint(max(n, 1)-1) / MinBlock) }

// Pool is what the loops of a server share: per block size a list of free blocks and the books. It is safe for
// concurrent use. The zero value is not ready; see NewPool.
type Pool struct {
	class [NumClasses]poolClass

	largeCount atomic.Int64
	largeBytes atomic.Int64

	mu     sync.Mutex // guards caches; taken before a class's mutex
	caches []*Blocks

	guard guard
}

// poolClass is the shared side of one block size. Its mutex guards every field and, in each cache, the inflow of this
// class.
type poolClass struct {
	mu        sync.Mutex
	free      []*byte
	low       int    // the shortest free list since the last Trim: that many blocks were not needed
	allocated int64  // blocks in existence
	departed  int64  // blocks in use that came from caches which are closed; may be negative
	ops       uint64 // locked operations made for caches

	count atomic.Int64 // len(free), readable without the lock
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{} }

// take moves up to want free blocks onto the stack of c and returns how many came.
func (p *Pool) take(i int, c *cacheClass, want int) int {
	pc := &p.class[i]
	if pc.count.Load() == 0 {
		return 0
	}
	pc.mu.Lock()
	defer pc.mu.Unlock()
	n := min(want, len(pc.free))
	if n == 0 {
		return 0
	}
	keep := len(pc.free) - n
	c.stack = append(c.stack, pc.free[keep:]...)
	clear(pc.free[keep:])
	pc.free = pc.free[:keep]
	pc.low = min(pc.low, keep)
	pc.count.Store(int64(keep))
	pc.ops++
	c.inflow += int64(n)
	c.published.Store(c.out)
	return n
}

// give takes the blocks over from a cache whose class is c.
func (p *Pool) give(i int, c *cacheClass, blocks []*byte) {
	pc := &p.class[i]
	pc.mu.Lock()
	pc.free = append(pc.free, blocks...)
	pc.count.Store(int64(len(pc.free)))
	pc.ops++
	c.inflow -= int64(len(blocks))
	c.published.Store(c.out)
	pc.mu.Unlock()
}

// fresh makes a block that did not exist and charges it to c.
func (p *Pool) fresh(i int, c *cacheClass) *byte {
	block := make([]byte, classSize(i))
	pc := &p.class[i]
	pc.mu.Lock()
	pc.allocated++
	c.inflow++
	c.published.Store(c.out)
	pc.mu.Unlock()
	return unsafe.SliceData(block)
}

// Trim drops the free blocks that nobody needed since the last call and returns their bytes. Called about once a second
// while Free is above zero, it brings the pool down to what the traffic uses, and to nothing when there is none.
func (p *Pool) Trim() (dropped int64) {
	for i := range p.class {
		pc := &p.class[i]
		pc.mu.Lock()
		n := min(pc.low, len(pc.free))
		keep := len(pc.free) - n
		clear(pc.free[keep:])
		pc.free = pc.free[:keep]
		if keep == 0 {
			pc.free = nil
		}
		pc.low = keep
		pc.allocated -= int64(n)
		pc.count.Store(int64(keep))
		pc.mu.Unlock()
		dropped += int64(n) * int64(classSize(i))
	}
	return dropped
}

// Free returns the bytes of free blocks in the pool itself. It takes no lock.
func (p *Pool) Free() (bytes int64) {
	for i := range p.class {
		bytes += p.class[i].count.Load() * int64(classSize(i))
	}
	return bytes
}

// ClassStats are the books of one block size. Counts are blocks. Allocated = InUse + Cached + Free holds in every
// answer of Pool.Stats.
type ClassStats struct {
	Size      int   // bytes of a block
	Allocated int64 // blocks in existence
	InUse     int64 // held by connections
	Cached    int64 // in the private stacks of the loops
	Free      int64 // in the pool
	GlobalOps uint64
}

// Stats are the books of a pool.
type Stats struct {
	Classes    [NumClasses]ClassStats
	Large      int64 // blocks made to measure and not yet given back
	LargeBytes int64
}

// Bytes returns the bytes of all blocks in existence, those made to measure included.
func (s Stats) Bytes() int64 {
	total := s.LargeBytes
	for _, c := range s.Classes {
		total += c.Allocated * int64(c.Size)
	}
	return total
}

// Since returns the differences to an earlier answer.
func (s Stats) Since(base Stats) Stats {
	for i := range s.Classes {
		c, b := &s.Classes[i], &base.Classes[i]
		c.Allocated -= b.Allocated
		c.InUse -= b.InUse
		c.Cached -= b.Cached
		c.Free -= b.Free
		c.GlobalOps -= b.GlobalOps
	}
	s.Large -= base.Large
	s.LargeBytes -= base.LargeBytes
	return s
}

// Stats returns the books. What a loop took and gave back since its last Publish counts as if it had not happened yet;
// the sums agree all the same.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Stats{Large: p.largeCount.Load(), LargeBytes: p.largeBytes.Load()}
	for i := range p.class {
		pc := &p.class[i]
		pc.mu.Lock()
		cs := ClassStats{
			Size: classSize(i), Allocated: pc.allocated, Free: int64(len(pc.free)),
			InUse: pc.departed, GlobalOps: pc.ops,
		}
		for _, b := range p.caches {
			c := &b.class[i]
			out := c.published.Load()
			cs.InUse += out
			cs.Cached += c.inflow - out
		}
		pc.mu.Unlock()
		s.Classes[i] = cs
	}
	return s
}
