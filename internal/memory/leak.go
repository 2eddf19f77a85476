package memory

import (
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
)

// leakDepth is how many callers of an allocation are kept.
const leakDepth = 24

// A leakCheck remembers where sampled cells were allocated. An arena has one only while the check is on, so a cell costs
// one look at a pointer when it is off. Cells that are older than the check are unknown to it, and their end is none of
// its business.
type leakCheck struct {
	rate  uint32
	count atomic.Uint32

	mu    sync.Mutex
	sites map[[leakDepth]uintptr]*leakSite
	cells map[Ref]leakedCell
}

type leakSite struct {
	pcs          []uintptr
	cells, bytes int64 // in use
	total        int64
}

type leakedCell struct {
	site *leakSite
	size uint32
}

// StartLeakCheck remembers from now on where one of rate cells is allocated; 1 is all of them. What an earlier check knew
// is forgotten.
func (a *Arena) StartLeakCheck(rate int) {
	a.leaks.Store(&leakCheck{
		rate: uint32(max(rate, 1)), sites: map[[leakDepth]uintptr]*leakSite{}, cells: map[Ref]leakedCell{},
	})
}

// StopLeakCheck forgets everything and gives the memory of the check to the collector.
func (a *Arena) StopLeakCheck() { a.leaks.Store(nil) }

// allocated is called with the lock of the lane, for every cell.
func (l *leakCheck) allocated(r Ref, size uint32) {
	if l.rate > 1 && l.count.Add(1)%l.rate != 0 {
		return
	}
	var pcs [leakDepth]uintptr
	n := runtime.Callers(4, pcs[:]) // without Callers, allocated, pop and Alloc
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sites[pcs]
	if s == nil {
		s = &leakSite{pcs: append([]uintptr(nil), pcs[:n]...)}
		l.sites[pcs] = s
	}
	s.cells++
	s.bytes += int64(size)
	s.total++
	l.cells[r] = leakedCell{s, size}
}

func (l *leakCheck) freed(r Ref) {
	l.mu.Lock()
	l.forget(r)
	l.mu.Unlock()
}

// forget takes a cell out of the counts of its place, which it returns; nil when the cell is not known.
func (l *leakCheck) forget(r Ref) *leakSite {
	c, ok := l.cells[r]
	if !ok {
		return nil
	}
	delete(l.cells, r)
	c.site.cells--
	c.site.bytes -= int64(c.size)
	return c.site
}

// Moved says that the contents of from are in to now: for the check it is the same allocation. It is called before from is
// freed.
func (a *Arena) Moved(from, to Ref) {
	if l := a.leaks.Load(); l != nil {
		l.moved(from, to)
	}
}

func (l *leakCheck) moved(from, to Ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// The new cell may have been sampled for itself; of the two it has the origin of the old one, or none.
	if s := l.forget(to); s != nil {
		s.total--
	}
	if c, ok := l.cells[from]; ok {
		delete(l.cells, from)
		l.cells[to] = c
	}
}

// A LeakSite is a place in the program, and the cells that were allocated there and are in use. Of sampled cells only: all
// figures stand for Rate times as much.
type LeakSite struct {
	Stack []uintptr // program counters, the innermost first, for runtime.CallersFrames
	Cells int64
	Bytes int64
	Total int64 // cells allocated there since the check was switched on
}

// A LeakReport lists the places with cells in use, the one with most bytes first.
type LeakReport struct {
	On    bool
	Rate  int // one cell of so many was looked at
	Cells int64
	Bytes int64
	Sites []LeakSite
}

// Leaks reports what was allocated since the check was switched on and is still in use. That a cell is in the list does not
// say that it is lost: see Audit.
func (a *Arena) Leaks() (out LeakReport) {
	l := a.leaks.Load()
	if l == nil {
		return out
	}
	out.On, out.Rate = true, int(l.rate)
	l.mu.Lock()
	for _, s := range l.sites {
		if s.cells > 0 {
			out.Sites = append(out.Sites, LeakSite{Stack: s.pcs, Cells: s.cells, Bytes: s.bytes, Total: s.total})
			out.Cells += s.cells
			out.Bytes += s.bytes
		}
	}
	l.mu.Unlock()
	sort.Slice(out.Sites, func(i, j int) bool {
		x, y := out.Sites[i], out.Sites[j]
		if x.Bytes != y.Bytes {
			return x.Bytes > y.Bytes
		}
		return x.Cells > y.Cells
	})
	return out
}
