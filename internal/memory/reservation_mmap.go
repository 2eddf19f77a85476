//go:build unix && !race

package memory

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A mapping is private anonymous memory, aligned to a group.
type mapping struct {
	base  unsafe.Pointer
	size  uintptr
	whole unsafe.Pointer // what mmap returned
	len   uintptr
	tier  string
}

func reserve(size uintptr, huge bool) (*mapping, error) {
	page := uintptr(os.Getpagesize())
	size = (size + page - 1) &^ (page - 1)
	length := size + GroupSize // room to align
	p, err := unix.MmapPtr(-1, 0, nil, length, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|noReserve)
	if err != nil {
		return nil, err
	}
	m := &mapping{whole: p, len: length, size: size, tier: "4k"}
	m.base = unsafe.Add(p, (GroupSize-uintptr(p)%GroupSize)%GroupSize)
	if huge && adviseHuge(unsafe.Slice((*byte)(m.base), size)) {
		m.tier = "thp"
	}
	return m, nil
}

// commit makes [off, off+n) readable and writable, as zeros.
func (m *mapping) commit(off, n uintptr) error {
	n = min((n+uintptr(os.Getpagesize())-1)&^(uintptr(os.Getpagesize())-1), m.size-off)
	return unix.Mprotect(unsafe.Slice((*byte)(unsafe.Add(m.base, off)), n), unix.PROT_READ|unix.PROT_WRITE)
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
