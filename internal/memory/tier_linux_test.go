//go:build linux && !race

package memory

import (
	"bufio"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

const poolFile = "/proc/sys/vm/nr_hugepages"

// withPool gives the system a pool of n huge pages for the time of the test. Other processes may take some of them.
func withPool(t *testing.T, n int) {
	t.Helper()
	before, err := os.ReadFile(poolFile)
	if err != nil {
		t.Skipf("no huge pages here: %v", err)
	}
	if strings.TrimSpace(string(before)) != "0" {
		t.Skipf("this machine has a pool of its own: %s", before)
	}
	if err := os.WriteFile(poolFile, []byte(strconv.Itoa(n)), 0); err != nil {
		t.Skipf("the pool cannot be set: %v", err)
	}
	t.Cleanup(func() {
		if err := os.WriteFile(poolFile, []byte("0"), 0); err != nil {
			t.Errorf("the pool stays: %v", err)
		}
	})
	after, _ := os.ReadFile(poolFile)
	if got, _ := strconv.Atoi(strings.TrimSpace(string(after))); got < n {
		t.Skipf("the system has only %d huge pages of %d", got, n)
	}
}

// poolBytes returns the pages of the pool that this process has mapped and filled.
func poolBytes(t *testing.T) (n int64) {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "Private_Hugetlb:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			n += kb << 10
		}
	}
	return n
}

// grabPool maps all pages of the pool that are left, and returns their number and a function that gives them back.
func grabPool(t *testing.T) (int64, func()) {
	t.Helper()
	var maps []unsafe.Pointer
	for {
		p, err := unix.MmapPtr(-1, 0, nil, GroupSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_HUGETLB)
		if err != nil {
			break
		}
		maps = append(maps, p)
	}
	return int64(len(maps)), func() {
		for _, p := range maps {
			_ = unix.MunmapPtr(p, GroupSize)
		}
	}
}

// TestPoolPagesComeGoAndAreMissedWithoutAFault fills an arena from a real pool of huge pages, gives all of it back, lets
// somebody else empty the pool, and fills it again, while readers look everywhere all the time.
func TestPoolPagesComeGoAndAreMissedWithoutAFault(t *testing.T) {
	const pool = 24
	withPool(t, pool)
	a, err := New(Options{Limit: 64 << 20, Reclaim: &Reclaim{}})
	if err != nil {
		t.Fatal(err)
	}
	if poolBytes(t) == 0 {
		t.Skip("somebody else took the whole pool")
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	var reads atomic.Uint64
	for range 2 {
		readers.Go(func() {
			sum := uint32(0)
			for r := Ref(1); ; r += 509 {
				if !a.Valid(r) {
					r = 1
					select {
					case <-stop:
						reads.Add(uint64(sum&1) + 1)
						return
					default:
					}
				}
				sum += atomic.LoadUint32((*uint32)(a.At(r)))
			}
		})
	}
	whole := ClassFor(SlotSize)
	var g Magazines
	fill := func() (refs []Ref) {
		for r := g.Alloc(a, whole); r != 0; r = g.Alloc(a, whole) {
			clear(unsafe.Slice((*byte)(a.At(r)), SlotSize))
			*(*uint64)(a.At(r)) = uint64(r)
			refs = append(refs, r)
		}
		return refs
	}
	empty := func(refs []Ref) {
		for _, r := range refs {
			if *(*uint64)(a.At(r)) != uint64(r) {
				t.Errorf("cell %d lost its contents", r)
			}
			g.Free(a, r)
		}
		newTicker(t, a).run()
	}
	for round := range 3 {
		refs := fill()
		s := balanced(t, a)
		if got := poolBytes(t); got != s.Tiers[TierHugetlb] || got == 0 {
			t.Fatalf("round %d: %d bytes of the pool are mapped, the arena says %v", round, got, s.Tiers)
		}
		if s.PoolEmpty == 0 {
			t.Fatalf("round %d: a pool of 24 pages served %d bytes", round, s.Held)
		}
		empty(refs)
		if got := poolBytes(t); got > GroupSize {
			t.Fatalf("round %d: %d bytes of the pool stay", round, got)
		}
		// The pool is empty now when the arena wants its pages back.
		grabbed, release := grabPool(t)
		refs = fill()
		s = balanced(t, a)
		// Other processes may have let pages go since.
		if s.Tiers[TierHugetlb] > (pool-grabbed)*GroupSize || s.Tiers[TierTHP]+s.Tiers[TierCollapsed]+s.Tiers[Tier4K] == 0 {
			t.Fatalf("round %d: with %d pages of the pool taken came %v", round, grabbed, s.Tiers)
		}
		empty(refs)
		release()
	}
	close(stop)
	readers.Wait()
	a.Discard()
	if got := poolBytes(t); got != 0 {
		t.Fatalf("%d bytes of the pool stay after Discard", got)
	}
}

func TestTiersAreThoseThatTheSystemGives(t *testing.T) {
	for mode, want := range map[HugePages]func(Tier) bool{
		HugePagesOff:  func(tier Tier) bool { return tier == Tier4K },
		HugePagesAuto: func(tier Tier) bool { return tier < TierHeap },
	} {
		a, err := New(Options{Limit: 16 << 20, HugePages: mode})
		if err != nil {
			t.Fatal(err)
		}
		if s := a.Stats(); !want(s.Tier) || s.Tiers[s.Tier] == 0 {
			t.Errorf("mode %d: %s, %v", mode, s.Tier, s.Tiers)
		}
	}
	a, err := New(Options{Limit: 16 << 20, HugePages: HugePagesRequire})
	switch {
	case err == nil && a.Tier() == Tier4K:
		t.Error("huge pages were required")
	case err != nil && !errors.Is(err, ErrHugePages):
		t.Error(err)
	}
}

// TestAnEmptyGroupIsCollapsed makes a huge page of ordinary ones, as on systems that give none by themselves.
func TestAnEmptyGroupIsCollapsed(t *testing.T) {
	m, err := reserve(4*GroupSize, HugePagesAuto, false)
	if err != nil {
		t.Fatal(err)
	}
	defer m.release()
	if err := unix.Madvise(m.bytes(0, m.size), unix.MADV_NOHUGEPAGE); err != nil {
		t.Skip(err)
	}
	m.huge.transparent = false
	if err := m.open(0, m.size); err != nil {
		t.Fatal(err)
	}
	m.group(1)[100] = 7
	if err := unix.Madvise(m.group(1), unix.MADV_HUGEPAGE); err != nil {
		t.Skip(err)
	}
	if tier := m.collapse(1); tier != TierCollapsed && tier != Tier4K || m.group(1)[100] != 7 {
		t.Fatalf("%s, byte %d", tier, m.group(1)[100])
	} else {
		t.Logf("collapse gives %s", tier)
	}
	m.mode = HugePagesOff
	if m.collapse(2) != Tier4K {
		t.Fatal("collapsed although off")
	}
}

func TestLockedMemoryIsNotGivenBack(t *testing.T) {
	a, err := New(Options{Limit: 32 << 20, Lock: true, Reclaim: &Reclaim{}})
	if errors.Is(err, ErrLock) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var g Magazines
	var refs []Ref
	for r := g.Alloc(a, ClassFor(SlotSize)); r != 0; r = g.Alloc(a, ClassFor(SlotSize)) {
		clear(unsafe.Slice((*byte)(a.At(r)), SlotSize))
		refs = append(refs, r)
	}
	if locked := statusBytes(t, "VmLck:"); locked < int64(len(refs))*SlotSize {
		t.Fatalf("%d bytes are locked of %d", locked, len(refs)*SlotSize)
	}
	for _, r := range refs {
		g.Free(a, r)
	}
	newTicker(t, a).run()
	if s := balanced(t, a); s.Released != 0 || s.Pinned != 0 {
		t.Fatalf("%+v", s)
	}
	a.Discard()
	if *(*uint64)(a.At(refs[0])) != 0 {
		t.Fatal("Discard left something")
	}
}

// statusBytes reads a line of /proc/self/status.
func statusBytes(t *testing.T, name string) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10
		}
	}
	return 0
}

