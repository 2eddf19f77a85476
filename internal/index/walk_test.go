package index

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestWalkReadsLongValuesOneByOne walks over values that it must not copy all at once, while the callback takes some away.
func TestWalkReadsLongValuesOneByOne(t *testing.T) {
	tab, _ := newTable(t, 256<<20)
	const n = 300
	size := func(i int) int { return max(12, i*1500) } // below and above every bound, 450 kB at most
	for i := range n {
		b := make([]byte, size(i))
		stamp(b, uint32(i), rand.New(rand.NewPCG(uint64(i), 1)))
		if err := tab.set(fmt.Sprintf("key:%d", i), string(b), 0); err != nil {
			t.Fatal(err)
		}
	}
	seen := make([]int, n)
	gone := map[int]bool{}
	for cursor := uint64(0); ; {
		next, err := tab.Scan(cursor, 7, true, func(k, v []byte, in Meta) bool {
			var i int
			_, _ = fmt.Sscanf(string(k), "key:%d", &i)
			if err := verifyStamp(v, uint32(i)); err != nil || len(v) != size(i) || in.Size != len(v) {
				t.Errorf("%s: %d bytes, %+v, %v", k, len(v), in, err)
			}
			seen[i]++
			if other := (i + n/2) % n; seen[other] == 0 && !gone[other] {
				o := fmt.Appendf(nil, "key:%d", other)
				gone[other] = tab.Delete(tab.Hash(o), o)
			}
			return i%5 != 0
		})
		if err != nil {
			t.Fatal(err)
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	for i, times := range seen {
		if times == 0 && !gone[i] {
			t.Errorf("key:%d is skipped", i)
		}
	}
	if len(gone) == 0 {
		t.Fatal("nothing was taken away")
	}
	check(t, tab)
}
