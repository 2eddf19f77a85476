package memory

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"
)

// ticker calls Tick as a store does, on a clock of its own.
type ticker struct {
	t    testing.TB
	a    *Arena
	now  int64
	move func()
}

// run ticks until the arena has nothing left to do and returns the seconds that took.
func (k *ticker) run() int64 {
	k.t.Helper()
	begin := k.now
	for range 10_000 {
		again, evacuate := k.a.Tick(k.now)
		switch {
		case evacuate:
			k.move()
			k.a.EndEvacuation()
		case again == Forever:
			return (k.now - begin) / 1000
		default:
			k.now += max(again.Milliseconds(), 1)
		}
	}
	k.t.Fatalf("the arena never comes to rest: %+v", k.a.Stats())
	return 0
}

func newTicker(t testing.TB, a *Arena) *ticker {
	return &ticker{t: t, a: a, now: 1, move: func() {}}
}

func balanced(t testing.TB, a *Arena) Stats {
	t.Helper()
	s := a.Stats()
	if sum := s.RecordSlots + s.IndexSlots + s.WarmFree + s.Headers + s.Charged; sum != s.Held || s.Held > s.Limit {
		t.Fatalf("held %d of %d, the parts are %d: %+v", s.Held, s.Limit, sum, s)
	}
	return s
}

func TestWhatIsFreedGoesBackToTheSystem(t *testing.T) {
	a := newArena(t, 64<<20)
	var g Magazines
	k := newTicker(t, a)
	var refs []Ref
	for n := 0; ; n++ {
		r := g.Alloc(a, ClassFor(16+n%8000))
		if r == 0 {
			break
		}
		refs = append(refs, r)
	}
	full := balanced(t, a)
	for _, r := range refs {
		g.Free(a, r)
	}
	o := &owner{g: g}
	a.Register(o)
	took := k.run()
	s := balanced(t, a)
	if s.Released < uint64(full.Held)*95/100 || s.RecordSlots+s.WarmFree > full.Held*5/100 {
		t.Fatalf("of %d bytes %d went back, %+v", full.Held, s.Released, s)
	}
	if most := int64((DefaultReclaim.Quiet + DefaultReclaim.CoolOff + 5*time.Second) / time.Second); took > most {
		t.Fatalf("that took %d s", took)
	}
	if s.Calls > 16 {
		t.Fatalf("%d calls for neighbours", s.Calls)
	}
	// The memory serves again, and so does the rest of the limit.
	count := 0
	for o.g.Alloc(a, ClassFor(1000)) != 0 {
		count++
	}
	if count < 64<<20/1000*9/10 {
		t.Fatalf("%d cells afterwards", count)
	}
	balanced(t, a)
}

func TestNothingIsGivenBackBeforeQuietAndCoolOffArePast(t *testing.T) {
	a := newArena(t, 32<<20)
	var g Magazines
	fill := func() (refs []Ref) {
		for range 40 {
			refs = append(refs, g.Alloc(a, ClassFor(SlotSize)))
		}
		return refs
	}
	refs := fill()
	now := int64(1000)
	tick := func(after int64) Stats {
		now += after
		if _, evacuate := a.Tick(now); evacuate {
			t.Fatal("nothing is sparse")
		}
		return a.Stats()
	}
	tick(0)
	for _, r := range refs {
		g.Free(a, r)
	}
	for range 14 {
		if s := tick(1000); s.Released != 0 {
			t.Fatalf("given back after %d s", now/1000-1)
		}
	}
	// Somebody takes some: only what stayed free counts as cool, and not before it is quiet again.
	for _, r := range fill()[:39] {
		g.Free(a, r)
	}
	for range 4 {
		if s := tick(1000); s.Released != 0 {
			t.Fatalf("given back %d s after a slot was taken", now/1000-15)
		}
	}
	k := ticker{t: t, a: a, now: now}
	if k.run(); a.Stats().Released != 4*GroupSize {
		t.Fatalf("%+v", a.Stats())
	}
}

