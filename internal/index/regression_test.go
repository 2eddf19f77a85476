package index

import (
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/larder-cache/larder/internal/memory"
)

// TestKeysOfOneChainAreGivenUpOnce guards two keys of one chain, and one key twice, while a writer without the lane's
// lock writes over a third: the version it leaves must be neither lost nor undone.
func TestKeysOfOneChainAreGivenUpOnce(t *testing.T) {
	tab, _ := newTable(t, 16<<20)
	var same [][]byte // keys of one bucket
	var home *bucket
	for i := 0; len(same) < 3; i++ {
		k := []byte("k" + strconv.Itoa(i))
		h := tab.Hash(k)
		if b := tab.home(tab.laneOf(h), h); home == nil || b == home {
			home, same = b, append(same, k)
			_ = tab.set(string(k), "value", 0)
		}
	}
	rounds := 300_000
	if testing.Short() || lockedReads {
		rounds = 20_000
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			h := tab.Hash(same[2])
			for {
				select {
				case <-stop:
					return
				default:
					_ = tab.Set(h, same[2], []byte("other"), 0, 0)
				}
			}
		})
	}
	wg.Go(func() {
		last := uint32(0)
		for {
			select {
			case <-stop:
				return
			default:
			}
			v := atomic.LoadUint32(&home.version) &^ owned
			if int32(v-last) < 0 {
				t.Errorf("a version went back from %d to %d", last, v)
				return
			}
			last = v
		}
	})
	var g Guard
	for range rounds {
		for _, k := range [][]byte{same[0], same[1], same[0]} {
			g.Add(tab, tab.Hash(k), k)
		}
		g.Lock()
		for i := range 3 {
			if !g.Txn(i).Found() {
				t.Error("a key is gone")
			}
		}
		g.Unlock()
	}
	close(stop)
	wg.Wait()
	check(t, tab)
}

// TestABucketThatBecameARecordLeadsNowhere gives a reader a chain that ends in the last cell of the arena's memory.
func TestABucketThatBecameARecordLeadsNowhere(t *testing.T) {
	tab, _ := newTable(t, 16<<20)
	last := lastRef(tab)
	var b bucket
	for _, r := range []memory.Ref{last, last - 6, last + 1, 1 << 31} {
		b.over = uint32(r)
		if rec, _, _, _ := tab.search(&b, 1, []byte("key")); rec != nil {
			t.Fatalf("found something at %d", r)
		}
	}
}

func TestACircleOfBucketsIsLeftWhenTheVersionChanges(t *testing.T) {
	tab, _ := newTable(t, 16<<20)
	ln := &tab.lanes[0]
	r := tab.allocIndex(ln, bucketSize)
	circle := (*bucket)(tab.arena.At(r))
	*circle = bucket{over: uint32(r)}
	home := &bucket{over: uint32(r)}
	done := make(chan struct{})
	go func() {
		tab.search(home, 1, []byte("key"))
		close(done)
	}()
	for {
		atomic.AddUint32(&home.version, change)
		select {
		case <-done:
			return
		default:
		}
	}
}

