package memory

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/larder-cache/larder/internal/invariants"
)

// A Ref names a cell: 1 + its distance from the start of the arena in units. 0 is nil.
type Ref uint32

const (
	// MinLimit is the smallest arena in bytes: below it a few classes would hold everything.
	MinLimit = 8 << 20
	// MaxLimit is the largest arena in bytes: 32-bit references in units of 64 bytes.
	MaxLimit = 64 << 32

	minUnitShift = 3
)

// ErrLimit is returned by New for a limit outside MinLimit to MaxLimit.
var ErrLimit = errors.New("memory limit out of range")

// ErrNoMemory is returned when the ceiling leaves no room.
var ErrNoMemory = errors.New("memory limit reached")

// Options of an arena.
type Options struct {
	Limit     int64 // ceiling in bytes, everything counted
	Lock      bool  // keep pages in memory (mlock) from their first access on; nothing is given back then
	HugePages HugePages
	Reclaim   *Reclaim // nil = DefaultReclaim
}

// An Arena is one reservation and its allocator. Methods are safe for concurrent use unless they say otherwise.
type Arena struct {
	// Read by every access.
	base      unsafe.Pointer
	shift     uint8
	committed atomic.Uint32 // references below 1 + committed lie in committed memory

	shapes  [classCount]shape
	headers unsafe.Pointer  // table of header, one per slot
	kinds   []atomic.Uint32 // of each slot: its Class or noClass, and victim
	slots   int             // slots that the reservation holds
	limit   int64
	mapping *mapping
	table   *mapping

	pool    pool
	classes [classCount]class
	relief  relief
	reclaim reclaim
	leaks   atomic.Pointer[leakCheck] // nil = the check is off

	badFrees  atomic.Uint64
	refused   atomic.Uint64
	shortages atomic.Uint64
}

// New reserves address space for o.Limit bytes and commits nothing yet.
func New(o Options) (*Arena, error) {
	if o.Limit < MinLimit || o.Limit > MaxLimit {
		return nil, fmt.Errorf("%w: %d bytes, want %d to %d", ErrLimit, o.Limit, int64(MinLimit), int64(MaxLimit))
	}
	a := &Arena{limit: o.Limit, shift: minUnitShift}
	for o.Limit>>a.shift >= 1<<32-1 && a.shift < 6 {
		a.shift++
	}
	size := o.Limit &^ (GroupSize - 1)
	if size>>a.shift >= 1<<32-1 {
		size -= GroupSize // the last reference must fit
	}
	a.slots = int(size / SlotSize)
	a.kinds = make([]atomic.Uint32, a.slots)
	for i := range a.kinds {
		a.kinds[i].Store(noClass)
	}
	for c := range a.shapes {
		a.shapes[c] = shapeOf(Class(c), 1<<a.shift)
	}
	m, err := reserve(uintptr(size), o.HugePages, o.Lock)
	if err != nil {
		return nil, fmt.Errorf("reserve %d bytes of address space: %w", size, err)
	}
	t, err := reserve(uintptr(a.slots)*unsafe.Sizeof(header{}), HugePagesOff, false)
	if err != nil {
		m.release()
		return nil, fmt.Errorf("reserve the table of slots: %w", err)
	}
	if err := t.open(0, t.size); err != nil {
		m.release()
		t.release()
		return nil, fmt.Errorf("commit the table of slots: %w", err)
	}
	a.base, a.headers = m.base, t.base
	a.mapping, a.table = m, t
	a.pool.init(a)
	a.reclaim.Reclaim = DefaultReclaim
	if o.Reclaim != nil {
		a.reclaim.Reclaim = *o.Reclaim
	}
	if o.Lock {
		a.reclaim.KeepAll = true // the system refuses
	}
	if err := a.first(o); err != nil {
		m.release()
		t.release()
		return nil, err
	}
	// Readers hold the arena while they read, so nothing can still look at the mapping when it is unreachable.
	runtime.AddCleanup(a, func(ms [2]*mapping) { ms[0].release(); ms[1].release() }, [2]*mapping{m, t})
	return a, nil
}

// At returns the address of a cell. It is for a Ref that came from Alloc, or passed Valid.
func (a *Arena) At(r Ref) unsafe.Pointer {
	return unsafe.Add(a.base, uintptr(r-1)<<(a.shift&63))
}

// Valid reports whether r lies in committed memory, so that it can be read without a fault.
func (a *Arena) Valid(r Ref) bool { return uint32(r)-1 < a.committed.Load() }

// Room returns the bytes from r to the end of its slot: no read through r may go further.
func (a *Arena) Room(r Ref) int {
	return SlotSize - int(uint64(r-1)<<(a.shift&63)&(SlotSize-1))
}

// Size returns the bytes of a cell of class c.
func (a *Arena) Size(c Class) int { return int(a.shapes[c].size) }

// ClassOf returns the class of the slot in which r lies. The caller owns a cell there.
func (a *Arena) ClassOf(r Ref) Class {
	slot, _ := a.locate(r)
	return Class(a.kinds[slot].Load())
}

// locate returns the slot of r and the offset of r in it.
func (a *Arena) locate(r Ref) (int, uint32) {
	off := uint64(r-1) << (a.shift & 63)
	return int(off / SlotSize), uint32(off & (SlotSize - 1))
}

func (a *Arena) header(slot int) *header {
	return (*header)(unsafe.Add(a.headers, uintptr(slot)*unsafe.Sizeof(header{})))
}

func (a *Arena) refAt(slot int, off uint32) Ref {
	return Ref((uint64(slot)*SlotSize+uint64(off))>>(a.shift&63)) + 1
}

// Discard gives all pages back and leaves the arena readable as zeros. Nothing may be allocated or freed afterwards.
// Concurrent readers see zeros or old bytes.
func (a *Arena) Discard() { a.mapping.discard() }

func (a *Arena) badFree(r Ref, why string) {
	a.badFrees.Add(1)
	if invariants.Enabled {
		invariants.Check(false, "free of reference %d: %s", r, why)
	}
}