// TestARefusedGiveBackStopsOnlyThatGroup pins a group, as somebody else's mlock would.
func TestARefusedGiveBackStopsOnlyThatGroup(t *testing.T) {
	a, err := New(Options{Limit: 32 << 20, HugePages: HugePagesOff, Reclaim: &Reclaim{}})
	if err != nil {
		t.Fatal(err)
	}
	var g Magazines
	var refs []Ref
	for r := g.Alloc(a, ClassFor(SlotSize)); r != 0; r = g.Alloc(a, ClassFor(SlotSize)) {
		refs = append(refs, r)
	}
	const pinned = 5
	if err := unix.Mlock(a.mapping.group(pinned)[:4096]); err != nil {
		t.Skip(err)
	}
	for _, r := range refs {
		g.Free(a, r)
	}
	k := newTicker(t, a)
	for range 40 {
		again, _ := a.Tick(k.now)
		if again == Forever {
			break
		}
		k.now += min(again.Milliseconds(), 1000)
	}
	s := balanced(t, a)
	if s.Pinned == 0 || s.WarmFree < GroupSize || s.WarmFree > longestRun*GroupSize {
		t.Fatalf("%+v", s)
	}
	// Everything works on, and when nobody pins it any more the group goes too.
	_ = unix.Munlock(a.mapping.group(pinned)[:4096])
	if k.run(); a.Stats().WarmFree != 0 {
		t.Fatalf("%+v", a.Stats())
	}
}

// TestChargeEndsWhenTheSystemTakesNothingBack needs room that only a pinned group could give.
func TestChargeEndsWhenTheSystemTakesNothingBack(t *testing.T) {
	a, err := New(Options{Limit: MinLimit, HugePages: HugePagesOff, Reclaim: &Reclaim{}})
	if err != nil {
		t.Fatal(err)
	}
	var g Magazines
	var refs []Ref
	for r := g.Alloc(a, ClassFor(SlotSize)); r != 0; r = g.Alloc(a, ClassFor(SlotSize)) {
		refs = append(refs, r)
	}
	groups := int(a.Stats().Held / GroupSize)
	for i := range groups {
		if err := unix.Mlock(a.mapping.group(i)[:4096]); err != nil {
			t.Skip(err)
		}
	}
	for _, r := range refs {
		g.Free(a, r)
	}
	const much = 3 << 20
	if err := a.Charge(much); !errors.Is(err, ErrNoMemory) {
		t.Fatal(err)
	}
	for i := range groups {
		_ = unix.Munlock(a.mapping.group(i)[:4096])
	}
	if err := a.Charge(much); err != nil {
		t.Fatal(err)
	}
	if s := balanced(t, a); s.Charged != much || s.Released == 0 || s.Pinned == 0 {
		t.Fatalf("%+v", s)
	}
}
