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
	mode  HugePages
	calls atomic.Uint64 // that would go to the system
}

func reserve(size uintptr, mode HugePages, _ bool) (*mapping, error) {
	m := &mapping{heap: make([]uint64, (size+lineSize)/8+1), size: size, mode: mode}
	p := unsafe.Pointer(unsafe.SliceData(m.heap))
	m.base = unsafe.Add(p, (lineSize-uintptr(p)%lineSize)%lineSize)
	return m, nil
}

func (m *mapping) open(_, _ uintptr) error {
	m.calls.Add(1)
	return nil
}

func (m *mapping) fetch(int) Tier { return TierHeap }

func (m *mapping) collapse(int) Tier { return TierHeap }

func (m *mapping) lookForPool() {}

func (m *mapping) lockError() error { return nil }

func (m *mapping) poolEmpty() uint64 { return 0 }

// giveBack clears, as the system would, so that what is still used by mistake is seen.
func (m *mapping) giveBack(g, n int) error {
	m.calls.Add(1)
	clear(unsafe.Slice((*byte)(unsafe.Add(m.base, uintptr(g)*GroupSize)), n*GroupSize))
	return nil
}

func (m *mapping) discard() {}

func (m *mapping) release() {}
