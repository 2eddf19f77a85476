//go:build race || !unix

package memory

import (
	"sync/atomic"
	"unsafe"
)

// HeapBacked says that the arena is one Go allocation.
const HeapBacked = true

// A mapping is one Go allocation, so that the race detector sees every access.
type mapping struct {
	base  unsafe.Pointer
	size  uintptr
	heap  []uint64
	tier  Tier
	calls atomic.Uint64 // to the system
}

func reserve(size uintptr, _ bool) (*mapping, error) {
	m := &mapping{heap: make([]uint64, (size+lineSize)/8+1), size: size, tier: tierHeap}
	p := unsafe.Pointer(unsafe.SliceData(m.heap))
	m.base = unsafe.Add(p, (lineSize-uintptr(p)%lineSize)%lineSize)
	return m, nil
}

func (m *mapping) open(_, _ uintptr) error { return nil }

func (m *mapping) fetch(int) Tier { return m.tier }

// giveBack clears, as the system would, so that what is still used by mistake is seen.
func (m *mapping) giveBack(off, n uintptr) error {
	m.calls.Add(1)
	clear(unsafe.Slice((*byte)(unsafe.Add(m.base, off)), n))
	return nil
}

func (m *mapping) discard() {}

func (m *mapping) release() {}
