package netbuf

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/larder-cache/larder/internal/invariants"
)

// checkBooks fails when a class of the pool does not add up, or when what it says is cached is not what the stores hold.
// The stores must not be in use meanwhile.
func checkBooks(t *testing.T, p *Pool, stores ...*Blocks) Stats {
	t.Helper()
	for _, b := range stores {
		b.Publish()
	}
	s := p.Stats()
	for i, c := range s.Classes {
		if c.Allocated != c.InUse+c.Cached+c.Free {
			t.Fatalf("%+v does not add up", c)
		}
		held := 0
		for _, b := range stores {
			held += len(b.class[i].stack)
		}
		if int64(held) != c.Cached {
			t.Fatalf("%d blocks of %d are cached, the books say %d", held, c.Size, c.Cached)
		}
	}
	return s
}

// take gets n blocks of a size.
func take(b *Blocks, n, size int) [][]byte {
	blocks := make([][]byte, n)
	for i := range blocks {
		blocks[i] = b.Get(size)
	}
	return blocks
}

func TestClassOfEverySize(t *testing.T) {
	for _, c := range []struct{ n, size int }{
		{0, 4096},
		{1, 4096},
		{4096, 4096},
		{4097, 8192},
		{8192, 8192},
		{8193, 16384},
		{16385, 32768},
		{32768, 32768},
		{32769, 32769},
		{1 << 20, 1 << 20},
	} {
		b := NewPool().NewBlocks(DefaultBudget)
		if got := b.Get(c.n); len(got) != c.size || cap(got) != c.size {
			t.Errorf("Get(%d) has length %d and capacity %d, want %d", c.n, len(got), cap(got), c.size)
		}
	}
}

func TestBudgetDecidesHowManyBlocksAreKept(t *testing.T) {
	for _, c := range []struct {
		budget int
		limits [NumClasses]int
	}{
		{DefaultBudget, [NumClasses]int{128, 64, 32, 16}},
		{40 << 10, [NumClasses]int{10, 5, 2, 0}},
		{8 << 10, [NumClasses]int{2, 0, 0, 0}},
		{4 << 10, [NumClasses]int{}},
		{0, [NumClasses]int{}},
		{1 << 30, [NumClasses]int{512, 512, 512, 512}},
	} {
		b := NewPool().NewBlocks(c.budget)
		for i, want := range c.limits {
			if got := b.class[i].limit; got != want {
				t.Errorf("budget %d keeps %d blocks of %d, want %d", c.budget, got, classSize(i), want)
			}
		}
	}
}

func TestOneFreeTooManyReturnsThreeQuartersAtOnce(t *testing.T) {
	p := NewPool()
	b := p.NewBlocks(DefaultBudget)
	blocks := take(b, 129, MinBlock)
	for _, block := range blocks[:128] {
		b.Put(block)
	}
	before := checkBooks(t, p, b).Classes[0]
	if before.Cached != 128 || before.Free != 0 || before.GlobalOps != 0 {
		t.Fatalf("after 128 frees: %+v", before)
	}
	b.Put(blocks[128])
	after := checkBooks(t, p, b).Classes[0]
	if after.Cached != 32 || after.Free != 97 || after.GlobalOps != 1 {
		t.Fatalf("after the 129th free: %+v", after)
	}
	if last := b.Get(MinBlock); unsafe.SliceData(last) != unsafe.SliceData(blocks[128]) {
		t.Error("the block freed last is not the first to come back")
	}
	take(b, 31, MinBlock)
	if now := checkBooks(t, p, b).Classes[0]; now.GlobalOps != 1 || now.Allocated != 129 {
		t.Fatalf("the next 32 blocks did not all come from the store: %+v", now)
	}
	take(b, 1, MinBlock)
	if now := checkBooks(t, p, b).Classes[0]; now.GlobalOps != 2 || now.Cached != 31 {
		t.Fatalf("a refill does not bring a quarter in one operation: %+v", now)
	}
}

func TestStoreDrainsToZero(t *testing.T) {
	p := NewPool()
	a, b := p.NewBlocks(DefaultBudget), p.NewBlocks(DefaultBudget)
	for _, store := range []*Blocks{a, b} {
		for _, size := range []int{1, 8192, 16384, 32768} {
			for _, block := range take(store, 10, size) {
				store.Put(block)
			}
		}
	}
	held := take(b, 3, MinBlock)
	a.SetBudget(0)
	checkBooks(t, p, a, b)
	for i := range a.class {
		if n := len(a.class[i].stack); n != 0 {
			t.Errorf("%d blocks of %d after setting the budget to 0", n, classSize(i))
		}
	}
	block := a.Get(1)
	a.Put(block)
	if n := len(a.class[0].stack); n != 0 {
		t.Errorf("a store without budget keeps %d blocks", n)
	}
	b.Close()
	s := checkBooks(t, p, a)
	if c := s.Classes[0]; c.InUse != 3 {
		t.Errorf("a closed store's blocks in use are forgotten: %+v", c)
	}
	for _, block := range held {
		a.Put(block)
	}
	if c := checkBooks(t, p, a).Classes[0]; c.InUse != 0 {
		t.Errorf("blocks of a closed store cannot be given back elsewhere: %+v", c)
	}
}

