package index

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
)

// contents are all records of a table, with their deadlines.
func contents(t *testing.T, tab *Table) map[string]string {
	t.Helper()
	all := map[string]string{}
	for cursor := uint64(0); ; {
		next, err := tab.Scan(cursor, 1000, true, func(k, v []byte, in Meta) bool {
			all[string(k)] = fmt.Sprint(in.ExpireAt, in.Flags, string(v))
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if cursor = next; cursor == 0 {
			return all
		}
	}
}

// TestPutAllStoresAllOrNothing fills a table to its limit and then stores groups of keys, new ones, ones of the same size,
// ones of other sizes, counters, and the same key twice.
func TestPutAllStoresAllOrNothing(t *testing.T) {
	tab, clk := newTable(t, 8<<20)
	rng := rand.New(rand.NewPCG(3, 4))
	value := func() []byte {
		n := []int{0, 8, 100, 101, 3000, 20_000, 40_000, 300_000}[rng.IntN(8)]
		return []byte(fmt.Sprintf("%0*d", n, rng.IntN(10)))
	}
	key := func() []byte { return strconv.AppendInt([]byte("k"), int64(rng.IntN(400)), 10) }
	refused, stored := 0, 0
	for round := range 3000 {
		switch k := key(); rng.IntN(6) {
		case 0:
			tab.Delete(tab.Hash(k), k)
		case 1:
			_ = tab.Set(tab.Hash(k), k, value(), clk.Now()+int64(rng.IntN(3)*1_000_000), 0)
		case 2:
			_, _ = tab.Add(tab.Hash(k), k, 1, 0, false)
		}
		if round%10 != 0 {
			continue
		}
		var g Guard
		var values [][]byte
		before := contents(t, tab)
		want := map[string]string{}
		for range 1 + rng.IntN(12) {
			k, v := key(), value()
			g.Add(tab, tab.Hash(k), k)
			values = append(values, v)
			want[string(k)] = fmt.Sprint(0, 0, string(v))
		}
		g.Lock()
		err := g.PutAll(values, 1)
		g.Unlock()
		after := contents(t, tab)
		if err == nil {
			stored++
			for k, v := range want {
				before[k] = v
			}
		} else if refused++; !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
		if len(before) != len(after) {
			t.Fatalf("round %d: %v: %d records, want %d", round, err, len(after), len(before))
		}
		for k, v := range before {
			if after[k] != v {
				t.Fatalf("round %d: %v: %s is %.40q, want %.40q", round, err, k, after[k], v)
			}
		}
		check(t, tab)
	}
	if refused == 0 || stored == 0 {
		t.Fatalf("%d refused, %d stored", refused, stored)
	}
}

func TestPutAllLooksAtSizesFirst(t *testing.T) {
	tab, _ := newTable(t, 8<<20)
	tab.maxValue, tab.maxKey = 10, 10
	for want, keys := range map[error][]string{ErrKeyTooLarge: {"a", "this is too long"}, ErrValueTooLarge: {"a", "b"}} {
		var g Guard
		for _, k := range keys {
			g.Add(tab, tab.Hash([]byte(k)), []byte(k))
		}
		g.Lock()
		err := g.PutAll([][]byte{[]byte("1"), []byte("value too long")}, 1)
		g.Unlock()
		if !errors.Is(err, want) || tab.Len() != 0 {
			t.Fatalf("%v, %d records", err, tab.Len())
		}
	}
}
