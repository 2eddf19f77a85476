package memory

import (
	"math/bits"
	"sync"
	"unsafe"
)

// A groupState says who may use a group.
type groupState uint8

const (
	untouched groupState = iota // never used; may not be accessible yet
	warm                        // counted and usable
	moving                      // on its way from the system or back to it, counted, without the pool's lock
	cold                        // given back: reads as zeros, not counted
)

// A group is what the pool knows about 2 MiB.
type group struct {
	free    uint8 // slots that no class has
	state   groupState
	purpose purpose
	victim  bool // its free slots are not handed out
	pinned  bool // the system refused to take it back
	tier    Tier
	since   int64 // ms: when a tick first saw it wholly free; 0 = not seen
}

const (
	slotsPerGroup = GroupSize / SlotSize
	allFree       = 1<<slotsPerGroup - 1
	headerCost    = slotsPerGroup * int64(unsafe.Sizeof(header{}))

	// openGroups is how many groups become accessible with one call to the system.
	openGroups = 8
)

// The pool owns the slots that no class has. Slots come from the fullest group of their purpose, the lowest of these, so
// that the others empty; then from a wholly free group, one that was given back, and one never used, the lowest each.
//
// The lock is not held during calls to the system. A group that is on its way is in state moving; whoever finds nothing
// else waits on arrived.
type pool struct {
	mu      sync.Mutex
	arrived sync.Cond
	a       *Arena
	groups  []group
	touched int // groups below were used at some time: their headers count
	open    int // groups below are readable and writable
	warm    int // groups in states warm and moving
	moving  int // groups in state moving
	charged int64
	carves  uint64 // slots handed out

	partial [purposes][slotsPerGroup]set // warm groups with free slots, by their number
	whole   set                          // warm groups that are wholly free
	given   set                          // groups in state cold
	refused uint64                       // times that the system gave nothing

	fresh      []int  // groups that came since they were last looked at for huge pages
	collapsing int    // group whose pages are being made a huge one, -1 = none: it is not given back
	latest     Tier   // of the group that came last
	degraded   uint64 // groups that got ordinary pages although huge ones were wanted
}

func (p *pool) init(a *Arena) {
	p.a = a
	p.arrived.L = &p.mu
	p.collapsing = -1
	n := a.slots / slotsPerGroup
	p.groups = make([]group, n)
	for i := range p.partial {
		for f := range p.partial[i] {
			p.partial[i][f] = newSet(n)
		}
	}
	p.whole, p.given = newSet(n), newSet(n)
}

// held returns what counts against the ceiling.
func (p *pool) held() int64 {
	return int64(p.warm)*GroupSize + int64(p.touched)*headerCost + p.charged
}

// take returns a free slot, committing a group when there is none; -1 at the ceiling.
func (p *pool) take(want purpose) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if g := p.pick(want); g >= 0 {
			return p.carve(g, want)
		}
		if !p.bring() {
			break
		}
	}
	// At the ceiling groups of the other purpose serve too.
	for other := range p.partial {
		if g := p.fullest(purpose(other)); g >= 0 {
			return p.carve(g, purpose(other))
		}
	}
	return -1
}

// pick returns a warm group with a free slot, or -1.
func (p *pool) pick(want purpose) int {
	if g := p.fullest(want); g >= 0 {
		return g
	}
	return p.whole.lowest()
}

func (p *pool) fullest(want purpose) int {
	for f := range p.partial[want] {
		if g := p.partial[want][f].lowest(); g >= 0 {
			return g
		}
	}
	return -1
}

// carve takes the lowest free slot of group g.
func (p *pool) carve(g int, want purpose) int {
	p.unfile(g)
	group := &p.groups[g]
	if group.free == allFree {
		group.purpose, group.since = want, 0
	}
	i := bits.TrailingZeros8(group.free)
	group.free &^= 1 << i
	p.file(g)
	p.carves++
	return g*slotsPerGroup + i
}

// give takes a slot back.
func (p *pool) give(slot int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := slot / slotsPerGroup
	p.unfile(g)
	group := &p.groups[g]
	group.free |= 1 << (slot % slotsPerGroup)
	if group.free == allFree {
		group.victim = false
	}
	p.file(g)
}

// setOf returns the set in which a group belongs, nil for none.
func (p *pool) setOf(g int) *set {
	group := &p.groups[g]
	switch {
	case group.state == cold:
		return &p.given
	case group.state != warm || group.free == 0 || group.victim:
		return nil
	case group.free == allFree:
		return &p.whole
	default:
		return &p.partial[group.purpose][bits.OnesCount8(group.free)]
	}
}