func TestTrimDropsWhatIsNotNeeded(t *testing.T) {
	p := NewPool()
	b := p.NewBlocks(DefaultBudget)
	// Ten times the budget, then silence.
	blocks := take(b, 1280, MinBlock)
	for _, block := range blocks {
		b.Put(block)
	}
	if got := checkBooks(t, p, b).Bytes(); got != 1280*MinBlock {
		t.Fatalf("%d bytes before trimming", got)
	}
	p.Trim()
	p.Trim()
	if got := checkBooks(t, p, b).Bytes(); got > DefaultBudget {
		t.Errorf("%d bytes are left, above the budget of %d", got, DefaultBudget)
	}
	if p.Free() != 0 {
		t.Errorf("the pool keeps %d bytes that nobody needed", p.Free())
	}

	// What is needed between two trims stays.
	other := p.NewBlocks(0)
	working := take(other, 8, MinBlock)
	for range 5 {
		for _, block := range working {
			other.Put(block)
		}
		if n := p.Trim(); n != 0 {
			t.Errorf("%d bytes in steady use were dropped", n)
		}
		working = take(other, 8, MinBlock)
	}
}

func TestBlocksThatMoveBetweenStoresCostOneOperationPerBatch(t *testing.T) {
	p := NewPool()
	from, to := p.NewBlocks(DefaultBudget), p.NewBlocks(DefaultBudget)
	const rounds = 1_000_000
	n := rounds
	if testing.Short() || invariants.Enabled {
		n = rounds / 50
	}
	for range n {
		to.Put(from.Get(MinBlock))
	}
	c := checkBooks(t, p, from, to).Classes[0]
	// 97 blocks go back at once, and are fetched by 32, 32, 32 and the one that is left.
	most := uint64(5*n/97 + 5)
	if c.GlobalOps > most {
		t.Errorf("%d operations on the pool for %d blocks, want at most %d", c.GlobalOps, n, most)
	}
	if c.InUse != 0 || c.Allocated > 512 {
		t.Errorf("the books after %d blocks: %+v", n, c)
	}
}

func TestBooksAddUpAtAllTimes(t *testing.T) {
	p := NewPool()
	var wg sync.WaitGroup
	stop := make(chan struct{})
	shared := make(chan []byte, 64)
	var rounds atomic.Int64
	for i := range 4 {
		wg.Go(func() {
			b := p.NewBlocks(128 << 10)
			defer b.Close()
			r := rand.New(rand.NewPCG(1, uint64(i)))
			var held [][]byte
			for {
				select {
				case <-stop:
					for _, block := range held {
						b.Put(block)
					}
					return
				case block := <-shared:
					b.Put(block)
				default:
				}
				switch {
				case len(held) < 100 && r.IntN(2) == 0:
					held = append(held, b.Get(r.IntN(40<<10)))
				case len(held) > 0:
					block := held[len(held)-1]
					held = held[:len(held)-1]
					select {
					case shared <- block:
					default:
						b.Put(block)
					}
				}
				if r.IntN(8) == 0 {
					b.Publish()
				}
				rounds.Add(1)
			}
		})
	}
	for rounds.Load() < 200_000 {
		for _, c := range p.Stats().Classes {
			if c.Allocated != c.InUse+c.Cached+c.Free || c.Free < 0 {
				t.Errorf("%+v does not add up", c)
			}
		}
		p.Trim()
	}
	close(stop)
	wg.Wait()
	last := p.NewBlocks(0)
	for len(shared) > 0 {
		last.Put(<-shared)
	}
	s := checkBooks(t, p, last)
	for _, c := range s.Classes {
		if c.InUse != 0 || c.Cached != 0 {
			t.Errorf("at the end: %+v", c)
		}
	}
	if s.Large != 0 || s.LargeBytes != 0 {
		t.Errorf("%d large blocks of %d bytes at the end", s.Large, s.LargeBytes)
	}
}

func TestStoreAllocatesNothingInSteadyUse(t *testing.T) {
	if invariants.Enabled {
		t.Log("the guard of this build allocates; only the plain build promises this")
		return
	}
	b := NewPool().NewBlocks(DefaultBudget)
	b.Put(b.Get(MinBlock))
	if n := testing.AllocsPerRun(1000, func() {
		for size := MinBlock; size <= MaxBlock; size *= 2 {
			b.Put(b.Get(size))
		}
		b.Publish()
	}); n != 0 {
		t.Errorf("%v allocations for each size once", n)
	}
}

func TestGuardFindsMisuse(t *testing.T) {
	if !invariants.Enabled {
		t.Log("only builds with the tag invariants have the guard")
		return
	}
	panics := func(what string, fn func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s is not found", what)
			}
		}()
		fn()
	}
	b := NewPool().NewBlocks(DefaultBudget)
	block := b.Get(1)
	b.Put(block)
	if block[0] != invariants.Poison || block[len(block)-1] != invariants.Poison {
		t.Error("a free block is not poisoned")
	}
	panics("giving a block back twice", func() { b.Put(block) })
	panics("a foreign block", func() { b.Put(make([]byte, 5000)) })

	b = NewPool().NewBlocks(DefaultBudget)
	block = b.Get(1)
	b.Put(block)
	block[77] = 1
	panics("writing to a free block", func() { b.Get(1) })
}

func BenchmarkBlock(b *testing.B) {
	b.Run("impl=store", func(b *testing.B) {
		s := NewPool().NewBlocks(DefaultBudget)
		for range b.N {
			block := s.Get(4000)
			block[0] = 1
			s.Put(block)
		}
	})
	b.Run("impl=heap", func(b *testing.B) {
		var sink []byte
		for range b.N {
			sink = make([]byte, 4096)
			sink[0] = 1
		}
		_ = sink
	})
	b.Run("impl=syncpool", func(b *testing.B) {
		pool := sync.Pool{New: func() any { return new([4096]byte) }}
		for range b.N {
			block := pool.Get().(*[4096]byte)
			block[0] = 1
			pool.Put(block)
		}
	})
}
