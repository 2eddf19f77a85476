//go:build linux && !race

package memory

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const noReserve = unix.MAP_NORESERVE

// hugePages is what a mapping knows about those of Linux.
type hugePages struct {
	transparent bool        // given to who asks
	pool        atomic.Bool // the system has a pool of them, or may make one
	empty       atomic.Uint64
	owned       []bool // groups that are a page of the pool; an element belongs to whoever moves that group
}

// prepare looks at what the system offers and asks for transparent huge pages.
func (m *mapping) prepare() {
	if m.mode == HugePagesOff {
		return
	}
	m.huge.owned = make([]bool, m.size/GroupSize)
	m.huge.transparent = adviseHuge(m.bytes(0, m.size)) && transparentOn()
	m.lookForPool()
}

func adviseHuge(b []byte) bool { return unix.Madvise(b, unix.MADV_HUGEPAGE) == nil }

// transparentOn reads whether the kernel gives transparent huge pages to who asks.
func transparentOn() bool {
	b, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	return err == nil && !strings.Contains(string(b), "[never]")
}

// lookForPool reads whether there is a pool of huge pages at all, so that fetch need not ask in vain.
func (m *mapping) lookForPool() {
	total, dir := 0, os.DirFS("/sys/kernel/mm/hugepages/hugepages-2048kB")
	for _, name := range []string{"nr_hugepages", "nr_overcommit_hugepages"} {
		b, err := fs.ReadFile(dir, name)
		if err == nil {
			n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
			total += n
		}
	}
	m.huge.pool.Store(total > 0)
}

// fetchPages takes a page of the pool for the group if there is one. Otherwise the first access brings pages.
func (m *mapping) fetchPages(g int) Tier {
	if m.mode == HugePagesOff {
		return Tier4K
	}
	if m.huge.pool.Load() {
		if m.takePoolPage(g) {
			return TierHugetlb
		}
		m.huge.empty.Add(1)
	}
	if m.huge.transparent {
		return TierTHP
	}
	return Tier4K
}

// takePoolPage maps a page of the pool where nobody looks, has it filled, and only then moves it over the group: a pool
// that is empty, or that a cgroup may not use, shows as an error here and never as a fault of a reader.
func (m *mapping) takePoolPage(g int) bool {
	m.calls.Add(1)
	const flags = unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_HUGETLB | unix.MAP_HUGE_2MB
	p, err := unix.MmapPtr(-1, 0, nil, GroupSize, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return false
	}
	if unix.Madvise(unsafe.Slice((*byte)(p), GroupSize), unix.MADV_POPULATE_WRITE) == nil {
		to := unsafe.Pointer(unsafe.SliceData(m.group(g)))
		if _, err := unix.MremapPtr(p, GroupSize, to, GroupSize, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED); err == nil {
			m.huge.owned[g] = true
			return true
		}
	}
	_ = unix.MunmapPtr(p, GroupSize)
	return false
}

// collapse makes a huge page of what is there of a group, and returns what became of it.
func (m *mapping) collapse(g int) Tier {
	if m.mode == HugePagesOff {
		return Tier4K
	}
	m.calls.Add(1)
	b := m.group(g)
	// An empty group cannot be collapsed. What is written is what is read, so nobody notices.
	_ = atomic.AddUint32((*uint32)(unsafe.Pointer(unsafe.SliceData(b))), 0)
	switch {
	case unix.Madvise(b, unix.MADV_COLLAPSE) != nil:
		return Tier4K
	case m.huge.transparent:
		return TierTHP
	default:
		return TierCollapsed
	}
}

// overlay maps ordinary memory over groups if one of them is a page of the pool: that page goes back to the pool at once,
// and who still reads there sees zeros. It reports whether it did.
func (m *mapping) overlay(g, n int) bool {
	found := false
	for i := g; i < g+n && m.huge.owned != nil; i++ {
		found = found || m.huge.owned[i]
	}
	if !found {
		return false
	}
	b := m.bytes(uintptr(g)*GroupSize, uintptr(n)*GroupSize)
	const flags = unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_FIXED | noReserve
	if _, err := unix.MmapPtr(-1, 0, unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)), unix.PROT_READ|unix.PROT_WRITE, flags); err != nil {
		return false
	}
	if m.huge.transparent {
		adviseHuge(b)
	}
	clear(m.huge.owned[g : g+n])
	return true
}

// poolEmpty counts the times that the pool had no page for a group.
func (m *mapping) poolEmpty() uint64 { return m.huge.empty.Load() }

// lockMemory keeps pages in memory from their first access on.
func lockMemory(b []byte) error {
	const onFault = 1 // MLOCK_ONFAULT
	_, _, errno := unix.Syscall(unix.SYS_MLOCK2, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), onFault)
	if errno != 0 {
		return errno
	}
	return nil
}