// TestLengthsBeyondASlotAreNotBelieved makes records whose headers ask for more than there is.
func TestLengthsBeyondASlotAreNotBelieved(t *testing.T) {
	tab, _ := newTable(t, 16<<20)
	key := []byte("key")
	h := tab.Hash(key)
	ln := tab.laneOf(h)
	cells := memory.SlotSize / 64
	var r memory.Ref
	for range cells { // the last cell of a slot
		if r = ln.magazines.Alloc(tab.arena, memory.ClassFor(64)); tab.arena.Room(r) == 64 {
			break
		}
	}
	rec := tab.arena.At(r)
	home := tab.home(ln, h)
	home.tags[0], home.refs[0] = tagOf(h), uint32(r)
	for _, hdr := range []uint64{
		1<<32 - 1 | 3<<keyShift,                    // a value of 4 GiB
		0 | keyMask<<keyShift,                      // a key of 1 MiB
		64 | 3<<keyShift | recLarge | recExpiry,    // chunks beyond the slot
		1<<30 | 3<<keyShift | recLarge | recExpiry, // a thousand of them
		8 | 3<<keyShift | recInteger | recLarge | recExpiry,
		200 | 3<<keyShift | recInteger,
	} {
		binary.NativeEndian.PutUint64(bytesAt(rec, 0, 8), hdr)
		for i := 8; i+4 <= 64; i += 4 {
			binary.NativeEndian.PutUint32(bytesAt(rec, i, 4), math.MaxUint32-7)
		}
		copy(bytesAt(rec, 8, 3), key)
		read := reading{grow: true}
		if st, ok := tab.attempt(ln, home, home.version, ln.route.Load(), h, key, &read); ok && st == Found {
			t.Errorf("header %x: found %d bytes", hdr, len(read.dst))
		}
	}
	home.tags[0], home.refs[0] = 0, 0
	// A key as long as such a header says, at the end of all memory that can be read.
	r = lastRef(tab) - 7
	binary.NativeEndian.PutUint64(bytesAt(tab.arena.At(r), 0, 8), keyMask<<keyShift)
	if found, _ := tab.match(r, make([]byte, keyMask)); found != nil {
		t.Error("a key beyond the end of a slot was compared")
	}
}

// lastRef returns the last reference into memory that can be read.
func lastRef(tab *Table) memory.Ref {
	last := memory.Ref(1)
	for r := memory.Ref(1); r < 1<<31 && tab.arena.Valid(r); r += 1 << 10 {
		last = r
	}
	for tab.arena.Valid(last + 1) {
		last++
	}
	return last
}

func TestWriterWithAnOldRouteLooksAgain(t *testing.T) {
	tab, ln, keys := laneWithKeys(t, 150)
	afterSplits(t, tab, ln, keys, func(old, h uint64, key []byte) {
		// What a writer saw that took the route before the split and the version after it.
		g := glance{route: old}
		g.home = tab.bucketAt(old, bucketOf(h, buckets(old)))
		g.version = atomic.LoadUint32(&g.home.version)
		s, _ := tab.lockAt(ln, &g, h, key)
		if s.rec == nil {
			t.Fatalf("%s is not seen where it is now", key)
		}
		tab.release(ln, s.home)
	})
}

func TestDeleteThenPutOfAnExpiredRecord(t *testing.T) {
	tab, _ := newTable(t, 16<<20)
	k := []byte("k")
	h := tab.Hash(k)
	for name, then := range map[string]func(x *Txn) error{
		"Put":       func(x *Txn) error { return x.Put([]byte("new"), 0, 0) },
		"SetExpire": func(x *Txn) error { return x.SetExpire(birth + 1000) },
		"WriteAt":   func(x *Txn) error { return x.WriteAt(2, []byte("new")) },
		"Delete":    func(x *Txn) error { x.Delete(); return nil },
	} {
		_ = tab.set("k", "old", birth)
		x := tab.Lock(h, k)
		if x.Delete() {
			t.Errorf("%s: an expired record was there", name)
		}
		if err := then(x); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		x.Unlock()
		check(t, tab)
		tab.Delete(h, k)
	}
}

func TestClosedTableFindsNothingWhileItsMemoryIsStillThere(t *testing.T) {
	tab, _ := newTable(t, 16<<20)
	for i := range 5000 {
		_ = tab.set(strconv.Itoa(i), "v", 0)
	}
	tab.Close()
	for i := range 5000 {
		if _, ok := tab.get(strconv.Itoa(i)); ok {
			t.Fatal("a closed table answers")
		}
	}
	if err := tab.set("1", "v", 0); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	if n := tab.Len(); n != 0 {
		t.Fatalf("%d records", n)
	}
}

func TestAMissingKeyHasNoInfo(t *testing.T) {
	tab, _ := newTable(t, 16<<20)
	key := []byte("key")
	h := tab.Hash(key)
	ln := tab.laneOf(h)
	_ = tab.set("key", "some value", 0)
	r := reading{want: wantInfo}
	home := tab.home(ln, h)
	// An attempt that was disturbed, then one that finds nothing.
	if _, ok := tab.attempt(ln, home, home.version-change, ln.route.Load(), h, key, &r); ok {
		t.Fatal("not disturbed")
	}
	tab.Delete(h, key)
	if st, ok := tab.attempt(ln, home, home.version, ln.route.Load(), h, key, &r); !ok || st != Missing || r.info != (Meta{}) {
		t.Fatalf("%v %v %+v", st, ok, r.info)
	}
}

