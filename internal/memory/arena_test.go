package memory

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"unsafe"

	"github.com/larder-cache/larder/internal/invariants"
)

func newArena(t testing.TB, limit int64) *Arena {
	t.Helper()
	a, err := New(Options{Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestEverySizeFitsItsClassWithLittleWaste(t *testing.T) {
	for _, unit := range []int{8, 16, 32, 64} {
		for n := 0; n <= MaxCell; n++ {
			c := ClassFor(n)
			s := shapeOf(c, unit)
			if int(s.size) < n {
				t.Fatalf("unit %d: %d bytes get a cell of %d", unit, n, s.size)
			}
			if c > 0 && nominalSize(c-1) >= n {
				t.Fatalf("%d bytes get class %d, but class %d is large enough", n, c, c-1)
			}
			if waste := float64(int(s.size)-n) / float64(s.size); unit == 8 && n > 256 && waste > 0.125 {
				t.Fatalf("%d bytes waste %.3f of a cell of %d", n, waste, s.size)
			}
		}
	}
	if got := ClassFor(MaxCell + 1); got != wholeSlot {
		t.Fatalf("above MaxCell: class %d, want %d", got, wholeSlot)
	}
}

func TestCellIndexIsExactForEveryOffset(t *testing.T) {
	for c := range classCount {
		s := shapeOf(Class(c), 8)
		for off := uint32(0); off < SlotSize; off += 8 {
			i, ok := s.cellIndex(off)
			want := off%s.size == 0 && off/s.size < s.cells
			if ok != want || ok && i != off/s.size {
				t.Fatalf("class %d offset %d: cell %d, %v", c, off, i, ok)
			}
		}
	}
}

func TestLimitOutsideTheRangeIsRefused(t *testing.T) {
	for _, n := range []int64{-1, 0, MinLimit - 1, MaxLimit + 1} {
		if _, err := New(Options{Limit: n}); !errors.Is(err, ErrLimit) {
			t.Fatalf("limit %d: %v, want ErrLimit", n, err)
		}
	}
}

func TestNoTwoCellsOverlapAndAllComeBack(t *testing.T) {
	a := newArena(t, 32<<20)
	var g Magazines
	rng := rand.New(rand.NewPCG(1, 2))
	type cell struct {
		r    Ref
		n    int
		mark byte
	}
	var cells []cell
	for round := range 40_000 {
		if len(cells) > 0 && rng.IntN(3) == 0 {
			i := rng.IntN(len(cells))
			c := cells[i]
			b := unsafe.Slice((*byte)(a.At(c.r)), c.n)
			if b[0] != c.mark || b[c.n-1] != c.mark {
				t.Fatalf("cell of %d bytes was overwritten", c.n)
			}
			g.Free(a, c.r)
			cells[i] = cells[len(cells)-1]
			cells = cells[:len(cells)-1]
			continue
		}
		n := 16 + rng.IntN(2000)
		r := g.Alloc(a, ClassFor(n))
		if r == 0 {
			continue
		}
		b := unsafe.Slice((*byte)(a.At(r)), n)
		b[0], b[n-1] = byte(round), byte(round)
		cells = append(cells, cell{r, n, byte(round)})
	}
	for _, c := range cells {
		g.Free(a, c.r)
	}
	if n, _ := a.Live(); n != 0 {
		t.Fatalf("%d cells live after all were freed", n)
	}
	g.Flush(a)
	if s := a.Stats(); s.Out != 0 || s.BadFrees != 0 {
		t.Fatalf("after all was freed: %+v", s)
	}
}

func TestCeilingIsKeptAndReliefFindsWhatMagazinesHold(t *testing.T) {
	a := newArena(t, MinLimit)
	var g Magazines
	fill := func(n int) (refs []Ref) {
		for {
			r := g.Alloc(a, ClassFor(n))
			if r == 0 {
				return refs
			}
			refs = append(refs, r)
		}
	}
	first := fill(100)
	if s := a.Stats(); s.Held > MinLimit || len(first) < MinLimit*7/10/104 {
		t.Fatalf("%d cells, %+v", len(first), s)
	}
	for _, r := range first {
		g.Free(a, r)
	}
	second := fill(5000)
	if len(second) < MinLimit*7/10/5120 {
		t.Fatalf("another size finds room for %d cells only", len(second))
	}
	for _, r := range second {
		g.Free(a, r)
	}
	if third := fill(100); len(third) < len(first)*95/100 {
		t.Fatalf("first %d cells, then %d", len(first), len(third))
	}
}

func TestAtTheCeilingACellComesFromALargerClassThatHasOne(t *testing.T) {
	a := newArena(t, MinLimit)
	var g Magazines
	small, large := ClassFor(500), ClassFor(3000)
	var last Ref
	for r := g.Alloc(a, large); r != 0; r = g.Alloc(a, large) {
		last = r
	}
	refused := a.Stats().Refused
	if r := g.Alloc(a, small); r != 0 || a.Stats().Refused != refused+1 {
		t.Fatalf("a full arena gives cell %d, %d refused", r, a.Stats().Refused)
	}
	g.Free(a, last)
	r := g.Alloc(a, small)
	if r == 0 || a.Size(a.ClassOf(r)) < 500 {
		t.Fatalf("a cell of %d bytes is free, got %d", a.Size(large), r)
	}
	if g.Alloc(a, small) != 0 {
		t.Fatal("a cell from nowhere")
	}
	g.Free(a, r)
	if r := g.Alloc(a, large); r == 0 || a.ClassOf(r) != large {
		t.Fatalf("the cell did not go back to its class: %d", r)
	}
	if s := a.Stats(); s.BadFrees != 0 {
		t.Fatalf("%+v", s)
	}
}

func TestChargeCountsAgainstTheCeiling(t *testing.T) {
	a := newArena(t, MinLimit)
	if err := a.Charge(MinLimit + 1); !errors.Is(err, ErrNoMemory) {
		t.Fatalf("Charge above the limit: %v", err)
	}
	if err := a.Charge(MinLimit - 1<<20); err != nil {
		t.Fatal(err)
	}
	var g Magazines
	if r := g.Alloc(a, 0); r != 0 {
		t.Fatal("a group was committed beyond the ceiling")
	}
	a.Uncharge(MinLimit - 1<<20)
	if r := g.Alloc(a, 0); r == 0 {
		t.Fatal("nothing to have after Uncharge")
	}
}

func TestBadFreesAreRefusedAndCounted(t *testing.T) {
	if invariants.Enabled {
		defer func() {
			if recover() == nil {
				t.Fatal("a double free passed the invariants")
			}
		}()
	}
	a := newArena(t, MinLimit)
	var g Magazines
	r := g.Alloc(a, ClassFor(100))
	g.Free(a, r)
	g.Free(a, r)     // twice
	g.Free(a, r+1)   // inside a cell
	g.Free(a, 1<<31) // foreign
	g.Free(a, 0)
	if s := a.Stats(); s.BadFrees != 4 {
		t.Fatalf("%d bad frees counted, want 4", s.BadFrees)
	}
	seen := map[Ref]bool{}
	for range 5000 {
		x := g.Alloc(a, ClassFor(100))
		if seen[x] {
			t.Fatalf("cell %d handed out twice after a double free", x)
		}
		seen[x] = true
	}
}

type owner struct {
	sync.Mutex
	g Magazines
}

func (o *owner) Magazines() *Magazines { return &o.g }

func TestOwnersAllocateAndFreeAtTheSameTime(t *testing.T) {
	a := newArena(t, 16<<20)
	var wg sync.WaitGroup
	for w := range 4 {
		o := new(owner)
		a.Register(o)
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 7))
			var refs []Ref
			for range 30_000 {
				o.Lock()
				if len(refs) > 0 && rng.IntN(2) == 0 {
					i := rng.IntN(len(refs))
					if *(*uint32)(unsafe.Add(a.At(refs[i]), 4)) != uint32(refs[i]) {
						t.Error("a cell was overwritten")
					}
					o.g.Free(a, refs[i])
					refs[i] = refs[len(refs)-1]
					refs = refs[:len(refs)-1]
				} else if r := o.g.Alloc(a, ClassFor(16+rng.IntN(20_000))); r != 0 {
					*(*uint32)(unsafe.Add(a.At(r), 4)) = uint32(r)
					refs = append(refs, r)
				}
				o.Unlock()
			}
			o.Lock()
			for _, r := range refs {
				o.g.Free(a, r)
			}
			o.g.Flush(a)
			o.Unlock()
		})
	}
	wg.Wait()
	if s := a.Stats(); s.Out != 0 || s.BadFrees != 0 {
		t.Fatalf("%+v", s)
	}
}

