package index

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/larder-cache/larder/internal/invariants"
	"github.com/larder-cache/larder/internal/memory"
)

func audit(tab *Table) (out Audited, lost map[memory.Ref]int) {
	u := tab.arena.NewAudit()
	tab.Audit(u, nil, &out)
	return out, u.Unnamed()
}

func TestAuditOfAHealthyTableFindsNothing(t *testing.T) {
	tab := reclaimTable(t, 64<<20)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 30_000 {
		k := "k" + strconv.Itoa(rng.IntN(12_000))
		switch rng.IntN(4) {
		case 0:
			tab.Delete(tab.Hash([]byte(k)), []byte(k))
		case 1:
			_ = tab.set(k, string(make([]byte, rng.IntN(300))), birth+int64(i))
		default:
			n := rng.IntN(3000)
			if rng.IntN(500) == 0 {
				n = rng.IntN(700_000)
			}
			_ = tab.set(k, string(make([]byte, n)), 0)
		}
	}
	now := int64(1)
	settle(t, tab, &now)
	out, lost := audit(tab)
	if len(out.Faults)+len(lost)+len(tab.arena.CheckCounts()) > 0 || out.Busy > 0 || out.Records != int64(tab.Len()) {
		t.Fatalf("%d records, %+v, lost %v, %v", tab.Len(), out, lost, tab.arena.CheckCounts())
	}
	if cells, _ := tab.arena.Live(); cells != out.Cells {
		t.Fatalf("%d cells are in use, %d are named", cells, out.Cells)
	}
}

func TestAuditFindsWhatIsWrong(t *testing.T) {
	fresh := func() (*Table, *lane, memory.Ref, *entry) {
		tab, _ := newTable(t, 32<<20)
		for i := range 5000 {
			_ = tab.set(strconv.Itoa(i), "some value", 0)
		}
		k := []byte("77")
		h := tab.Hash(k)
		_, _, ref, at := tab.search(tab.home(tab.laneOf(h), h), tagOf(h), k)
		return tab, tab.laneOf(h), ref, &at
	}
	t.Run("a cell that nobody has", func(t *testing.T) {
		tab, ln, _, _ := fresh()
		r := ln.magazines.Alloc(tab.arena, memory.ClassFor(200))
		out, lost := audit(tab)
		if len(out.Faults) != 0 || len(lost) != 1 || lost[r] < 200 {
			t.Fatalf("%v, lost %v", out.Faults, lost)
		}
	})
	t.Run("a record whose cell is free", func(t *testing.T) {
		tab, ln, ref, _ := fresh()
		ln.magazines.Free(tab.arena, ref)
		if out, lost := audit(tab); len(lost) != 0 || len(out.Faults) != 1 || !strings.Contains(out.Faults[0], "free") {
			t.Fatalf("%v, lost %v", out.Faults, lost)
		}
	})
	t.Run("a reference into a cell", func(t *testing.T) {
		tab, _, ref, at := fresh()
		at.b.refs[at.i]++
		if out, lost := audit(tab); len(out.Faults) == 0 || !strings.Contains(out.Faults[0], "start of a cell") || lost[ref] == 0 {
			t.Fatalf("%v, lost %v", out.Faults, lost)
		}
	})
	t.Run("a reference beyond everything", func(t *testing.T) {
		tab, _, _, at := fresh()
		at.b.refs[at.i] = 1<<32 - 1
		if out, _ := audit(tab); len(out.Faults) == 0 || !strings.Contains(out.Faults[0], "outside") {
			t.Fatal(out.Faults)
		}
	})
	t.Run("a record longer than its cell", func(t *testing.T) {
		tab, _, ref, _ := fresh()
		*(*uint64)(tab.arena.At(ref)) += 1000
		if out, _ := audit(tab); len(out.Faults) != 1 || !strings.Contains(out.Faults[0], "needed") {
			t.Fatal(out.Faults)
		}
	})
	t.Run("a wrong count of a lane", func(t *testing.T) {
		tab, ln, _, _ := fresh()
		ln.records++
		if out, _ := audit(tab); len(out.Faults) != 1 || !strings.Contains(out.Faults[0], "its counts say") {
			t.Fatal(out.Faults)
		}
	})
	t.Run("many faults", func(t *testing.T) {
		if invariants.Enabled {
			t.Skip("poison makes nonsense of the freed records")
		}
		tab, ln, _, _ := fresh()
		route := ln.route.Load()
		for i := range buckets(route) {
			for _, r := range tab.bucketAt(route, i).refs {
				if r != 0 {
					ln.magazines.Free(tab.arena, memory.Ref(r))
				}
			}
		}
		if out, _ := audit(tab); len(out.Faults) == 0 || len(out.Faults) > maxFaults {
			t.Fatalf("%d faults", len(out.Faults))
		}
	})
}
