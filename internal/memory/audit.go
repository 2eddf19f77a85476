package memory

import (
	"fmt"
	"math/bits"
)

// An Audit compares the cells that are in use with those that their owners name. It runs while others work: a cell is
// lost only when it was in use before the owners were asked and still is, and nobody named it. A cell that went from one
// owner to another meanwhile looks like that too, so what is found is a suspicion until several audits agree.
type Audit struct {
	a     *Arena
	slots []auditSlot
}

// An auditSlot is what an audit remembers of a slot.
type auditSlot struct {
	class  Class
	before []uint64 // bitmap of cells in use at the start
	named  []uint64 // bitmap of cells that owners named
}

// NewAudit notes which cells are in use.
func (a *Arena) NewAudit() *Audit {
	a.pool.mu.Lock()
	n := a.pool.touched * slotsPerGroup
	a.pool.mu.Unlock()
	u := &Audit{a: a, slots: make([]auditSlot, n)}
	for slot := range u.slots {
		s := &u.slots[slot]
		if s.class = Class(a.kinds[slot].Load()); s.class == noClass {
			continue
		}
		s.before = a.inUse(slot, s.class)
		s.named = make([]uint64, len(s.before))
	}
	return u
}

// inUse copies the bitmap of a slot.
func (a *Arena) inUse(slot int, c Class) []uint64 {
	h := a.header(slot)
	words := make([]uint64, (a.shapes[c].cells+63)/64)
	for i := range words {
		words[i] = h.inUse[i].Load()
	}
	return words
}

// Name says that the owner has r, which holds n bytes. It returns an error when r is no cell in use, or too small: the
// owner must keep others from changing that meanwhile.
func (u *Audit) Name(r Ref, n int) error {
	a := u.a
	if !a.Valid(r) {
		return fmt.Errorf("reference %d is outside the arena", r)
	}
	slot, off := a.locate(r)
	c := Class(a.kinds[slot].Load())
	if c == noClass {
		return fmt.Errorf("reference %d is in a slot without cells", r)
	}
	i, ok := a.shapes[c].cellIndex(off)
	switch {
	case !ok:
		return fmt.Errorf("reference %d is not the start of a cell", r)
	case a.header(slot).inUse[i/64].Load()&(1<<(i%64)) == 0:
		return fmt.Errorf("reference %d is a cell that is free", r)
	case n > int(a.shapes[c].size):
		return fmt.Errorf("reference %d is a cell of %d bytes, %d are needed", r, a.shapes[c].size, n)
	}
	// Slots that came or changed their class since the start were not in use then.
	if slot < len(u.slots) && u.slots[slot].class == c {
		u.slots[slot].named[i/64] |= 1 << (i % 64)
	}
	return nil
}

// Unnamed returns the cells that were in use all the time and that nobody named, and the bytes of each.
func (u *Audit) Unnamed() map[Ref]int {
	lost := map[Ref]int{}
	for slot := range u.slots {
		s := &u.slots[slot]
		if s.class == noClass || Class(u.a.kinds[slot].Load()) != s.class {
			continue
		}
		now := u.a.inUse(slot, s.class)
		size := u.a.shapes[s.class].size
		for i := range now {
			for w := s.before[i] & now[i] &^ s.named[i]; w != 0; w &= w - 1 {
				cell := uint32(i*64 + bits.TrailingZeros64(w))
				lost[u.a.refAt(slot, cell*size)] = int(size)
			}
		}
	}
	return lost
}

// maxCountFaults bounds what CheckCounts returns.
const maxCountFaults = 20

// CheckCounts compares the counts of slots, classes and the pool with each other and returns what does not fit. It may be
// called while others work.
func (a *Arena) CheckCounts() (faults []string) {
	complain := func(format string, args ...any) {
		if len(faults) < maxCountFaults {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	for c, list := range a.slotsByClass() {
		k, shape := &a.classes[c], &a.shapes[c]
		// A class is locked for one slot at a time, and once for a sum that looks at one line of each slot.
		slots, out := int32(0), int64(0)
		k.mu.Lock()
		for _, slot := range list {
			if Class(a.kinds[slot].Load()) == Class(c) {
				slots++
				out += int64(a.header(slot).out)
			}
		}
		// Slots may have come since the list was made: then there are more.
		if slots > k.slots || slots == k.slots && out != k.out {
			complain("class of %d bytes: %d cells in %d slots, its counts say %d in %d", shape.size, out, slots, k.out, k.slots)
		}
		k.mu.Unlock()
		for _, slot := range list {
			k.mu.Lock()
			if Class(a.kinds[slot].Load()) == Class(c) {
				// What is handed out changes under this lock only, and only a cell that is handed out is in use.
				h, used := a.header(slot), uint32(0)
				for i := range (shape.cells + 63) / 64 {
					used += uint32(bits.OnesCount64(h.inUse[i].Load()))
				}
				if h.out > shape.cells || used > h.out {
					complain("slot %d: %d of %d cells are handed out, %d in use", slot, h.out, shape.cells, used)
				}
			}
			k.mu.Unlock()
		}
	}
	p := &a.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	warmed, moved := 0, 0
	for g := range p.touched {
		switch p.groups[g].state {
		case warm:
			warmed++
		case moving:
			warmed++
			moved++
		}
	}
	if warmed != p.warm || moved != p.moving {
		complain("pool: %d groups are in use and %d on their way, its counts say %d and %d", warmed, moved, p.warm, p.moving)
	}
	return faults
}