func TestOptionsOfReclaimAreKept(t *testing.T) {
	for name, c := range map[string]struct {
		r    Reclaim
		want func(s Stats) bool
	}{
		"keep all":    {Reclaim{KeepAll: true}, func(s Stats) bool { return s.Released == 0 && s.WarmFree == 16*GroupSize-1<<20 }},
		"floor":       {Reclaim{Floor: 10 << 20}, func(s Stats) bool { return s.Held >= 10<<20 && s.Held < 10<<20+GroupSize }},
		"everything":  {Reclaim{}, func(s Stats) bool { return s.WarmFree < GroupSize }},
		"slow":        {Reclaim{MaxPerTick: GroupSize}, func(s Stats) bool { return s.WarmFree < GroupSize && s.Calls == 15 && s.Ticks >= 15 }},
		"drained too": {Reclaim{KeepPerClass: 50}, func(s Stats) bool { return s.WarmFree < GroupSize }},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := New(Options{Limit: 64 << 20, Reclaim: &c.r})
			if err != nil {
				t.Fatal(err)
			}
			var g Magazines
			var refs []Ref
			for range 16 * slotsPerGroup {
				refs = append(refs, g.Alloc(a, ClassFor(SlotSize)))
			}
			for _, r := range refs[4:] {
				g.Free(a, r)
			}
			newTicker(t, a).run()
			if s := balanced(t, a); !c.want(s) {
				t.Fatalf("%+v", s)
			}
		})
	}
}

// TestASlotBorderCostsNoCallsToTheSystem fills a slot to its end and takes one cell more, over and over.
func TestASlotBorderCostsNoCallsToTheSystem(t *testing.T) {
	a := newArena(t, 16<<20)
	var g Magazines
	c := ClassFor(MaxCell)
	for range SlotSize / MaxCell {
		g.Alloc(a, c)
	}
	g.Free(a, g.Alloc(a, c))
	before, calls := balanced(t, a), a.mapping.calls.Load()
	for range 1_000_000 {
		g.Free(a, g.Alloc(a, c))
	}
	if s := balanced(t, a); s.Retired != before.Retired || a.mapping.calls.Load()-calls > 2 {
		t.Fatalf("%d slots retired, %d calls", s.Retired-before.Retired, a.mapping.calls.Load()-calls)
	}
}

func TestSparseSlotsAreEmptiedOnceAndForAll(t *testing.T) {
	a := newArena(t, 64<<20)
	o := new(owner)
	a.Register(o)
	rng := rand.New(rand.NewPCG(5, 6))
	live := map[Ref]uint64{}
	for n := uint64(0); n < 40_000; n++ {
		if r := o.g.Alloc(a, ClassFor(16+rng.IntN(2000))); r != 0 {
			*(*uint64)(unsafe.Add(a.At(r), 4)) = n
			live[r] = n
		}
	}
	peak := balanced(t, a)
	for r := range live {
		if rng.IntN(100) >= 3 {
			o.g.Free(a, r)
			delete(live, r)
		}
	}
	k := newTicker(t, a)
	moved := 0
	k.move = func() {
		o.g.Flush(a)
		refs := make([]Ref, 0, len(live))
		for r := range live {
			refs = append(refs, r)
		}
		slices.Sort(refs)
		for _, r := range refs {
			if !a.Sparse(r) {
				continue
			}
			n := o.g.Alloc(a, a.ClassOf(r))
			if n == 0 || a.Sparse(n) {
				t.Fatalf("cell %d moves to %d", r, n)
			}
			copy(unsafe.Slice((*byte)(a.At(n)), 12), unsafe.Slice((*byte)(a.At(r)), 12))
			live[n] = live[r]
			delete(live, r)
			o.g.Free(a, r)
			moved++
		}
	}
	k.run()
	s := balanced(t, a)
	if moved == 0 || s.Evacuated == 0 || s.RecordSlots+s.WarmFree > 8*slotsPerGroup*SlotSize {
		t.Fatalf("%d cells moved, %d bytes held of %d: %+v", moved, s.Held, peak.Held, s)
	}
	for r, n := range live {
		if *(*uint64)(unsafe.Add(a.At(r), 4)) != n {
			t.Fatalf("cell %d lost its contents", r)
		}
	}
	// A second pass finds nothing, whatever wakes it.
	moved = 0
	for r, n := range live {
		o.g.Free(a, r)
		delete(live, r)
		again := o.g.Alloc(a, ClassFor(100))
		*(*uint64)(unsafe.Add(a.At(again), 4)) = n
		live[again] = n
		break
	}
	o.g.Flush(a)
	k.now += 1_000_000
	if k.run(); moved != 0 {
		t.Fatalf("a second pass moved %d cells", moved)
	}
	for r := range live {
		o.g.Free(a, r)
	}
	if k.run(); a.Stats().Out != 0 || a.Stats().BadFrees != 0 {
		t.Fatalf("%+v", a.Stats())
	}
}