func TestACounterIsReadIntoExactlyItsRoom(t *testing.T) {
	tab, _ := newTable(t, 16<<20)
	k := []byte("n")
	h := tab.Hash(k)
	_, _ = tab.Add(h, k, -12345, 0, false)
	for room := range 8 {
		got, info, st := tab.GetInto(h, make([]byte, 0, room), k, nil)
		if want := room >= 6; (st == Found) != want || info.Size != 6 || want && string(got) != "-12345" {
			t.Fatalf("room %d: %v %q %+v", room, st, got, info)
		}
	}
}

func TestDeadlinesOfAllTimesAreSwept(t *testing.T) {
	tab, clk := newTable(t, 16<<20)
	for i, at := range []int64{math.MinInt64, -1, 1, birth - 1, birth, birth + 1, math.MaxInt64 - 1, math.MaxInt64} {
		if err := tab.set(strconv.Itoa(i), "v", at); err != nil {
			t.Fatal(err)
		}
		check(t, tab)
	}
	clk.Advance(1e9)
	tab.Reap(nil)
	if n := tab.Len(); n != 2 {
		t.Fatalf("%d records are left, want 2", n)
	}
}

// TestAPassThatStopsKeepsNearerDeadlines stops Reap behind its first step and lets a nearer deadline come in before.
func TestAPassThatStopsKeepsNearerDeadlines(t *testing.T) {
	tab, clk := newTable(t, 16<<20)
	ln := &tab.lanes[0]
	n := 0
	for i := 0; n < 2000; i++ {
		k := strconv.Itoa(i)
		if tab.laneOf(tab.Hash([]byte(k))) == ln {
			_ = tab.set(k, "v", birth+1000)
			n++
		}
	}
	clk.Advance(2e9)
	calls := 0
	tab.Reap(func() bool {
		calls++
		ln.mu.Lock()
		ln.lower(birth + 500)
		ln.mu.Unlock()
		return false
	})
	if calls != 1 || tab.Nearest() != birth+500 {
		t.Fatalf("%d calls, nearest %d", calls, tab.Nearest()-birth)
	}
	tab.Reap(nil)
	if tab.Len() != 0 {
		t.Fatalf("%d records left", tab.Len())
	}
}

func TestStepsOfAPassAreShort(t *testing.T) {
	tab, clk := newTable(t, 64<<20)
	for i := range 100_000 {
		_ = tab.set(strconv.Itoa(i), "v", birth+1000)
	}
	clk.Advance(2e9)
	steps := 0
	r := tab.Reap(func() bool { steps++; return true })
	if r.Records != 100_000 || steps < tab.Buckets()/64 {
		t.Fatalf("%d records in %d steps over %d buckets", r.Records, steps, tab.Buckets())
	}
}

