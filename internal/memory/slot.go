package memory

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A header describes a slot. Its fields are protected by the lock of the slot's class, but for inUse and class.
type header struct {
	class  atomic.Uint32
	out    uint32 // cells handed out by the class
	bump   uint32 // cells from here on were never handed out
	free   Ref    // list of returned cells, linked through their first four bytes
	next   int32  // list of slots of the class with free cells: 1 + slot, 0 = end
	prev   int32
	listed bool
	_      [36]byte
	inUse  [SlotSize / minCell / 64]atomic.Uint64
}

// Two cache lines' worth of bookkeeping at most stand before the bitmap.
var _ = [1]struct{}{}[unsafe.Sizeof(header{})-2112]

// A class hands out cells of one size.
type class struct {
	mu    sync.Mutex
	avail int32 // list of slots with free cells: 1 + slot
	empty int32 // drained slots kept by the class: at most one
	out   int64 // cells handed out, all slots
	_     [40]byte
}

// The pool owns slots that no class has, and commits groups.
type pool struct {
	mu      sync.Mutex
	a       *Arena
	free    []uint64 // bitmap of free committed slots
	low     int      // no word below this one has a free slot
	groups  int      // committed
	charged int64
}

func (p *pool) init(a *Arena) {
	p.a = a
	p.free = make([]uint64, (a.slots+63)/64)
}

const groupCost = GroupSize + slotsPerGroup*int64(unsafe.Sizeof(header{}))

func (p *pool) committedBytes() int64 { return int64(p.groups) * groupCost }

// take returns the lowest free slot, committing a group when there is none; -1 at the ceiling.
func (p *pool) take() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := p.lowest(); i >= 0 {
		return i
	}
	if (p.groups+1)*slotsPerGroup > p.a.slots || p.committedBytes()+groupCost+p.charged > p.a.limit {
		return -1
	}
	if err := p.a.mapping.commit(uintptr(p.groups)*GroupSize, GroupSize); err != nil {
		return -1
	}
	first := p.groups * slotsPerGroup
	for i := first; i < first+slotsPerGroup; i++ {
		p.free[i/64] |= 1 << (i % 64)
	}
	p.low = min(p.low, first/64)
	p.groups++
	// Readers may follow references into the group from here on.
	p.a.committed.Store(uint32(uint64(p.groups) * GroupSize >> p.a.shift))
	return p.lowest()
}

func (p *pool) lowest() int {
	for ; p.low < len(p.free); p.low++ {
		if w := p.free[p.low]; w != 0 {
			b := bits.TrailingZeros64(w)
			p.free[p.low] &^= 1 << b
			return p.low*64 + b
		}
	}
	p.low = len(p.free)
	return -1
}

func (p *pool) give(slot int) {
	p.mu.Lock()
	p.free[slot/64] |= 1 << (slot % 64)
	p.low = min(p.low, slot/64)
	p.mu.Unlock()
}

// take hands out up to n cells of class c, linked through their first four bytes; fewer only at the ceiling.
func (a *Arena) take(c Class, n int) (head Ref, got int) {
	k, s := &a.classes[c], &a.shapes[c]
	k.mu.Lock()
	defer k.mu.Unlock()
	for got < n {
		if k.avail == 0 {
			if k.empty != 0 {
				k.list(a, int(k.empty-1))
				k.empty = 0
			} else if slot := a.pool.take(); slot >= 0 {
				h := a.header(slot)
				h.class.Store(uint32(c))
				h.out, h.bump, h.free = 0, 0, 0
				k.list(a, slot)
			} else {
				break
			}
		}
		slot := int(k.avail - 1)
		h := a.header(slot)
		for got < n {
			var r Ref
			switch {
			case h.free != 0:
				r = h.free
				h.free = *(*Ref)(a.At(r))
			case h.bump < s.cells:
				r = a.refAt(slot, h.bump*s.size)
				h.bump++
			}
			if r == 0 {
				k.unlist(a, slot)
				break
			}
			h.out++
			*(*Ref)(a.At(r)) = head
			head = r
			got++
		}
	}
	k.out += int64(got)
	return head, got
}

// put takes back n cells of class c that are linked through their first four bytes.
func (a *Arena) put(c Class, head Ref, n int) {
	k := &a.classes[c]
	k.mu.Lock()
	defer k.mu.Unlock()
	k.out -= int64(n)
	for range n {
		next := *(*Ref)(a.At(head))
		slot := int(uint64(head-1) << (a.shift & 63) / SlotSize)
		h := a.header(slot)
		*(*Ref)(a.At(head)) = h.free
		h.free = head
		h.out--
		if !h.listed {
			k.list(a, slot)
		}
		if h.out == 0 {
			k.retire(a, slot)
		}
		head = next
	}
}

// retire keeps one drained slot for the class and gives any other to the pool.
func (k *class) retire(a *Arena, slot int) {
	k.unlist(a, slot)
	h := a.header(slot)
	h.free, h.bump = 0, 0
	if k.empty == 0 {
		k.empty = int32(slot + 1)
		return
	}
	// The lower one stays: low slots fill first.
	if int(k.empty-1) > slot {
		k.empty, slot = int32(slot+1), int(k.empty-1)
	}
	a.pool.give(slot)
}

func (k *class) list(a *Arena, slot int) {
	h := a.header(slot)
	h.prev, h.next, h.listed = 0, k.avail, true
	if k.avail != 0 {
		a.header(int(k.avail - 1)).prev = int32(slot + 1)
	}
	k.avail = int32(slot + 1)
}

func (k *class) unlist(a *Arena, slot int) {
	h := a.header(slot)
	if !h.listed {
		return
	}
	if h.prev != 0 {
		a.header(int(h.prev - 1)).next = h.next
	} else {
		k.avail = h.next
	}
	if h.next != 0 {
		a.header(int(h.next - 1)).prev = h.prev
	}
	h.prev, h.next, h.listed = 0, 0, false
}

// dropEmpty gives the drained slot that the class keeps to the pool.
func (k *class) dropEmpty(a *Arena) {
	k.mu.Lock()
	slot := int(k.empty) - 1
	k.empty = 0
	k.mu.Unlock()
	if slot >= 0 {
		a.pool.give(slot)
	}
}
