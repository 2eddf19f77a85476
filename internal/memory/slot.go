package memory

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// A header describes a slot. Its fields are protected by the lock of the slot's class, but for inUse.
type header struct {
	out    uint32 // cells handed out by the class
	bump   uint32 // cells from here on were never handed out
	free   Ref    // list of returned cells, linked through their first four bytes
	next   int32  // list of slots of the class with free cells, or of its drained slots: 1 + slot, 0 = end
	prev   int32
	listed bool
	_      [40]byte
	inUse  [SlotSize / minCell / 64]atomic.Uint64
}

// One cache line of bookkeeping stands before the bitmap.
var _ = [1]struct{}{}[unsafe.Sizeof(header{})-lineSize-SlotSize/minCell/8]

const lineSize = 64

// victim in the kind of a slot says that it is being emptied: its cells are not handed out again.
const victim = 1 << 8

// A class hands out cells of one size.
type class struct {
	mu      sync.Mutex
	avail   int32  // list of slots with free cells: 1 + slot
	drained int32  // list of empty slots that the class keeps
	kept    int32  // their number
	slots   int32  // of the class
	peak    int32  // most slots since the arena was made
	out     int64  // cells handed out, all slots
	puts    uint64 // times that cells came back
	_       [24]byte
}

// take hands out up to n cells of class c, linked through their first four bytes; fewer only at the ceiling.
func (a *Arena) take(c Class, n int) (head Ref, got int) {
	k, s := &a.classes[c], &a.shapes[c]
	k.mu.Lock()
	defer k.mu.Unlock()
	for got < n {
		if k.avail == 0 && !k.refill(a, c) {
			break
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

// refill lists a slot: one that the class kept, or one from the pool.
func (k *class) refill(a *Arena, c Class) bool {
	if k.drained != 0 {
		slot := int(k.drained - 1)
		k.drained = a.header(slot).next
		k.kept--
		k.list(a, slot)
		return true
	}
	slot := a.pool.take(c.purpose())
	if slot < 0 {
		return false
	}
	h := a.header(slot)
	h.out, h.bump, h.free = 0, 0, 0
	a.kinds[slot].Store(uint32(c))
	k.slots++
	k.peak = max(k.peak, k.slots)
	k.list(a, slot)
	return true
}

// put takes back n cells of class c that are linked through their first four bytes.
func (a *Arena) put(c Class, head Ref, n int) {
	k := &a.classes[c]
	k.mu.Lock()
	defer k.mu.Unlock()
	k.out -= int64(n)
	k.puts++
	for range n {
		next := *(*Ref)(a.At(head))
		slot, _ := a.locate(head)
		h := a.header(slot)
		*(*Ref)(a.At(head)) = h.free
		h.free = head
		h.out--
		emptied := a.kinds[slot].Load()&victim != 0
		if !h.listed && !emptied {
			k.list(a, slot)
		}
		if h.out == 0 {
			k.retire(a, slot, emptied)
		}
		head = next
	}
	a.reclaim.note()
}

// retire keeps a drained slot for the class, or gives it to all classes when the class keeps enough.
func (k *class) retire(a *Arena, slot int, emptied bool) {
	k.unlist(a, slot)
	h := a.header(slot)
	h.free, h.bump = 0, 0
	if !emptied && int(k.kept) < a.reclaim.KeepPerClass {
		h.next, k.drained = k.drained, int32(slot+1)
		k.kept++
		return
	}
	k.give(a, slot)
}

// give returns a drained slot to all classes.
func (k *class) give(a *Arena, slot int) {
	k.slots--
	a.kinds[slot].Store(noClass)
	a.pool.give(slot)
	a.reclaim.retired.Add(1)
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

// dropDrained gives the drained slots that classes keep to all classes and returns their number.
func (a *Arena) dropDrained() (n int) {
	for c := range a.classes {
		k := &a.classes[c]
		k.mu.Lock()
		for k.drained != 0 {
			slot := int(k.drained - 1)
			k.drained = a.header(slot).next
			k.kept--
			k.give(a, slot)
			n++
		}
		k.mu.Unlock()
	}
	return n
}