func TestDiscardedMemoryReadsAsZeros(t *testing.T) {
	if HeapBacked {
		t.Log("the heap-backed arena keeps its bytes")
		return
	}
	a := newArena(t, MinLimit)
	var g Magazines
	r := g.Alloc(a, ClassFor(100))
	*(*uint64)(a.At(r)) = 42
	a.Discard()
	if got := *(*uint64)(a.At(r)); got != 0 {
		t.Fatalf("read %d after Discard", got)
	}
}

func TestFreedCellsArePoisonedInBuildsWithInvariants(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("needs the tag invariants")
	}
	a := newArena(t, MinLimit)
	var g Magazines
	r := g.Alloc(a, ClassFor(100))
	b := unsafe.Slice((*byte)(a.At(r)), 100)
	clear(b)
	g.Free(a, r)
	for i, x := range b[4:] { // the first bytes link the cell
		if x != invariants.Poison {
			t.Fatalf("byte %d of a freed cell is %#x", 4+i, x)
		}
	}
}

// TestTheCeilingIsNeverPassed lets writers race at the limit while structures are charged and memory goes back.
func TestTheCeilingIsNeverPassed(t *testing.T) {
	a, err := New(Options{Limit: 24 << 20, Reclaim: &Reclaim{}})
	if err != nil {
		t.Fatal(err)
	}
	rounds := 300
	if testing.Short() {
		rounds = 10
	}
	var workers, watcher sync.WaitGroup
	for w := range 16 {
		o := new(owner)
		a.Register(o)
		workers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for range rounds {
				var refs []Ref
				c := ClassFor(500 + rng.IntN(200_000))
				o.Lock()
				for len(refs) < 3000 {
					r := o.g.Alloc(a, c)
					if r == 0 {
						break
					}
					refs = append(refs, r)
				}
				o.Unlock()
				if a.Charge(1<<20) == nil {
					a.Uncharge(1 << 20)
				}
				o.Lock()
				for _, r := range refs {
					o.g.Free(a, r)
				}
				o.Unlock()
			}
		})
	}
	stop := make(chan struct{})
	watcher.Go(func() {
		for now := int64(1); ; now += 1000 {
			select {
			case <-stop:
				return
			default:
			}
			if s := a.Stats(); s.Held > s.Limit {
				t.Errorf("%d bytes are held of %d", s.Held, s.Limit)
				return
			}
			if _, evacuate := a.Tick(now); evacuate {
				a.EndEvacuation()
			}
		}
	})
	workers.Wait()
	close(stop)
	watcher.Wait()
	for _, o := range a.relief.owners {
		o.Magazines().Flush(a)
	}
	if s := balanced(t, a); s.Out != 0 || s.BadFrees != 0 {
		t.Fatalf("%+v", s)
	}
}

func BenchmarkAllocFree(b *testing.B) {
	a := newArena(b, 64<<20)
	for _, n := range []int{64, 128, 1024, 8192} {
		b.Run("size="+strconv.Itoa(n), func(b *testing.B) {
			var g Magazines
			c := ClassFor(n)
			b.ReportAllocs()
			for b.Loop() {
				g.Free(a, g.Alloc(a, c))
			}
		})
	}
}
