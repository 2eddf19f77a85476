//go:build race || !unix

package memory

import "unsafe"

// HeapBacked says that the arena is one Go allocation.
const HeapBacked = true

// A mapping is one Go allocation, so that the race detector sees every access.
type mapping struct {
	base unsafe.Pointer
	size uintptr
	heap []uint64
	tier string
}

const lineSize = 64

func reserve(size uintptr, _ bool) (*mapping, error) {
	m := &mapping{heap: make([]uint64, (size+lineSize)/8+1), size: size, tier: "heap"}
	p := unsafe.Pointer(unsafe.SliceData(m.heap))
	m.base = unsafe.Add(p, (lineSize-uintptr(p)%lineSize)%lineSize)
	return m, nil
}

func (m *mapping) commit(_, _ uintptr) error { return nil }

func (m *mapping) discard() {}

func (m *mapping) release() {}
