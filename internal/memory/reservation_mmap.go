//go:build unix && !race

package memory

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// HeapBacked says that the arena is one Go allocation.
const HeapBacked = false

// A mapping is private anonymous memory, aligned to a group.
type mapping struct {
	base  unsafe.Pointer
	size  uintptr
	whole unsafe.Pointer // what mmap returned
	len   uintptr
	mode  HugePages
	locks bool
	huge  hugePages
	calls atomic.Uint64         // to the system
	err   atomic.Pointer[error] // the first refusal to lock
}

func reserve(size uintptr, mode HugePages, locks bool) (*mapping, error) {
	page := uintptr(os.Getpagesize())
	size = (size + page - 1) &^ (page - 1)
	length := size + GroupSize // room to align
	p, err := unix.MmapPtr(-1, 0, nil, length, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|noReserve)
	if err != nil {
		return nil, err
	}
	m := &mapping{whole: p, len: length, size: size, mode: mode, locks: locks}
	m.base = unsafe.Add(p, (GroupSize-uintptr(p)%GroupSize)%GroupSize)
	m.prepare()
	return m, nil
}

func (m *mapping) bytes(off, n uintptr) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(m.base, off)), n)
}

func (m *mapping) group(g int) []byte { return m.bytes(uintptr(g)*GroupSize, GroupSize) }

// open makes [off, off+n) readable and writable, as zeros.
func (m *mapping) open(off, n uintptr) error {
	m.calls.Add(1)
	page := uintptr(os.Getpagesize())
	n = min((n+page-1)&^(page-1), m.size-off)
	return unix.Mprotect(m.bytes(off, n), unix.PROT_READ|unix.PROT_WRITE)
}

// fetch brings group g, which nobody uses, in and returns what its pages will be.
func (m *mapping) fetch(g int) Tier {
	tier := m.fetchPages(g)
	if m.locks {
		if err := lockMemory(m.group(g)); err != nil {
			m.err.CompareAndSwap(nil, &err)
		}
	}
	return tier
}

func (m *mapping) lockError() error {
	if err := m.err.Load(); err != nil {
		return *err
	}
	return nil
}

// giveBack returns the pages of n groups from g on to the system; from then on readers see zeros.
func (m *mapping) giveBack(g, n int) error {
	m.calls.Add(1)
	if m.overlay(g, n) {
		return nil
	}
	return unix.Madvise(m.bytes(uintptr(g)*GroupSize, uintptr(n)*GroupSize), unix.MADV_DONTNEED)
}

// discard gives all pages back; readers see zeros.
func (m *mapping) discard() {
	if m.locks {
		_ = unix.Munlock(m.bytes(0, m.size))
	}
	for g := range int(m.size / GroupSize) {
		m.overlay(g, 1)
	}
	// A refusal only delays the return of the pages until release.
	_ = unix.Madvise(m.bytes(0, m.size), unix.MADV_DONTNEED)
}

func (m *mapping) release() {
	// Nothing is left to do about a mapping that cannot be removed.
	_ = unix.MunmapPtr(m.whole, m.len)
}
