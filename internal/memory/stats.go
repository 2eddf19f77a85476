package memory

import "math/bits"

// Stats of an arena, in bytes unless they are counts.
type Stats struct {
	Limit   int64
	Tier    Tier         // that most groups in use have
	Tiers   [Tiers]int64 // bytes of groups in use by tier
	Held    int64        // what counts against the limit: RecordSlots + IndexSlots + WarmFree + Headers + Charged
	Charged int64        // structures of owners outside the arena
	Headers int64        // of the slots of groups that were ever used

	RecordSlots int64 // slots of classes for records
	IndexSlots  int64 // slots of classes for indexes
	WarmFree    int64 // free slots of groups that are not given back
	Cold        int64 // groups that are given back: not held
	Out         int64 // cells handed out to magazines and owners
	FreeSlots   int64 // count: WarmFree in slots

	BadFrees  uint64 // refused: double frees and foreign references
	Refused   uint64 // allocations refused at the ceiling
	NoMemory  uint64 // times that the system gave no memory below the ceiling
	Shortages uint64 // times that magazines were emptied to satisfy an allocation

	Retired   uint64 // slots that drained and went to all classes
	Evacuated uint64 // slots that were emptied by moving their cells
	Released  uint64 // bytes given back to the system, ever
	Calls     uint64 // calls that gave back
	Pinned    uint64 // calls that the system refused
	Degraded  uint64 // groups that got ordinary pages although huge ones were wanted
	PoolEmpty uint64 // times that the system's pool of huge pages had none for a group
	Flushes   uint64 // times that magazines were emptied to free slots
	Ticks     uint64
}

// Stats returns the sums of this moment. They fit each other exactly when nobody writes.
func (a *Arena) Stats() Stats {
	s := Stats{
		Limit:    a.limit,
		BadFrees: a.badFrees.Load(), Refused: a.refused.Load(), Shortages: a.shortages.Load(), Retired: a.reclaim.retired.Load(),
	}
	for c := range a.classes {
		k := &a.classes[c]
		k.mu.Lock()
		s.Out += k.out * int64(a.shapes[c].size)
		if Class(c).purpose() == forIndex {
			s.IndexSlots += int64(k.slots) * SlotSize
		} else {
			s.RecordSlots += int64(k.slots) * SlotSize
		}
		k.mu.Unlock()
	}
	p := &a.pool
	p.mu.Lock()
	s.Held, s.Charged, s.Headers = p.held(), p.charged, int64(p.touched)*headerCost
	for g := range p.touched {
		switch group := &p.groups[g]; group.state {
		case warm:
			s.FreeSlots += int64(bits.OnesCount8(group.free))
		case moving:
			s.FreeSlots += slotsPerGroup
		case cold:
			s.Cold += GroupSize
		}
	}
	s.WarmFree = s.FreeSlots * SlotSize
	s.Tier, s.Degraded, s.NoMemory = p.mostTier(), p.degraded, p.refused
	for t, n := range p.tiers() {
		s.Tiers[t] = n * GroupSize
	}
	p.mu.Unlock()
	s.PoolEmpty = a.mapping.poolEmpty()
	r := &a.reclaim
	s.Evacuated, s.Released, s.Calls, s.Pinned = r.evacuated.Load(), r.released.Load(), r.calls.Load(), r.refused.Load()
	s.Flushes, s.Ticks = r.flushes.Load(), r.ticks.Load()
	return s
}

// Live counts the cells in use by reading every bitmap: exact when nobody allocates meanwhile. It is an audit, not a
// statistic.
func (a *Arena) Live() (cells, bytes int64) {
	a.pool.mu.Lock()
	n := a.pool.touched * slotsPerGroup
	a.pool.mu.Unlock()
	for i := range n {
		c := a.kinds[i].Load()
		if Class(c) == noClass {
			continue
		}
		h := a.header(i)
		live := int64(0)
		for w := range h.inUse {
			live += int64(bits.OnesCount64(h.inUse[w].Load()))
		}
		cells += live
		bytes += live * int64(a.shapes[Class(c)].size)
	}
	return cells, bytes
}