// TestWalkOfAThinTableIsBounded asks for one record in a table that was large once.
func TestWalkOfAThinTableIsBounded(t *testing.T) {
	tab, _ := newTable(t, 128<<20)
	for i := range 400_000 {
		_ = tab.set(strconv.Itoa(i), "v", 0)
	}
	tab.Flush()
	for i := 0; ; i++ { // in the last bucket of its lane
		k := strconv.Itoa(i)
		if h := tab.Hash([]byte(k)); positionOf(h) > positions-positions/500 {
			_ = tab.set(k, "v", 0)
			break
		}
	}
	seen := 0
	for cursor := uint64(0); ; {
		next, err := tab.Scan(cursor, 1, false, func(_, v []byte, _ Meta) bool {
			seen++
			if v != nil {
				t.Error("a walk for keys copied a value")
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		// A call passes 512 buckets and ten for each record asked for; a lane without records is one step.
		passed := 0
		for at := cursor; at < next || next == 0 && at>>positionBits < Lanes; {
			ln := &tab.lanes[at>>positionBits]
			pos := uint32(positions)
			if ln.records > 0 {
				_, pos = interval(uint32(at%positions), buckets(ln.route.Load()))
			}
			at = at&^(positions-1) + uint64(pos)
			passed++
		}
		if passed > 522 {
			t.Fatalf("a call passed %d buckets", passed)
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	if seen != 1 {
		t.Fatalf("%d records", seen)
	}
}

func TestWalkForKeysCopiesNoValues(t *testing.T) {
	tab, _ := newTable(t, 64<<20)
	for i := range 500 {
		_ = tab.set(strconv.Itoa(i), string(make([]byte, longValue-1)), 0)
	}
	g := new(gathering)
	for i := range tab.lanes {
		for pos := uint32(0); pos < positions; {
			next, err := tab.gather(g, &tab.lanes[i], pos, false)
			if err != nil {
				t.Fatal(err)
			}
			if pos = next; cap(g.buf) > 4096 {
				t.Fatalf("keys took %d bytes", cap(g.buf))
			}
		}
	}
	// Of long values a walk copies none under the lock, whatever it was asked for.
	_ = tab.set("long", string(make([]byte, longValue)), 0)
	h := tab.Hash([]byte("long"))
	if _, err := tab.gather(g, tab.laneOf(h), positionOf(h), true); err != nil {
		t.Fatal(err)
	}
	for _, f := range g.recs {
		if f.hash == h && (!f.long || f.end != f.key+f.keyLen) {
			t.Fatalf("a long value was copied: %+v", f)
		}
	}
}

func TestOverflowShowsInTheStatistics(t *testing.T) {
	tab, _ := newTable(t, 16<<20)
	var home *bucket
	var keys []string
	for i := 0; len(keys) < bucketEntries+1; i++ {
		k := strconv.Itoa(i)
		h := tab.Hash([]byte(k))
		if b := tab.home(tab.laneOf(h), h); home == nil || b == home {
			home = b
			_ = tab.set(k, "v"+k, 0)
			keys = append(keys, k)
		}
	}
	if s := tab.Stats(); s.OverflowBuckets != 1 {
		t.Fatalf("%+v", s)
	}
	// Whatever entry a key stands in, it is found; going from the front, every removal moves one of the last bucket.
	for len(keys) > 0 {
		for _, k := range keys {
			if v, ok := tab.get(k); !ok || v != "v"+k {
				t.Fatalf("%d keys: %s is %q, %v", len(keys), k, v, ok)
			}
		}
		tab.Delete(tab.Hash([]byte(keys[0])), []byte(keys[0]))
		keys = keys[1:]
	}
	if s := tab.Stats(); s.OverflowBuckets != 0 {
		t.Fatalf("%+v", s)
	}
}

// TestWalkCallbackMayDeleteAnything deletes, from within a walk, the record just given, the one before, and ones given long
// ago, and walks again inside: no lock is held, and every other record comes once and not twice.
func TestWalkCallbackMayDeleteAnything(t *testing.T) {
	tab, _ := newTable(t, 32<<20)
	const n = 20_000
	for i := range n {
		_ = tab.set(strconv.Itoa(i), "v", 0)
	}
	given := map[string]int{}
	var order []string
	remove := func(k string) { tab.Delete(tab.Hash([]byte(k)), []byte(k)) }
	for cursor := uint64(0); ; {
		next, err := tab.Scan(cursor, 50, true, func(k, _ []byte, _ Meta) bool {
			given[string(k)]++
			order = append(order, string(k))
			switch i := len(order) - 1; i % 4 {
			case 0:
				remove(order[i])
			case 1:
				remove(order[i/2])
			case 2:
				remove(order[i-1])
			case 3:
				inner := 0
				_, _ = tab.Scan(0, 1, false, func(_, _ []byte, _ Meta) bool { inner++; return true })
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	for i := range n {
		if k := strconv.Itoa(i); given[k] != 1 {
			t.Fatalf("%s was given %d times", k, given[k])
		}
	}
	check(t, tab)
}