func TestAnEvacuationThatStopsEarlyLosesNoCell(t *testing.T) {
	a := newArena(t, 32<<20)
	o := new(owner)
	a.Register(o)
	c := ClassFor(1000)
	var refs []Ref
	for r := o.g.Alloc(a, c); r != 0; r = o.g.Alloc(a, c) {
		refs = append(refs, r)
	}
	count := len(refs)
	for i, r := range refs {
		if i%20 != 0 {
			o.g.Free(a, r)
		}
	}
	o.g.Flush(a)
	a.Tick(1)
	if _, evacuate := a.Tick(10_000); !evacuate {
		t.Fatal("nothing is sparse")
	}
	// A cell of a victim that is freed meanwhile is not handed out again.
	for i := 0; i < len(refs)/2; i += 20 {
		sparse := a.Sparse(refs[i])
		o.g.Free(a, refs[i])
		if r := o.g.Alloc(a, c); sparse && a.Sparse(r) {
			t.Fatal("a cell of a slot that is being emptied was handed out")
		} else {
			refs[i] = r
		}
	}
	a.EndEvacuation()
	for i := 0; i < len(refs); i += 20 {
		o.g.Free(a, refs[i])
	}
	again := 0
	for r := o.g.Alloc(a, c); r != 0; r = o.g.Alloc(a, c) {
		again++
	}
	if s := balanced(t, a); again != count || s.BadFrees != 0 {
		t.Fatalf("%d cells before, %d after, %+v", count, again, s)
	}
}

// TestSlotsComeFromTheFullestGroupTheLowestFirst leaves groups with different numbers of free slots.
func TestSlotsComeFromTheFullestGroupTheLowestFirst(t *testing.T) {
	a := newArena(t, 32<<20)
	var g Magazines
	whole := ClassFor(SlotSize)
	refs := make([]Ref, 4*slotsPerGroup)
	for i := range refs {
		refs[i] = g.Alloc(a, whole)
	}
	slotOf := func(r Ref) int { s, _ := a.locate(r); return s }
	a.dropDrained()
	for _, slot := range []int{0, 1, 2, 3, 8, 9, 16, 17, 18} {
		g.Free(a, refs[slot])
	}
	a.dropDrained()
	for i, want := range []int{8, 9, 16, 17, 18, 0, 1, 2, 3} {
		if got := slotOf(g.Alloc(a, whole)); got != want {
			t.Fatalf("slot %d comes as number %d, want %d", got, i, want)
		}
	}
}

func TestAnIndexSharesNoGroupWithRecords(t *testing.T) {
	a := newArena(t, 64<<20)
	var g Magazines
	seen := map[int]purpose{}
	for i := range 20_000 {
		c := ClassFor(1000)
		if i%3 == 0 {
			c = IndexClassFor(2048)
		}
		slot, _ := a.locate(g.Alloc(a, c))
		if p, ok := seen[slot/slotsPerGroup]; ok && p != c.purpose() {
			t.Fatalf("group %d holds both", slot/slotsPerGroup)
		}
		seen[slot/slotsPerGroup] = c.purpose()
	}
	// At the ceiling that is no reason to refuse.
	for g.Alloc(a, ClassFor(SlotSize)) != 0 {
		continue
	}
	if g.Alloc(a, IndexClassFor(SlotSize)) != 0 {
		t.Fatal("a slot from nowhere")
	}
}

