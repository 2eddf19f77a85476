//go:build unix && !race

package memory

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A mapping is private anonymous memory, aligned to a group.
type mapping struct {
	base  unsafe.Pointer
	size  uintptr
	whole unsafe.Pointer // what mmap returned
	len   uintptr
	tier  Tier
	calls atomic.Uint64 // to the system
}

func reserve(size uintptr, huge bool) (*mapping, error) {
	page := uintptr(os.Getpagesize())
	size = (size + page - 1) &^ (page - 1)
	length := size + GroupSize // room to align
	p, err := unix.MmapPtr(-1, 0, nil, length, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|noReserve)
	if err != nil {
		return nil, err
	}
	m := &mapping{whole: p, len: length, size: size, tier: tier4K}
	m.base = unsafe.Add(p, (GroupSize-uintptr(p)%GroupSize)%GroupSize)
	if huge && adviseHuge(unsafe.Slice((*byte)(m.base), size)) {
		m.tier = tierTHP
	}
	return m, nil
}

// open makes [off, off+n) readable and writable, as zeros.
func (m *mapping) open(off, n uintptr) error {
	m.calls.Add(1)
	n = min((n+uintptr(os.Getpagesize())-1)&^(uintptr(os.Getpagesize())-1), m.size-off)
	return unix.Mprotect(unsafe.Slice((*byte)(unsafe.Add(m.base, off)), n), unix.PROT_READ|unix.PROT_WRITE)
}

// fetch brings group g in and returns what its pages are.
func (m *mapping) fetch(int) Tier { return m.tier }

// giveBack returns the pages of [off, off+n) to the system; from then on readers see zeros.
func (m *mapping) giveBack(off, n uintptr) error {
	m.calls.Add(1)
	return unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(m.base, off)), n), unix.MADV_DONTNEED)
}

// discard gives the pages back; readers see zeros.
func (m *mapping) discard() {
	// A refusal (locked pages) only delays the return of the pages until release.
	_ = unix.Madvise(unsafe.Slice((*byte)(m.base), m.size), unix.MADV_DONTNEED)
}

func (m *mapping) release() {
	// Nothing is left to do about a mapping that cannot be removed.
	_ = unix.MunmapPtr(m.whole, m.len)
}
