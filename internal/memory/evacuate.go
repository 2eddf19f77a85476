package memory

import (
	"cmp"
	"math/bits"
	"slices"
)

// sparseShare is the share of its cells, one in so many, up to which a slot is worth emptying.
const sparseShare = 8

// groupShare says how many bytes must become free for one that is copied when groups are emptied.
const groupShare = 2

// A sparseSlot is a slot with few cells handed out.
type sparseSlot struct {
	slot int
	out  uint32
}

// choose marks the slots that are worth emptying and returns them: sparse ones, or else those of groups that nearly all of
// their memory could leave. Every evacuation that ends frees slots or groups, and takes no group, so they come to an end.
func (a *Arena) choose() (victims []int) {
	for c, slots := range a.slotsByClass() {
		if Class(c).purpose() == forRecords && a.shapes[c].cells > 1 {
			victims = a.chooseOf(Class(c), slots, victims)
		}
	}
	if len(victims) == 0 {
		victims = a.chooseGroups()
	}
	return victims
}

// slotsByClass returns the slots of each class as they are at about this moment: whoever looks at one holds the class's
// lock and looks again whose it is.
func (a *Arena) slotsByClass() [classCount][]int {
	a.pool.mu.Lock()
	touched := a.pool.touched * slotsPerGroup
	a.pool.mu.Unlock()
	var by [classCount][]int
	for slot := range touched {
		if c := Class(a.kinds[slot].Load()); c != noClass {
			by[c] = append(by[c], slot)
		}
	}
	return by
}

// A sparseGroup is a group that has free slots beside others.
type sparseGroup struct {
	group int
	used  int   // slots
	live  int64 // bytes of cells handed out
}

// chooseGroups marks all slots of groups whose slots fit into the free ones of other groups, if what has to be copied is
// one byte for groupShare that become free. It begins with those where least has to be copied.
func (a *Arena) chooseGroups() (victims []int) {
	p := &a.pool
	p.mu.Lock()
	var list []sparseGroup
	room := 0
	for g := range p.touched {
		if group := &p.groups[g]; group.state == warm && group.free != 0 && group.free != allFree && group.purpose == forRecords {
			list = append(list, sparseGroup{group: g, used: slotsPerGroup - bits.OnesCount8(group.free)})
			room += bits.OnesCount8(group.free)
		}
	}
	p.mu.Unlock()
	for i := range list {
		list[i].live = a.liveIn(list[i].group)
	}
	slices.SortFunc(list, func(x, y sparseGroup) int {
		return cmp.Or(cmp.Compare(x.live, y.live), cmp.Compare(x.used, y.used), -cmp.Compare(x.group, y.group))
	})
	n, used, live := 0, 0, int64(0)
	for _, s := range list {
		room -= slotsPerGroup - s.used
		used += s.used
		live += s.live
		if used > room || live*groupShare > int64(n+1)*GroupSize {
			break
		}
		n++
	}
	for _, s := range list[:n] {
		p.mu.Lock()
		if group := &p.groups[s.group]; group.state == warm && group.free != 0 && group.free != allFree {
			p.unfile(s.group)
			group.victim = true
		}
		p.mu.Unlock()
		for slot := s.group * slotsPerGroup; slot < (s.group+1)*slotsPerGroup; slot++ {
			victims = a.condemn(slot, victims)
		}
	}
	return victims
}

// liveIn returns the bytes of cells handed out in a group, more than a group has when one of them can not be moved.
func (a *Arena) liveIn(g int) (live int64) {
	for slot := g * slotsPerGroup; slot < (g+1)*slotsPerGroup; slot++ {
		c := Class(a.kinds[slot].Load())
		if c == noClass {
			continue
		}
		if c.purpose() == forIndex {
			return 2 * GroupSize
		}
		k := &a.classes[c]
		k.mu.Lock()
		if Class(a.kinds[slot].Load()) == c {
			live += int64(a.header(slot).out) * int64(a.shapes[c].size)
		}
		k.mu.Unlock()
	}
	return live
}

