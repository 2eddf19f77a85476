package index

import (
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/larder-cache/larder/internal/clock"
	"github.com/larder-cache/larder/internal/invariants"
	"github.com/larder-cache/larder/internal/memory"
)

// reclaimTable makes a table whose memory goes back as soon as it is asked to.
func reclaimTable(t testing.TB, limit int64) *Table {
	t.Helper()
	a, err := memory.New(memory.Options{Limit: limit, Reclaim: &memory.Reclaim{}})
	if err != nil {
		t.Fatal(err)
	}
	tab, err := New(a, clock.NewManual(birth), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// settle reclaims until nothing is left to do and returns the cells moved.
func settle(t testing.TB, tab *Table, now *int64) (moved int) {
	t.Helper()
	for range 1000 {
		again, evacuate := tab.arena.Tick(*now)
		switch {
		case evacuate:
			moved += tab.Evacuate(nil).Cells
			tab.arena.EndEvacuation()
		case again == memory.Forever:
			return moved
		default:
			*now += max(again.Milliseconds(), 1)
		}
	}
	t.Fatal("reclaiming never ends")
	return 0
}

func TestSurvivorsOfAMassDeleteMoveTogetherAndStayWhole(t *testing.T) {
	tab := reclaimTable(t, 256<<20)
	sizes := []int{8, 100, 600, 4000, 20_000, memory.MaxCell, 100_000, memory.SlotSize, memory.SlotSize*2 + 40_000}
	rng := rand.New(rand.NewPCG(1, 1))
	rounds := 6000
	if testing.Short() || lockedReads {
		rounds = 1500
	}
	keys := map[string]int{}
	for i := range rounds {
		n := sizes[rng.IntN(5)]
		if i%100 == 0 {
			n = sizes[5+i/100%4]
		}
		k := "key:" + strconv.Itoa(i)
		v := make([]byte, n)
		stamp(v, uint32(i), rng)
		at := int64(0)
		if i%3 == 0 {
			at = birth + 1_000_000
		}
		if err := tab.set(k, string(v), at); err != nil {
			t.Fatal(err)
		}
		keys[k] = i
	}
	peak := tab.arena.Stats()
	for k, i := range keys {
		if i%50 != 0 {
			tab.Delete(tab.Hash([]byte(k)), []byte(k))
			delete(keys, k)
		}
	}
	now := int64(1)
	moved := settle(t, tab, &now)
	after := tab.arena.Stats()
	if moved == 0 || after.Held > peak.Held*2/3 || after.Released == 0 {
		t.Fatalf("%d cells moved, %d bytes held of %d: %+v", moved, after.Held, peak.Held, after)
	}
	check(t, tab)
	for k, i := range keys {
		v, ok := tab.get(k)
		if !ok {
			t.Fatalf("%s is gone", k)
		}
		if err := verifyStamp([]byte(v), uint32(i)); err != nil {
			t.Fatalf("%s: %v", k, err)
		}
		if in, _ := tab.Peek(tab.Hash([]byte(k)), []byte(k)); (in.ExpireAt != 0) != (i%3 == 0) {
			t.Fatalf("%s: deadline %d", k, in.ExpireAt)
		}
	}
	if again := settle(t, tab, &now); again != 0 {
		t.Fatalf("a second pass moved %d cells", again)
	}
	for k := range keys {
		tab.Delete(tab.Hash([]byte(k)), []byte(k))
	}
	settle(t, tab, &now)
	if s := tab.arena.Stats(); s.RecordSlots != 0 || s.WarmFree >= 2*memory.GroupSize || s.BadFrees != 0 {
		t.Fatalf("nothing is left, but %+v", s)
	}
}

// TestEvacuationUnderReadersWritersAndWalks lets generations of records come and go, all but a few, while they are moved.
func TestEvacuationUnderReadersWritersAndWalks(t *testing.T) {
	total := int64(1_500_000)
	if testing.Short() || lockedReads || invariants.Enabled {
		total = 100_000
	}
	tab := reclaimTable(t, 256<<20)
	const stable = 500 // keys that nobody changes
	key := func(b []byte, n uint32) []byte { return binary.BigEndian.AppendUint32(append(b[:0], "k:"...), n) }
	sizeOf := func(n uint32) int { return []int{8, 90, 500, 3000, 30_000, 70_000}[n%6*n%7%6] }
	seed := rand.New(rand.NewPCG(9, 9))
	for n := range uint32(stable) {
		v := make([]byte, sizeOf(n))
		stamp(v, n, seed)
		k := key(nil, n)
		if err := tab.Set(tab.Hash(k), k, v, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	var ops atomic.Int64
	var moved atomic.Int64
	done := make(chan struct{})
	var workers, helpers sync.WaitGroup
	for w := range 3 {
		workers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 7))
			buf, val, kb := make([]byte, 0, 100_000), make([]byte, 70_000), make([]byte, 0, 16)
			first := uint32(w+1) << 24
			last := map[uint32]string{} // only this worker writes them
			for !t.Failed() && ops.Load() < total {
				// A generation comes, most of it goes, and all are read.
				const generation = 2000
				for i := range uint32(generation) {
					n := first + i
					k := key(kb, n)
					v := val[:sizeOf(n)]
					stamp(v, n, rng)
					if err := tab.Set(tab.Hash(k), k, v, 0, 0); err != nil {
						t.Errorf("Set: %v with %+v", err, tab.arena.Stats())
						return
					}
					if i%64 == 0 {
						last[n] = string(v[len(v)-4:])
					}
				}
				for i := range uint32(generation) {
					if n := first + i; i%64 != 0 {
						k := key(kb, n)
						if !tab.Delete(tab.Hash(k), k) {
							t.Errorf("key %d is gone", n)
						}
					}
				}
				for range 4 * generation {
					n := rng.Uint32N(stable)
					if rng.IntN(2) == 0 {
						n = first + rng.Uint32N(generation)
						if rng.IntN(8) > 0 {
							n -= (n - first) % 64
						}
					}
					k := key(kb, n)
					out, _, ok := tab.Get(tab.Hash(k), buf[:0], k)
					if want := n < stable || (n-first)%64 == 0; ok != want {
						t.Errorf("key %d: found %v", n, ok)
						return
					}
					if ok {
						if err := verifyStamp(out, n); err != nil {
							t.Errorf("key %d: %v", n, err)
							return
						}
						if n >= stable && last[n] != string(out[len(out)-4:]) {
							t.Errorf("an overwrite of key %d is lost", n)
							return
						}
						if n >= stable {
							v := val[:sizeOf(n)]
							stamp(v, n, rng)
							if err := tab.Set(tab.Hash(k), k, v, 0, 0); err != nil {
								t.Errorf("overwrite: %v", err)
							}
							last[n] = string(v[len(v)-4:])
						}
					}
					buf = out[:0]
				}
				ops.Add(6 * generation)
			}
		})
	}
	helpers.Go(func() {
		for now := int64(1); ; now += 1000 {
			select {
			case <-done:
				return
			default:
			}
			for {
				_, evacuate := tab.arena.Tick(now)
				if !evacuate {
					break
				}
				moved.Add(int64(tab.Evacuate(nil).Cells))
				if tab.arena.EndEvacuation() == 0 {
					break
				}
			}
		}
	})
	helpers.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			seen := map[uint32]bool{}
			for cursor := uint64(0); ; {
				next, err := tab.Scan(cursor, 100, true, func(k, v []byte, _ Meta) bool {
					n := binary.BigEndian.Uint32(k[2:])
					if n < stable {
						seen[n] = true
					}
					if err := verifyStamp(v, n); err != nil {
						t.Errorf("a walk found key %d: %v", n, err)
					}
					return true
				})
				if err != nil {
					t.Error(err)
				}
				if cursor = next; cursor == 0 {
					break
				}
			}
			if len(seen) != stable {
				t.Errorf("a walk met %d of %d keys", len(seen), stable)
				return
			}
		}
	})
	workers.Wait()
	close(done)
	helpers.Wait()
	check(t, tab)
	s := tab.arena.Stats()
	t.Logf("%d operations, %d cells moved, %d slots emptied, %d MiB given back", ops.Load(), moved.Load(), s.Evacuated, s.Released>>20)
	if moved.Load() == 0 || s.Released == 0 {
		t.Fatal("nothing was moved or given back")
	}
}

func TestEvacuationAtTheLimitEndsAndLosesNothing(t *testing.T) {
	tab := reclaimTable(t, 16<<20)
	v := make([]byte, 1000)
	n := 0
	for ; tab.set("k"+strconv.Itoa(n), string(v), 0) == nil; n++ {
	}
	for i := range n {
		if i%15 != 0 {
			k := []byte("k" + strconv.Itoa(i))
			tab.Delete(tab.Hash(k), k)
		}
	}
	if _, evacuate := tab.arena.Tick(1); !evacuate {
		t.Fatal("nothing to move")
	}
	// Somebody takes all that is free before the move.
	huge := make([]byte, 200)
	for i := 0; tab.set("other"+strconv.Itoa(i), string(huge), 0) == nil; i++ {
	}
	if !tab.Evacuate(nil).Full {
		t.Log("there was room to move to")
	}
	tab.arena.EndEvacuation()
	check(t, tab)
	for i := 0; i < n; i += 15 {
		if got, ok := tab.get("k" + strconv.Itoa(i)); !ok || len(got) != len(v) {
			t.Fatalf("record %d: %d bytes, %v", i, len(got), ok)
		}
	}
}
