package memory

import "math/bits"

// A GroupState says what a group is used for.
type GroupState uint8

const (
	// GroupUnused was never used.
	GroupUnused GroupState = iota
	// GroupFree is held and wholly free.
	GroupFree
	// GroupRecords has slots of records.
	GroupRecords
	// GroupIndex has slots of indexes.
	GroupIndex
	// GroupMoving is on its way from or to the system.
	GroupMoving
	// GroupCold is given back.
	GroupCold
)

var groupStateNames = [...]string{"unused", "free", "records", "index", "moving", "cold"}

// String returns the name that is shown to users.
func (s GroupState) String() string { return groupStateNames[s] }

// A GroupMap describes 2 MiB of an arena.
type GroupMap struct {
	State GroupState
	Tier  Tier                 // of the pages, where there are some
	Used  int                  // slots that belong to a class, of 8
	Live  int64                // bytes of cells handed out
	Sizes [slotsPerGroup]int32 // bytes of the cells of each slot, 0 = none
}

// Map describes all groups that were ever used, in order, as they are at about this moment.
func (a *Arena) Map() []GroupMap {
	p := &a.pool
	p.mu.Lock()
	groups := append([]group(nil), p.groups[:p.touched]...)
	p.mu.Unlock()
	out := make([]GroupMap, len(groups))
	for g := range groups {
		from, to := &groups[g], &out[g]
		to.Tier = from.tier
		switch {
		case from.state == moving:
			to.State = GroupMoving
		case from.state == cold:
			to.State = GroupCold
		case from.state == untouched:
			to.State = GroupUnused
		case from.free == allFree:
			to.State = GroupFree
		case from.purpose == forIndex:
			to.State = GroupIndex
		default:
			to.State = GroupRecords
		}
		if from.state != warm {
			continue
		}
		to.Used = slotsPerGroup - bits.OnesCount8(from.free)
		for i := range slotsPerGroup {
			slot := g*slotsPerGroup + i
			c := Class(a.kinds[slot].Load())
			if c == noClass {
				continue
			}
			k := &a.classes[c]
			k.mu.Lock()
			if Class(a.kinds[slot].Load()) == c {
				to.Sizes[i] = int32(a.shapes[c].size)
				to.Live += int64(a.header(slot).out) * int64(a.shapes[c].size)
			}
			k.mu.Unlock()
		}
	}
	return out
}
