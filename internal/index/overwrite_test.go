package index

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/larder-cache/larder/internal/invariants"
)

// fixedKeys are keys whose values are only ever overwritten, with values of one size.
func fixedKeys(t *testing.T, tab *Table, n int) []string {
	t.Helper()
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("key:%d", i)
		if err := tab.set(keys[i], stamped(uint32(i), 0), 0); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

func stamped(key uint32, seed uint64) string {
	b := make([]byte, 100)
	stamp(b, key, rand.New(rand.NewPCG(seed, 7)))
	return string(b)
}

// storm overwrites the keys from several goroutines until it is stopped. It returns when each of them writes.
func storm(t *testing.T, tab *Table, keys []string) (stop func() (writes int64)) {
	t.Helper()
	var wg sync.WaitGroup
	var done atomic.Bool
	var writes atomic.Int64
	var started sync.WaitGroup
	started.Add(4)
	for w := range 4 {
		wg.Go(func() {
			begun := sync.OnceFunc(started.Done)
			defer begun() // also without a write
			rng := rand.New(rand.NewPCG(uint64(w), 8))
			for n := uint64(0); !done.Load(); n++ {
				i := rng.IntN(len(keys))
				if err := tab.set(keys[i], stamped(uint32(i), n), 0); err != nil {
					t.Errorf("Set: %v", err)
					return
				}
				writes.Add(1)
				begun()
			}
		})
	}
	started.Wait()
	return func() int64 {
		done.Store(true)
		wg.Wait()
		return writes.Load()
	}
}

func rounds() int {
	if testing.Short() || lockedReads || invariants.Enabled {
		return 2000
	}
	return 100_000
}

func TestTransactionHasItsKeyToItselfWhileOthersOverwrite(t *testing.T) {
	tab, _ := newTable(t, 32<<20)
	keys := fixedKeys(t, tab, 20)
	stop := storm(t, tab, keys)
	for i := range rounds() {
		n := uint32(i % len(keys))
		k := []byte(keys[n])
		x := tab.Lock(tab.Hash(k), k)
		before := x.Append(nil)
		if i%64 == 0 {
			runtime.Gosched()
		}
		after := x.Append(nil)
		if err := verifyStamp(before, n); err != nil || !bytes.Equal(before, after) {
			t.Errorf("round %d: %v; the value changes under the lock: %v", i, err, !bytes.Equal(before, after))
		}
		// What is written under the lock is what stands there until the lock is released.
		mine := stamped(n, uint64(i))
		if err := x.Put([]byte(mine), 0, 0); err != nil {
			t.Fatal(err)
		}
		if got := x.Append(nil); string(got) != mine {
			t.Errorf("round %d: the value written under the lock is replaced", i)
		}
		x.Unlock()
		if t.Failed() {
			break
		}
	}
	if stop() == 0 {
		t.Fatal("nobody wrote")
	}
	check(t, tab)
}

func TestGuardHasAllItsKeysWhileOthersOverwrite(t *testing.T) {
	tab, _ := newTable(t, 32<<20)
	keys := fixedKeys(t, tab, 40)
	stop := storm(t, tab, keys)
	var g Guard
	for i := range rounds() / 10 {
		for _, k := range keys {
			g.Add(tab, tab.Hash([]byte(k)), []byte(k))
		}
		g.Add(tab, tab.Hash([]byte(keys[0])), []byte(keys[0])) // named twice
		g.Lock()
		var before [][]byte
		for n := range keys {
			before = append(before, g.Txn(n).Append(nil))
		}
		for n := range keys {
			if err := verifyStamp(before[n], uint32(n)); err != nil || !bytes.Equal(before[n], g.Txn(n).Append(nil)) {
				t.Errorf("round %d: %v; %s changes under the guard", i, err, keys[n])
			}
		}
		g.Unlock()
		if t.Failed() {
			break
		}
	}
	if stop() == 0 {
		t.Fatal("nobody wrote")
	}
	check(t, tab)
}

func TestWalkWithValuesGivesWholeOnesWhileOthersOverwrite(t *testing.T) {
	tab, _ := newTable(t, 32<<20)
	keys := fixedKeys(t, tab, 200)
	stop := storm(t, tab, keys)
	for range max(rounds()/500, 20) {
		seen := 0
		for cursor := uint64(0); ; {
			next, err := tab.Scan(cursor, 50, true, func(k, v []byte, _ Meta) bool {
				var n uint32
				_, _ = fmt.Sscanf(string(k), "key:%d", &n)
				if err := verifyStamp(v, n); err != nil {
					t.Errorf("%s: %v", k, err)
				}
				seen++
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			if cursor = next; cursor == 0 {
				break
			}
		}
		if seen != len(keys) || t.Failed() {
			t.Errorf("%d of %d keys", seen, len(keys))
			break
		}
	}
	if stop() == 0 {
		t.Fatal("nobody wrote")
	}
	check(t, tab)
}

// TestOverwriteLosesNothingWhileBucketsSplit overwrites keys, each from one goroutine, while another inserts: after each
// write its writer reads what it wrote.
func TestOverwriteLosesNothingWhileBucketsSplit(t *testing.T) {
	tab, _ := newTable(t, 256<<20)
	keys := fixedKeys(t, tab, 4000)
	var wg sync.WaitGroup
	var done atomic.Bool
	for w := range 3 {
		wg.Go(func() {
			for n := uint64(1); !done.Load() && !t.Failed(); n++ {
				i := int(n)*3%(len(keys)-3) + w
				i -= i%3 - w
				want := stamped(uint32(i), n)
				if err := tab.set(keys[i], want, 0); err != nil {
					t.Errorf("Set: %v", err)
				}
				if got, ok := tab.get(keys[i]); !ok || got != want {
					t.Errorf("%s: an overwrite is lost", keys[i])
				}
			}
		})
	}
	for i := range rounds() * 4 {
		if err := tab.set(fmt.Sprintf("more:%d", i), "v", 0); err != nil {
			t.Fatal(err)
		}
	}
	done.Store(true)
	wg.Wait()
	check(t, tab)
	if s := tab.Stats(); !testing.Short() && s.Splits == 0 {
		t.Fatal("no bucket split")
	}
}

func TestNothingIsWrittenAfterClose(t *testing.T) {
	for range 20 {
		tab, _ := newTable(t, 32<<20)
		keys := fixedKeys(t, tab, 100)
		var wg sync.WaitGroup
		var closed atomic.Bool
		for w := range 4 {
			wg.Go(func() {
				for n := uint64(0); ; n++ {
					i := (int(n) + w) % len(keys)
					late := closed.Load()
					err := tab.set(keys[i], stamped(uint32(i), n), 0)
					if late && !errors.Is(err, ErrClosed) {
						t.Errorf("a write after Close: %v", err)
					}
					if err != nil {
						return
					}
				}
			})
		}
		runtime.Gosched()
		tab.Close()
		closed.Store(true)
		wg.Wait()
		if s := tab.Stats(); s.Records != 0 || s.Bytes != 0 || s.IndexBytes != 0 || s.Buckets != 0 {
			t.Errorf("a closed table says it holds %+v", s)
		}
	}
}

// TestOverwriteInPlaceLeavesEveryCountTrue goes through the deadlines that an overwrite may meet.
func TestOverwriteInPlaceLeavesEveryCountTrue(t *testing.T) {
	for _, c := range []struct{ before, after int64 }{
		{0, 0},
		{0, birth + 5000},
		{birth + 5000, 0},
		{birth + 5000, birth + 5000},
		{birth + 5000, birth + 9000},
		{birth + 5000, birth + 1000},
		{birth, birth + 1000}, // expired, not yet reaped
	} {
		tab, clk := newTable(t, 16<<20)
		_ = tab.set("k", "before", c.before)
		if err := tab.set("k", "after!", c.after); err != nil {
			t.Fatal(err)
		}
		check(t, tab)
		k := []byte("k")
		if in, ok := tab.Peek(tab.Hash(k), k); !ok || in.ExpireAt != c.after {
			t.Errorf("%+v: %+v, %v", c, in, ok)
		}
		if v, _ := tab.get("k"); v != "after!" {
			t.Errorf("%+v: %q", c, v)
		}
		if c.after == 0 {
			continue
		}
		clk.Advance(time.Duration(c.after-birth) * time.Millisecond)
		if r := tab.Reap(nil); r.Records != 1 || tab.Len() != 0 {
			t.Errorf("%+v: the reaper finds %+v", c, r)
		}
	}
}
