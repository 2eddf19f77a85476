package memory

import (
	"sync"
	"unsafe"

	"github.com/larder-cache/larder/internal/invariants"
)

// A magazine is a stack of free cells of one class, linked through their first four bytes.
type magazine struct {
	head  Ref
	n     uint16
	batch uint16 // cells of the next refill: doubles from one to the class's batch, so a rare class holds little
}

// Magazines are the private free stacks of one owner, whose lock protects them. The zero value is ready.
type Magazines struct {
	m    [classCount]magazine
	held int // cells in all magazines
}

// Alloc returns a cell of class c, or 0 when the ceiling leaves none; near the ceiling it may be of a larger class. The
// cell's contents are not defined.
func (g *Magazines) Alloc(a *Arena, c Class) Ref {
	if g.m[c].head == 0 && !g.refill(a, c) {
		var ok bool
		if head, n := a.relieve(g, c); n > 0 {
			g.load(c, head, n)
		} else if c, ok = g.borrow(a, c); !ok {
			a.refused.Add(1)
			a.reclaim.note()
			return 0
		}
	}
	return g.pop(a, c)
}

// AllocSpare is Alloc for what can do without, growth of an index or a record that is to move: it takes nothing from other
// owners, and what it does not get is not counted as refused.
func (g *Magazines) AllocSpare(a *Arena, c Class) Ref {
	if g.m[c].head == 0 && !g.refill(a, c) {
		return 0
	}
	return g.pop(a, c)
}

// pop takes the topmost cell.
func (g *Magazines) pop(a *Arena, c Class) Ref {
	m := &g.m[c]
	r := m.head
	m.head = *(*Ref)(a.At(r))
	m.n--
	g.held--
	slot, off := a.locate(r)
	h := a.header(slot)
	i, _ := a.shapes[c].cellIndex(off)
	old := h.inUse[i/64].Or(1 << (i % 64))
	if l := a.leaks.Load(); l != nil {
		l.allocated(r, a.shapes[c].size)
	}
	if invariants.Enabled {
		invariants.Check(old&(1<<(i%64)) == 0, "cell %d handed out twice", r)
		invariants.Check(Class(a.kinds[slot].Load()) == c, "cell %d of class %d handed out as class %d", r, a.kinds[slot].Load(), c)
	}
	return r
}

// Free takes a cell back. A reference that is not a cell in use is refused and counted.
func (g *Magazines) Free(a *Arena, r Ref) {
	if !a.Valid(r) {
		a.badFree(r, "outside the arena")
		return
	}
	slot, off := a.locate(r)
	kind := a.kinds[slot].Load()
	c := Class(kind)
	if c == noClass {
		a.badFree(r, "in a slot without cells")
		return
	}
	s := &a.shapes[c]
	i, ok := s.cellIndex(off)
	if !ok {
		a.badFree(r, "not the start of a cell")
		return
	}
	h := a.header(slot)
	if bit := uint64(1) << (i % 64); h.inUse[i/64].And(^bit)&bit == 0 {
		a.badFree(r, "not in use")
		return
	}
	if l := a.leaks.Load(); l != nil {
		l.freed(r)
	}
	if invariants.Enabled {
		poison(a.At(r), int(s.size))
	}
	if kind&victim != 0 {
		// Nobody may take a cell of a slot that is being emptied, this lane included.
		a.put(c, r, 1)
		return
	}
	m := &g.m[c]
	*(*Ref)(a.At(r)) = m.head
	m.head = r
	m.n++
	g.held++
	if m.n >= 2*s.batch {
		g.spill(a, c, int(m.n-s.batch))
	}
}

func (g *Magazines) refill(a *Arena, c Class) bool {
	m := &g.m[c]
	most := max(a.shapes[c].batch, 1)
	m.batch = min(max(1, m.batch*2), most)
	head, n := a.take(c, int(m.batch))
	g.load(c, head, n)
	return n > 0
}

// load fills an empty magazine.
func (g *Magazines) load(c Class, head Ref, n int) {
	g.m[c].head, g.m[c].n = head, uint16(n)
	g.held += n
}

// borrow finds a free cell for class c among the larger ones, smallest first: a slot serves one class until it is empty, so
// at the ceiling a class without free cells may stand beside others that have plenty. It returns the class that has one
// in its magazine now.
func (g *Magazines) borrow(a *Arena, c Class) (Class, bool) {
	for d := c + 1; d <= c.largest(); d++ {
		if g.m[d].head == 0 {
			head, n := a.take(d, 1)
			g.load(d, head, n)
		}
		if g.m[d].head != 0 {
			return d, true
		}
	}
	return c, false
}

// spill gives the n topmost cells of class c back.
func (g *Magazines) spill(a *Arena, c Class, n int) {
	m := &g.m[c]
	if n == 0 {
		return
	}
	head, last := m.head, m.head
	for range n - 1 {
		last = *(*Ref)(a.At(last))
	}
	m.head = *(*Ref)(a.At(last))
	m.n -= uint16(n)
	g.held -= n
	a.put(c, head, n)
}

// Flush gives every cell back to its class. It returns their number and that of the classes.
func (g *Magazines) Flush(a *Arena) (cells, classes int) {
	if g.held == 0 {
		return 0, 0 // the usual case when shortages follow each other
	}
	for c := range g.m {
		n := int(g.m[c].n)
		g.m[c].batch = 0
		if n > 0 {
			g.spill(a, Class(c), n)
			cells += n
			classes++
		}
	}
	return cells, classes
}

// An Owner holds magazines under a lock that can be tried.
type Owner interface {
	Lock()
	TryLock() bool
	Unlock()
	Magazines() *Magazines
}

// relief empties magazines when the ceiling is reached.
type relief struct {
	mu     sync.Mutex
	owners []Owner
}

// Register makes the magazines of o available to a shortage elsewhere.
func (a *Arena) Register(o Owner) {
	a.relief.mu.Lock()
	a.relief.owners = append(a.relief.owners, o)
	a.relief.mu.Unlock()
}

// relieve empties the magazines of self, whose lock the caller holds, and those of every owner that is not locked now,
// and tries again to get a cell of class c. It waits for a relief elsewhere, which waits for nobody: what that one frees
// may be what is wanted here.
func (a *Arena) relieve(self *Magazines, c Class) (Ref, int) {
	a.relief.mu.Lock()
	defer a.relief.mu.Unlock()
	if head, n := a.take(c, 1); n > 0 {
		return head, n
	}
	a.shortages.Add(1)
	self.Flush(a)
	for _, o := range a.relief.owners {
		if o.Magazines() == self || !o.TryLock() {
			continue
		}
		o.Magazines().Flush(a)
		o.Unlock()
	}
	a.dropDrained()
	return a.take(c, 1)
}

// poison makes a late read visible.
func poison(p unsafe.Pointer, n int) {
	b := unsafe.Slice((*byte)(p), n)
	for i := range b {
		b[i] = invariants.Poison
	}
}
