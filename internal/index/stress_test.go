package index

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/larder-cache/larder/internal/invariants"
	"github.com/larder-cache/larder/internal/memory"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// stamp fills b with a value that says whose it is and proves that it is whole: key number, random bytes, checksum.
func stamp(b []byte, key uint32, rng *rand.Rand) {
	binary.LittleEndian.PutUint32(b, key)
	x := rng.Uint64()
	for i := 4; i+4 < len(b); i++ {
		b[i] = byte(x >> (i % 8 * 8))
		if i%64 == 0 {
			x = x*6364136223846793005 + 1
		}
	}
	binary.LittleEndian.PutUint32(b[len(b)-4:], crc32.Checksum(b[:len(b)-4], castagnoli))
}

func verifyStamp(b []byte, key uint32) error {
	if len(b) < 8 {
		return fmt.Errorf("%d bytes", len(b))
	}
	if got := binary.LittleEndian.Uint32(b); got != key {
		return fmt.Errorf("the value of key %d", got)
	}
	if binary.LittleEndian.Uint32(b[len(b)-4:]) != crc32.Checksum(b[:len(b)-4], castagnoli) {
		return fmt.Errorf("a torn value of %d bytes", len(b))
	}
	return nil
}

// TestNoTornReadWhileEverythingChanges runs readers against writers that overwrite in place, change sizes across all
// record formats, delete, expire, and insert so many other keys that buckets split all the time.
func TestNoTornReadWhileEverythingChanges(t *testing.T) {
	total := int64(20_000_000)
	if testing.Short() || lockedReads || invariants.Enabled {
		total = 400_000
	}
	tab, _ := newTable(t, 512<<20)
	const hot = 1000
	key := func(b []byte, n uint32) []byte {
		b = append(b[:0], "key:"...)
		return binary.BigEndian.AppendUint32(b, n)
	}
	sizes := []int{8, 60, 100, 101, 200, 600, 4096}
	var ops, hits atomic.Int64
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 99))
			buf, val, kb := make([]byte, 0, 1<<20), make([]byte, 600_000), make([]byte, 0, 16)
			fresh := uint32(hot + w<<24)
			oldest := fresh
			done, found := int64(0), int64(0)
			for ; ; done++ {
				if done == 1024 {
					hits.Add(found)
					if ops.Add(done) >= total || t.Failed() {
						return
					}
					done, found = 0, 0
				}
				n := rng.Uint32N(hot)
				k := key(kb, n)
				h := tab.Hash(k)
				switch r := rng.IntN(100); {
				case r < 70:
					out, _, ok := tab.Get(h, buf[:0], k)
					if ok {
						found++
						if err := verifyStamp(out, n); err != nil {
							t.Errorf("key %d: %v", n, err)
							return
						}
					}
					buf = out[:0]
				case r < 85:
					v := val[:sizes[rng.IntN(len(sizes))]]
					if rng.IntN(2000) == 0 {
						v = val[:memory.MaxCell+rng.IntN(len(val)-memory.MaxCell)]
					}
					stamp(v, n, rng)
					at := int64(0)
					if rng.IntN(8) == 0 {
						at = birth + int64(rng.IntN(2)) // expired at once, or never in this test's time
					}
					if err := tab.Set(h, k, v, at, 0); err != nil {
						t.Errorf("Set: %v", err)
						return
					}
				case r < 88:
					tab.Delete(h, k)
				case r < 90 && w == 0:
					tab.Reap(nil)
				default:
					// New keys make buckets split; the oldest go, so the table does not grow for ever.
					k = key(kb, fresh)
					v := val[:sizes[rng.IntN(3)]]
					stamp(v, fresh, rng)
					if err := tab.Set(tab.Hash(k), k, v, 0, 0); err != nil {
						t.Errorf("Set: %v", err)
						return
					}
					fresh++
					if fresh-oldest > 150_000 {
						k = key(kb, oldest)
						if !tab.Delete(tab.Hash(k), k) {
							t.Errorf("key %d of this writer alone is gone", oldest)
							return
						}
						oldest++
					}
					// A record that only this writer touches is always there and always right.
					mine := oldest + rng.Uint32N(fresh-oldest)
					k = key(kb, mine)
					out, _, ok := tab.Get(tab.Hash(k), buf[:0], k)
					if !ok {
						t.Errorf("key %d of this writer alone is not found", mine)
						return
					}
					if err := verifyStamp(out, mine); err != nil {
						t.Errorf("key %d: %v", mine, err)
						return
					}
					buf = out[:0]
				}
			}
		})
	}
	wg.Wait()
	check(t, tab)
	s := tab.Stats()
	if s.Splits == 0 || hits.Load() == 0 {
		t.Fatalf("no split or no hit: %+v", s)
	}
	t.Logf("%d operations, %d hits, %d splits, %d overflow buckets", ops.Load(), hits.Load(), s.Splits, s.OverflowBuckets)
}

// TestWalkNeverSkipsWhileWritersWork walks again and again while others insert, delete and overwrite: what stays for the
// whole walk is always seen.
func TestWalkNeverSkipsWhileWritersWork(t *testing.T) {
	tab, _ := newTable(t, 128<<20)
	const steady = 2000
	for i := range steady {
		if err := tab.set(fmt.Sprintf("steady:%d", i), "v", 0); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 5))
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				_ = tab.set(fmt.Sprintf("w%d:%d", w, i), "v", 0)
				k := fmt.Appendf(nil, "w%d:%d", w, rng.IntN(i+1))
				if rng.IntN(3) != 0 {
					tab.Delete(tab.Hash(k), k)
				}
				_ = tab.set(fmt.Sprintf("steady:%d", rng.IntN(steady)), string(make([]byte, rng.IntN(300))), 0)
			}
		})
	}
	for range 10 {
		seen := map[string]bool{}
		for cursor := uint64(0); ; {
			next, err := tab.Scan(cursor, 20, false, func(k, _ []byte, _ Meta) bool { seen[string(k)] = true; return true })
			if err != nil {
				t.Fatal(err)
			}
			if cursor = next; cursor == 0 {
				break
			}
		}
		for i := range steady {
			if !seen[fmt.Sprintf("steady:%d", i)] {
				t.Errorf("a walk skips steady:%d", i)
			}
		}
	}
	close(stop)
	wg.Wait()
	check(t, tab)
}