func (p *pool) file(g int) {
	if s := p.setOf(g); s != nil {
		s.add(g)
	}
}

func (p *pool) unfile(g int) {
	if s := p.setOf(g); s != nil {
		s.remove(g)
	}
}

// bring makes one more group warm. It reports false at the ceiling, when also nobody else is bringing one or giving one
// back. The lock is released meanwhile.
func (p *pool) bring() bool {
	g := p.given.lowest()
	cost := int64(GroupSize)
	if g < 0 {
		g = p.touched
		cost += headerCost
	}
	if g == len(p.groups) || p.held()+cost > p.a.limit {
		if p.moving == 0 {
			return false
		}
		p.arrived.Wait()
		return true
	}
	p.unfile(g)
	group := &p.groups[g]
	group.state = moving
	p.warm++
	p.moving++
	p.touched = max(p.touched, g+1)
	opened := p.open
	if g >= opened {
		opened = min(g+openGroups, len(p.groups))
	}
	from := p.open
	p.mu.Unlock()
	var err error
	if opened > from {
		// Somebody may be opening the same groups: that does no harm.
		err = p.a.mapping.open(uintptr(from)*GroupSize, uintptr(opened-from)*GroupSize)
	}
	tier := Tier4K
	if err == nil {
		tier = p.a.mapping.fetch(g)
	}
	p.mu.Lock()
	p.moving--
	p.arrived.Broadcast()
	if err != nil {
		p.warm--
		p.refused++
		group.state = untouched
		// It is the next one to be tried, unless another one above it came.
		if g == p.touched-1 {
			p.touched--
		} else {
			group.state = cold
		}
		p.file(g)
		return false
	}
	group.state, group.free, group.tier, p.latest = warm, allFree, tier, tier
	p.open = max(p.open, opened)
	p.file(g)
	if tier != TierHugetlb && p.a.mapping.mode != HugePagesOff {
		p.fresh = append(p.fresh, g)
		p.a.reclaim.note()
	}
	// Readers may follow references into the group from here on. Groups below were opened with it or before.
	p.a.committed.Store(uint32(uint64(p.open) * GroupSize >> p.a.shift))
	return true
}

// Charge counts n bytes of a structure outside the arena against the ceiling.
func (a *Arena) Charge(n int64) error {
	p := &a.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.held()+n > a.limit {
		g := p.whole.lowest()
		switch {
		case p.moving > 0 || g >= 0 && g == p.collapsing:
			p.arrived.Wait()
		case g < 0 || !a.release([]int{g}):
			return ErrNoMemory
		}
	}
	p.charged += n
	return nil
}

// Uncharge takes back a Charge.
func (a *Arena) Uncharge(n int64) {
	a.pool.mu.Lock()
	a.pool.charged -= n
	a.pool.mu.Unlock()
}

// release returns neighbouring groups, which are wholly free, to the system with one call and reports whether that took
// them. The pool's lock is held by the caller and released meanwhile.
func (a *Arena) release(run []int) bool {
	p, r := &a.pool, &a.reclaim
	for _, g := range run {
		p.unfile(g)
		p.groups[g].state = moving
	}
	p.moving += len(run)
	first, n := run[0], len(run)
	p.mu.Unlock()
	err := a.mapping.giveBack(first, n)
	p.mu.Lock()
	p.moving -= len(run)
	for _, g := range run {
		group := &p.groups[g]
		group.since = 0
		if group.pinned = err != nil; group.pinned {
			group.state = warm
		} else {
			group.state = cold
			p.warm--
		}
		p.file(g)
	}
	p.arrived.Broadcast()
	r.calls.Add(1)
	if err != nil {
		r.refused.Add(1)
		return false
	}
	r.released.Add(uint64(n) * GroupSize)
	return true
}

// A set of groups that finds its lowest member.
type set struct {
	words []uint64
	low   int // no word below this one has a member
	n     int
}

func newSet(n int) set { return set{words: make([]uint64, (n+63)/64)} }

func (s *set) add(g int) {
	s.words[g/64] |= 1 << (g % 64)
	s.low = min(s.low, g/64)
	s.n++
}

func (s *set) remove(g int) {
	s.words[g/64] &^= 1 << (g % 64)
	s.n--
}

// lowest returns the lowest member, -1 when there is none.
func (s *set) lowest() int {
	if s.n == 0 {
		return -1
	}
	for s.words[s.low] == 0 {
		s.low++
	}
	return s.low*64 + bits.TrailingZeros64(s.words[s.low])
}
