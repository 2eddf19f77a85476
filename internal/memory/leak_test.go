package memory

import (
	"runtime"
	"strings"
	"testing"
)

//go:noinline
func planted(g *Magazines, a *Arena, n int) (refs []Ref) {
	for range n {
		refs = append(refs, g.Alloc(a, ClassFor(1000)))
	}
	return refs
}

func TestLeakCheckNamesThePlaceOfWhatIsStillInUse(t *testing.T) {
	a := newArena(t, 32<<20)
	var g Magazines
	old := planted(&g, a, 10) // before the check: unknown to it
	if r := a.Leaks(); r.On || len(r.Sites) != 0 {
		t.Fatalf("%+v", r)
	}
	a.StartLeakCheck(1)
	kept := planted(&g, a, 7)
	for _, r := range planted(&g, a, 100) {
		g.Free(a, r)
	}
	for _, r := range old {
		g.Free(a, r)
	}
	r := a.Leaks()
	if !r.On || r.Rate != 1 || r.Cells != 7 || r.Bytes != 7*int64(a.Size(ClassFor(1000))) || len(r.Sites) != 1 {
		t.Fatalf("%+v", r)
	}
	site := r.Sites[0]
	if f, _ := runtime.CallersFrames(site.Stack).Next(); !strings.HasSuffix(f.Function, "memory.planted") || !strings.HasSuffix(f.File, "leak_test.go") || f.Line == 0 {
		t.Fatalf("the innermost caller is %+v", f)
	}
	// A cell that is moved keeps its origin.
	to := g.Alloc(a, ClassFor(1000))
	a.Moved(kept[0], to)
	g.Free(a, kept[0])
	if r := a.Leaks(); r.Cells != 7 || len(r.Sites) != 1 {
		t.Fatalf("after a move: %+v", r)
	}
	for _, r := range append(kept[1:], to) {
		g.Free(a, r)
	}
	if r := a.Leaks(); r.Cells != 0 || len(r.Sites) != 0 || a.Stats().BadFrees != 0 {
		t.Fatalf("%+v", r)
	}
	a.StopLeakCheck()
	if r := a.Leaks(); r.On {
		t.Fatal("still on")
	}
}

func TestLeakCheckLooksAtOneOfSomany(t *testing.T) {
	a := newArena(t, 32<<20)
	var g Magazines
	a.StartLeakCheck(10)
	for _, r := range planted(&g, a, 1000)[:500] {
		g.Free(a, r)
	}
	if r := a.Leaks(); r.Rate != 10 || r.Cells != 50 {
		t.Fatalf("%+v", r)
	}
}

func BenchmarkAllocFreeLeakCheck(b *testing.B) {
	for name, rate := range map[string]int{"off": 0, "one-of-1000": 1000, "all": 1} {
		b.Run("check="+name, func(b *testing.B) {
			a := newArena(b, 32<<20)
			if rate > 0 {
				a.StartLeakCheck(rate)
			}
			var g Magazines
			b.ReportAllocs()
			for b.Loop() {
				g.Free(a, g.Alloc(a, ClassFor(100)))
			}
		})
	}
}

func TestMapShowsWhatGroupsAreFor(t *testing.T) {
	a := newArena(t, 32<<20)
	var g Magazines
	for range 3000 {
		g.Alloc(a, ClassFor(1000))
	}
	g.Alloc(a, IndexClassFor(2048))
	whole := []Ref{}
	for range 3 * slotsPerGroup {
		whole = append(whole, g.Alloc(a, ClassFor(SlotSize)))
	}
	count := map[GroupState]int{}
	live := int64(0)
	for _, m := range a.Map() {
		count[m.State]++
		live += m.Live
		for _, size := range m.Sizes {
			if size != 0 && size != int32(a.Size(ClassFor(1000))) && size != 2048 && size != SlotSize {
				t.Errorf("cells of %d bytes", size)
			}
		}
	}
	s := balanced(t, a)
	if live != s.Out || count[GroupIndex] != 1 || count[GroupRecords] < 4 {
		t.Fatalf("%v, %d bytes live, %d out", count, live, s.Out)
	}
	for _, r := range whole {
		g.Free(a, r)
	}
	newTicker(t, a).run()
	for _, m := range a.Map() {
		count[m.State]--
	}
	if count[GroupCold] >= 0 {
		t.Fatalf("nothing is cold: %v", count)
	}
}