func TestSizesOfHeadsAndIndexes(t *testing.T) {
	for n := 1; n <= 16<<10; n++ {
		if c := HeadClassFor(n); !c.IsHead() || nominalSize(c) < n || c > firstHead && nominalSize(c-1) >= n {
			t.Fatalf("a head of %d bytes gets class %d", n, c)
		}
	}
	for n := 1; n <= SlotSize; n++ {
		if c := IndexClassFor(n); c.purpose() != forIndex || nominalSize(c) < n {
			t.Fatalf("%d bytes of an index get class %d", n, c)
		}
	}
	for c := range Class(classCount) {
		if l := c.largest(); l < c && nominalSize(c) < SlotSize || l.purpose() != c.purpose() || l.IsHead() != c.IsHead() {
			t.Fatalf("class %d borrows up to %d", c, l)
		}
	}
}

// TestAMassDeleteIsNotLeftToTheNextFlush lets flushing become rare, as it does when it does not help, and then frees much.
func TestAMassDeleteIsNotLeftToTheNextFlush(t *testing.T) {
	a := newArena(t, 64<<20)
	o := new(owner)
	a.Register(o)
	woken := 0
	a.SetWake(func() { woken++ })
	c := ClassFor(1000)
	var refs []Ref
	for range 30_000 {
		refs = append(refs, o.g.Alloc(a, c))
	}
	k := newTicker(t, a)
	// Cells come back all the time, but never a whole slot.
	for range 200 {
		o.g.Free(a, refs[len(refs)-1])
		o.g.Flush(a)
		refs[len(refs)-1] = o.g.Alloc(a, c)
		again, _ := a.Tick(k.now)
		k.now += min(again.Milliseconds(), 1000)
	}
	if a.reclaim.interval < 60*time.Second {
		t.Fatalf("flushing is still tried every %s", a.reclaim.interval)
	}
	woken = 0
	for i := range refs {
		o.g.Free(a, refs[i])
	}
	if woken != 1 {
		t.Fatalf("%d wake-ups", woken)
	}
	for end := k.now + 20_000; k.now < end; {
		again, _ := a.Tick(k.now)
		k.now += min(again.Milliseconds(), end-k.now)
	}
	if s := a.Stats(); s.RecordSlots+s.WarmFree > GroupSize {
		t.Fatalf("after 20 s: %+v", s)
	}
	if k.run(); a.Stats().RecordSlots+a.Stats().WarmFree != 0 {
		t.Fatalf("%+v", a.Stats())
	}
	if tier := a.Stats().Tier; tier != a.pool.latest {
		t.Fatalf("an arena that holds nothing shows %s", tier)
	}
}

// TestAnEvacuationThatFreesNothingIsTriedSeldom has sparse slots and nobody who moves what is in them.
func TestAnEvacuationThatFreesNothingIsTriedSeldom(t *testing.T) {
	a := newArena(t, 32<<20)
	o := new(owner)
	a.Register(o)
	var refs []Ref
	for r := o.g.Alloc(a, ClassFor(1000)); r != 0; r = o.g.Alloc(a, ClassFor(1000)) {
		refs = append(refs, r)
	}
	for i, r := range refs {
		if i%20 != 0 {
			o.g.Free(a, r)
		}
	}
	tries := 0
	for now := int64(1); now < 3_600_000; now += 1000 {
		if _, evacuate := a.Tick(now); evacuate {
			tries++
			if a.EndEvacuation() != 0 {
				t.Fatal("emptied by nobody")
			}
			// The walk of the owner gave cells back.
			o.g.Free(a, o.g.Alloc(a, ClassFor(1000)))
			o.g.Flush(a)
		}
	}
	if tries == 0 || tries > 20 {
		t.Fatalf("%d tries in an hour", tries)
	}
}

func TestStatisticsDoNotWaitForATick(t *testing.T) {
	a := newArena(t, 32<<20)
	a.reclaim.mu.Lock()
	defer a.reclaim.mu.Unlock()
	done := make(chan Stats)
	go func() { done <- a.Stats() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("they wait")
	}
}
