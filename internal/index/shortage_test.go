package index

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/larder-cache/larder/internal/clock"
	"github.com/larder-cache/larder/internal/memory"
)

func TestStopAtRecordsThatShareACursorSkipsNone(t *testing.T) {
	tab, _ := newTable(t, 32<<20)
	type place struct {
		ln  *lane
		pos uint32
	}
	first := map[place]string{}
	want := map[string]bool{}
	for i := range 300_000 {
		k := strconv.Itoa(i)
		h := tab.Hash([]byte(k))
		p := place{tab.laneOf(h), positionOf(h)}
		if other, ok := first[p]; ok {
			want[k], want[other] = true, true
		}
		first[p] = k
	}
	if len(want) == 0 {
		t.Fatal("no two keys share a cursor")
	}
	for k := range want {
		if err := tab.set(k, "v", 0); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for cursor, calls := uint64(0), 0; ; calls++ {
		next, err := tab.Scan(cursor, 100, false, func(k, _ []byte, _ Meta) bool { seen[string(k)] = true; return false })
		if err != nil || calls > 100_000 {
			t.Fatal(calls, err)
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	for k := range want {
		if !seen[k] {
			t.Errorf("%s is skipped", k)
		}
	}
}

// TestWritersNeverMeetAFullTableThatIsNearlyEmpty keeps a twelfth of the memory live in sizes that change all the time:
// what drained must reach whoever asks, also while another shortage is being relieved.
func TestWritersNeverMeetAFullTableThatIsNearlyEmpty(t *testing.T) {
	tab, _ := newTable(t, 20<<20)
	rounds := 40_000
	if testing.Short() {
		rounds = 8000
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 3))
			buf := make([]byte, 8000)
			for range rounds {
				k := fmt.Sprintf("%d:%d", w, rng.IntN(40))
				if err := tab.Set(tab.Hash([]byte(k)), []byte(k), buf[:rng.IntN(len(buf))], 0, 0); err != nil {
					t.Errorf("%v with %+v", err, tab.Stats())
					return
				}
			}
		})
	}
	wg.Wait()
	check(t, tab)
}

func TestTableThatCannotBeMadeLeavesNothingBehind(t *testing.T) {
	a, err := memory.New(memory.Options{Limit: memory.MinLimit})
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for ; ; made++ {
		if _, err := New(a, clock.System(), Options{}); err != nil {
			if !errors.Is(err, ErrFull) {
				t.Fatal(err)
			}
			break
		}
	}
	before := a.Stats()
	cells, _ := a.Live()
	for range 50 {
		if _, err := New(a, clock.System(), Options{}); !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
	}
	after := a.Stats()
	if live, _ := a.Live(); made == 0 || after.Charged != before.Charged || live != cells || after.Out != before.Out {
		t.Fatalf("%d tables; %+v and %d cells before, %+v and %d cells after", made, before, cells, after, live)
	}
}

func TestWritingAPartOfAnExpiredRecordStartsAfresh(t *testing.T) {
	tab, _ := newTable(t, 16<<20)
	_ = tab.set("k", "old value", birth) // expired at once
	k := []byte("k")
	h := tab.Hash(k)
	x := tab.Lock(h, k)
	if err := x.WriteAt(3, []byte("new")); err != nil {
		t.Fatal(err)
	}
	x.Unlock()
	if v, _ := tab.get("k"); v != "\x00\x00\x00new" {
		t.Fatalf("%q", v)
	}
	if in, _ := tab.Peek(h, k); in.ExpireAt != 0 {
		t.Fatalf("%+v", in)
	}
	check(t, tab)
	if tab.Stats().Expired != 1 {
		t.Fatal("the expired record is not counted")
	}
}

func TestLocalWriteMakesAPeersCopyOurOwn(t *testing.T) {
	tab, _ := newTable(t, 16<<20)
	k := []byte("k")
	h := tab.Hash(k)
	for name, write := range map[string]func(){
		"Set":     func() { _ = tab.Set(h, k, []byte("1"), 0, 0) },
		"Add":     func() { _, _ = tab.Add(h, k, 1, 0, false) },
		"WriteAt": func() { x := tab.Lock(h, k); _ = x.WriteAt(0, []byte("2")); x.Unlock() },
	} {
		_ = tab.Set(h, k, []byte("1"), 0, FlagPassive)
		if in, _ := tab.Peek(h, k); in.Flags != FlagPassive {
			t.Fatalf("%+v", in)
		}
		write()
		if in, _ := tab.Peek(h, k); in.Flags&FlagPassive != 0 {
			t.Errorf("%s leaves the record passive", name)
		}
	}
}