// condemn marks a slot, if it has cells handed out that can be moved.
func (a *Arena) condemn(slot int, victims []int) []int {
	kind := a.kinds[slot].Load()
	c := Class(kind)
	if kind&victim != 0 || c == noClass || c.purpose() == forIndex {
		return victims
	}
	k := &a.classes[c]
	k.mu.Lock()
	defer k.mu.Unlock()
	if a.kinds[slot].Load() != kind || a.header(slot).out == 0 {
		return victims
	}
	k.unlist(a, slot)
	a.kinds[slot].Store(kind | victim)
	return append(victims, slot)
}

// chooseOf appends the victims of one class: the slots with at most one cell in sparseShare handed out, if their cells fit
// into fewer slots than that: free cells of the others, the fullest of the sparse, and new slots. slots are those that the
// class had a moment ago.
func (a *Arena) chooseOf(c Class, slots, victims []int) []int {
	k, cells := &a.classes[c], a.shapes[c].cells
	k.mu.Lock()
	defer k.mu.Unlock()
	var (
		sparse []sparseSlot
		room   uint64 // free cells of the other slots
	)
	for _, slot := range slots {
		if a.kinds[slot].Load() != uint32(c) {
			continue // no longer its slot, or a victim
		}
		switch out := a.header(slot).out; {
		case out == 0: // drained
		case out*sparseShare <= cells:
			sparse = append(sparse, sparseSlot{slot, out})
		default:
			room += uint64(cells - out)
		}
	}
	slices.SortFunc(sparse, func(x, y sparseSlot) int {
		return cmp.Or(cmp.Compare(x.out, y.out), -cmp.Compare(x.slot, y.slot))
	})
	// Either all of them fit into the others, or the fullest one stays to take some.
	live := uint64(0)
	for _, s := range sparse {
		live += uint64(s.out)
	}
	if n := len(sparse); n > 0 && live > room {
		last := sparse[n-1]
		sparse = sparse[:n-1]
		live -= uint64(last.out)
		room += uint64(cells - last.out)
	}
	fresh := 0 // slots that must be taken for what does not fit
	if live > room {
		fresh = int((live - room + uint64(cells) - 1) / uint64(cells))
	}
	if len(sparse) <= fresh {
		return victims
	}
	for _, s := range sparse {
		k.unlist(a, s.slot)
		a.kinds[s.slot].Store(uint32(c) | victim)
		victims = append(victims, s.slot)
	}
	return victims
}

// Sparse reports whether r lies in a slot that is being emptied: its cell should move to another one.
func (a *Arena) Sparse(r Ref) bool {
	slot, _ := a.locate(r)
	return a.kinds[slot].Load()&victim != 0
}

// EndEvacuation makes slots that could not be emptied usable again. It returns how many were emptied.
func (a *Arena) EndEvacuation() (emptied int) {
	r := &a.reclaim
	r.mu.Lock()
	defer r.mu.Unlock()
	emptied = len(r.victims)
	for _, slot := range r.victims {
		kind := a.kinds[slot].Load()
		if kind&victim == 0 {
			continue
		}
		// Only this function and a drain end a victim, so the slot is still of this class or drained before the lock is had.
		k := &a.classes[Class(kind)]
		k.mu.Lock()
		if a.kinds[slot].Load() == kind {
			emptied--
			a.kinds[slot].Store(kind &^ victim)
			h := a.header(slot)
			if h.free != 0 || h.bump < a.shapes[Class(kind)].cells {
				k.list(a, slot)
			}
		}
		k.mu.Unlock()
	}
	r.victims = nil
	p := &a.pool
	p.mu.Lock()
	for g := range p.touched {
		if group := &p.groups[g]; group.victim {
			group.victim = false
			p.file(g)
		}
	}
	// The slots that were taken to move cells to are no sign of work.
	r.carves = p.carves
	p.mu.Unlock()
	r.evacuated.Add(uint64(emptied))
	a.helped(emptied > 0)
	return emptied
}
