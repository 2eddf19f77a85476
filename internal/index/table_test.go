package index

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/larder-cache/larder/internal/clock"
	"github.com/larder-cache/larder/internal/invariants"
	"github.com/larder-cache/larder/internal/memory"
)

const birth = 1_700_000_000_000

func newTable(t testing.TB, limit int64) (*Table, *clock.Clock) {
	t.Helper()
	a, err := memory.New(memory.Options{Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	clk := clock.NewManual(birth)
	tab, err := New(a, clk, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tab, clk
}

func (t *Table) set(key, value string, expireAt int64) error {
	return t.Set(t.Hash([]byte(key)), []byte(key), []byte(value), expireAt, 0)
}

func (t *Table) get(key string) (string, bool) {
	b, _, ok := t.Get(t.Hash([]byte(key)), nil, []byte(key))
	return string(b), ok
}

func check(t testing.TB, tab *Table) {
	t.Helper()
	if err := tab.Check(); err != nil {
		t.Fatal(err)
	}
	if n := tab.arena.Stats().BadFrees; n != 0 {
		t.Fatalf("%d bad frees", n)
	}
}

type modelRecord struct {
	value    []byte
	expireAt int64
	integer  bool
}

// TestRandomOperationsAgreeWithAMap runs every operation against a map, with sizes that cross every border of the record
// format, and deadlines that pass.
func TestRandomOperationsAgreeWithAMap(t *testing.T) {
	rounds := 150_000
	if testing.Short() {
		rounds = 20_000
	}
	for seed := range uint64(3) {
		tab, clk := newTable(t, 96<<20)
		rng := rand.New(rand.NewPCG(seed, 11))
		model := map[string]*modelRecord{}
		sizes := []int{0, 1, 7, 8, 100, 240, 256, 1000, 5000, memory.MaxCell - 40, memory.MaxCell, memory.MaxCell + 1, 70_000, memory.SlotSize, memory.SlotSize*2 + 33_000}
		value := func() []byte {
			n := sizes[rng.IntN(7)]
			if rng.IntN(40) == 0 {
				n = sizes[rng.IntN(len(sizes))]
			}
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			return b
		}
		live := func(k string) *modelRecord {
			m := model[k]
			if m == nil || m.expireAt != 0 && m.expireAt <= clk.Now() {
				return nil
			}
			return m
		}
		for round := range rounds {
			k := "key:" + strconv.Itoa(rng.IntN(700))
			if rng.IntN(50) == 0 {
				k = string(bytes.Repeat([]byte(k), 6000)) // a key that needs chunks
			}
			kb := []byte(k)
			h := tab.Hash(kb)
			expireAt := int64(0)
			if rng.IntN(3) == 0 {
				expireAt = clk.Now() + int64(rng.IntN(20_000))
			}
			m := live(k)
			switch op := rng.IntN(14); op {
			case 0, 1, 2:
				v := value()
				if err := tab.Set(h, kb, v, expireAt, 0); err != nil {
					t.Fatal(err)
				}
				model[k] = &modelRecord{value: v, expireAt: expireAt}
			case 3:
				if got := tab.Delete(h, kb); got != (m != nil) {
					t.Fatalf("round %d: Delete says %v", round, got)
				}
				delete(model, k)
			case 4:
				delta, rearm := int64(rng.IntN(100)), rng.IntN(2) == 0
				got, err := tab.Add(h, kb, delta, expireAt, rearm)
				var base int64
				ok := true
				if m != nil {
					base, ok = ParseInt(m.value)
				}
				if (err == nil) != ok || ok && got != base+delta {
					t.Fatalf("round %d: Add to %q gives %d, %v", round, m.value, got, err)
				}
				if ok {
					n := &modelRecord{value: strconv.AppendInt(nil, got, 10), integer: true, expireAt: expireAt}
					if !rearm {
						n.expireAt = 0
						if m != nil {
							n.expireAt = m.expireAt
						}
					}
					model[k] = n
				}
			case 5:
				x := tab.Lock(h, kb)
				if err := x.SetExpire(expireAt); err != nil {
					t.Fatal(err)
				}
				x.Unlock()
				if m != nil {
					m.expireAt = expireAt
				}
			case 6:
				p := value()
				off := rng.IntN(300)
				x := tab.Lock(h, kb)
				if rng.IntN(2) == 0 {
					off = x.Meta().Size
				}
				if err := x.WriteAt(off, p); err != nil {
					t.Fatal(err)
				}
				x.Unlock()
				if m == nil {
					m = &modelRecord{}
					model[k] = m
				}
				if n := off + len(p); n > len(m.value) {
					m.value = append(m.value[:len(m.value):len(m.value)], make([]byte, n-len(m.value))...)
				}
				copy(m.value[off:], p)
				m.integer = false
			case 7:
				from, to := int64(rng.IntN(400)-200), int64(rng.IntN(400)-200)
				got, _, ok := tab.GetRange(h, nil, kb, from, to)
				if ok != (m != nil) {
					t.Fatalf("GetRange finds %v", ok)
				}
				if ok {
					i, j := clampRange(from, to, len(m.value))
					if !bytes.Equal(got, m.value[i:j]) {
						t.Fatalf("GetRange %d %d gives %d bytes, want %d", from, to, len(got), j-i)
					}
				}
			case 8:
				clk.Advance(time.Duration(rng.IntN(300)) * time.Millisecond)
				if rng.IntN(20) == 0 {
					tab.Reap(nil)
				}
			default:
				got, in, ok := tab.Get(h, []byte("x"), kb)
				if ok != (m != nil) {
					t.Fatalf("round %d: Get finds %v, want %v", round, ok, m != nil)
				}
				if ok && (!bytes.Equal(got[1:], m.value) || in.ExpireAt != m.expireAt || in.Size != len(m.value) || (in.Flags&FlagInteger != 0) != m.integer) {
					t.Fatalf("round %d: %.40q, %+v; want %.40q, %+v", round, got[1:], in, m.value, *m)
				}
				short, in2, st := tab.GetInto(h, make([]byte, 0, rng.IntN(300)), kb, nil)
				switch {
				case (st == Missing) != (m == nil):
					t.Fatalf("GetInto: %v", st)
				case st == Found && !bytes.Equal(short, m.value), st == Short && (in2.Size != len(m.value) || len(short) != 0):
					t.Fatalf("GetInto: %v, %d bytes", st, len(short))
				}
			}
			if round%20_000 == 0 {
				check(t, tab)
			}
		}
		check(t, tab)
		seen := map[string]bool{}
		for cursor := uint64(0); ; {
			next, err := tab.Scan(cursor, 10, true, func(k, v []byte, in Meta) bool {
				if m := live(string(k)); m == nil || !bytes.Equal(m.value, v) || in.ExpireAt != m.expireAt {
					t.Fatalf("a walk shows a record that is not in the map: %.20q", k)
				}
				seen[string(k)] = true
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			if cursor = next; cursor == 0 {
				break
			}
		}
		for k := range model {
			if live(k) != nil && !seen[k] {
				t.Fatalf("a walk misses %.20q", k)
			}
		}
		tab.Flush()
		if n := tab.Len(); n != 0 {
			t.Fatalf("%d records after Flush", n)
		}
		check(t, tab)
		s := tab.Stats()
		cells, _ := tab.arena.Live()
		if s.Bytes != 0 || cells > 64*40 {
			t.Fatalf("after Flush %d bytes and %d cells remain", s.Bytes, cells)
		}
	}
}

func TestTableGrowsAndEveryRecordIsFoundAndWalkedOnce(t *testing.T) {
	n := 300_000
	if testing.Short() {
		n = 30_000
	}
	tab, _ := newTable(t, 256<<20)
	for i := range n {
		k := fmt.Sprintf("key:%012d", i)
		if err := tab.set(k, k+"!", 0); err != nil {
			t.Fatal(err)
		}
	}
	check(t, tab)
	for i := range n {
		k := fmt.Sprintf("key:%012d", i)
		if v, ok := tab.get(k); !ok || v != k+"!" {
			t.Fatalf("%s: %q, %v", k, v, ok)
		}
	}
	seen := make(map[string]int, n)
	calls := 0
	for cursor := uint64(0); ; calls++ {
		next, err := tab.Scan(cursor, 100, false, func(k, _ []byte, _ Meta) bool { seen[string(k)]++; return true })
		if err != nil || next > math.MaxInt32 {
			t.Fatalf("cursor %d, %v", next, err)
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	if len(seen) != n {
		t.Fatalf("a walk shows %d of %d records", len(seen), n)
	}
	for k, c := range seen {
		if c != 1 {
			t.Fatalf("%s is shown %d times by a walk that nobody disturbed", k, c)
		}
	}
	if s := tab.Stats(); s.Splits == 0 || s.Records != int64(n) {
		t.Fatalf("%+v", s)
	}
}

func TestWalkSurvivesGrowth(t *testing.T) {
	tab, _ := newTable(t, 128<<20)
	for i := range 5000 {
		if err := tab.set("old:"+strconv.Itoa(i), "v", 0); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	added := 0
	for cursor := uint64(0); ; {
		next, err := tab.Scan(cursor, 7, false, func(k, _ []byte, _ Meta) bool { seen[string(k)] = true; return true })
		if err != nil {
			t.Fatal(err)
		}
		for range 6 {
			if err := tab.set("new:"+strconv.Itoa(added), "v", 0); err != nil {
				t.Fatal(err)
			}
			added++
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	for i := range 5000 {
		if !seen["old:"+strconv.Itoa(i)] {
			t.Fatalf("the walk skips old:%d", i)
		}
	}
}

func TestWalkThatStopsAtEveryRecordSkipsNone(t *testing.T) {
	tab, _ := newTable(t, 32<<20)
	for i := range 3000 {
		if err := tab.set(strconv.Itoa(i), "v", 0); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	cursor, calls := uint64(0), 0
	for {
		next, err := tab.Scan(cursor, 1000, false, func(k, _ []byte, _ Meta) bool { seen[string(k)] = true; return false })
		if err != nil {
			t.Fatal(err)
		}
		if calls++; calls > 20_000 {
			t.Fatal("the walk does not end")
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	if len(seen) != 3000 {
		t.Fatalf("%d of 3000 records seen", len(seen))
	}
	if _, err := tab.Scan(maxCursor+1, 1, false, nil); !errors.Is(err, ErrCursor) {
		t.Fatalf("a cursor beyond the last: %v", err)
	}
}

func TestWalkCallbackMayDelete(t *testing.T) {
	tab, _ := newTable(t, 32<<20)
	for i := range 3000 {
		if err := tab.set(strconv.Itoa(i), "v", 0); err != nil {
			t.Fatal(err)
		}
	}
	times := map[string]int{}
	for cursor := uint64(0); ; {
		next, err := tab.Scan(cursor, 10, false, func(k, _ []byte, _ Meta) bool {
			times[string(k)]++
			return tab.Delete(tab.Hash(k), k)
		})
		if err != nil {
			t.Fatal(err)
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	for k, n := range times {
		if n != 1 {
			t.Fatalf("%s was shown %d times though it was deleted at once", k, n)
		}
	}
	if len(times) != 3000 || tab.Len() != 0 {
		t.Fatalf("%d shown, %d left", len(times), tab.Len())
	}
}

func TestKeyIsFoundInEveryEntryOfABucket(t *testing.T) {
	for i := range bucketEntries {
		var b bucket
		b.tags[i] = 0x81
		lo, hi := b.matches(0x81)
		got := -1
		if lo != 0 {
			got = firstByte(lo)
		} else if hi != 0 {
			got = 8 + firstByte(hi)
		}
		if got != i {
			t.Fatalf("tag in entry %d is matched in %d", i, got)
		}
		for j := range b.tags {
			b.tags[j] = 7
		}
		b.tags[i] = 0
		if v := b.vacancy(); v != i {
			t.Fatalf("free entry %d is found as %d", i, v)
		}
	}
}

func TestExpiredRecordsGoWithoutReadsAndLiveOnesStay(t *testing.T) {
	tab, clk := newTable(t, 64<<20)
	for i := range 10_000 {
		if err := tab.set("ttl:"+strconv.Itoa(i), "v", birth+1000+int64(i%20)*1000); err != nil {
			t.Fatal(err)
		}
	}
	_ = tab.set("forever", "v", 0)
	_ = tab.set("later", "v", birth+1_000_000)
	if r := tab.Reap(nil); r.Visited != 0 || r.Next != birth+1000 {
		t.Fatalf("before the first deadline: %+v", r)
	}
	for s := range 21 {
		clk.Advance(time.Second)
		tab.Reap(nil)
		want := max(0, 10_000-500*(s+1)) + 2
		if got := tab.Len(); got != want {
			t.Fatalf("after %d s %d records, want %d", s+1, got, want)
		}
		check(t, tab)
	}
	if r := tab.Reap(nil); r.Lanes > 1 || r.Next < birth+21_000 {
		t.Fatalf("when little is left: %+v", r)
	}
	if s := tab.Stats(); s.Expired != 10_000 || s.Expiring != 1 {
		t.Fatalf("%+v", s)
	}
}

func TestNearerDeadlineWakesTheReaper(t *testing.T) {
	a, err := memory.New(memory.Options{Limit: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	woken := 0
	tab, err := New(a, clock.NewManual(birth), Options{Wake: func() { woken++ }})
	if err != nil {
		t.Fatal(err)
	}
	_ = tab.set("a", "v", 0)
	if woken != 0 {
		t.Fatal("a record without a deadline wakes the reaper")
	}
	_ = tab.set("a", "v", birth+5000)
	tab.SetWakeAt(birth + 5000)
	_ = tab.set("b", "v", birth+6000)
	if woken != 1 {
		t.Fatalf("woken %d times, want once", woken)
	}
	_ = tab.set("c", "v", birth+1000)
	if woken != 2 {
		t.Fatalf("woken %d times, want twice", woken)
	}
}

func TestFullTableRefusesAndLosesNothing(t *testing.T) {
	tab, _ := newTable(t, memory.MinLimit+4<<20)
	n := 0
	for ; ; n++ {
		if err := tab.set(fmt.Sprintf("key:%d", n), fmt.Sprintf("%0100d", n), 0); err != nil {
			if !errors.Is(err, ErrFull) {
				t.Fatal(err)
			}
			break
		}
	}
	if err := tab.set("key:0", string(make([]byte, 1<<20)), 0); !errors.Is(err, ErrFull) {
		t.Fatalf("a large value in a full table: %v", err)
	}
	for i := range n {
		if v, ok := tab.get(fmt.Sprintf("key:%d", i)); !ok || v != fmt.Sprintf("%0100d", i) {
			t.Fatalf("key:%d is %q, %v", i, v, ok)
		}
	}
	if err := tab.set("key:1", fmt.Sprintf("%0100d", 77), 0); err != nil {
		t.Fatalf("overwriting in place in a full table: %v", err)
	}
	if s := tab.Stats(); s.Refused < 2 || s.Records != int64(n) {
		t.Fatalf("%+v", s)
	}
	check(t, tab)
	for i := range n {
		tab.Delete(tab.Hash(fmt.Appendf(nil, "key:%d", i)), fmt.Appendf(nil, "key:%d", i))
	}
	for i := range 1000 {
		if err := tab.set(fmt.Sprintf("other:%d", i), string(make([]byte, 3000)), 0); err != nil {
			t.Fatalf("another size after everything was deleted: %d: %v", i, err)
		}
	}
}

func TestOverwritingForEverDoesNotGrow(t *testing.T) {
	tab, _ := newTable(t, 64<<20)
	var first int64
	for round := range 30 {
		for i := range 2000 {
			n := 100
			if round%2 == 1 {
				n = 700
			}
			if err := tab.set("key:"+strconv.Itoa(i), string(make([]byte, n)), 0); err != nil {
				t.Fatal(err)
			}
		}
		if round == 3 {
			first = tab.arena.Stats().Held
		}
	}
	if got := tab.arena.Stats().Held; got > first {
		t.Fatalf("%d bytes committed, %d after the first rounds", got, first)
	}
}

func TestLimitsOfKeysAndValuesAreNamed(t *testing.T) {
	a, _ := memory.New(memory.Options{Limit: 16 << 20})
	tab, err := New(a, clock.System(), Options{MaxKey: 10, MaxValue: 100})
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.set("12345678901", "v", 0); !errors.Is(err, ErrKeyTooLarge) {
		t.Fatal(err)
	}
	if err := tab.set("k", string(make([]byte, 101)), 0); !errors.Is(err, ErrValueTooLarge) {
		t.Fatal(err)
	}
	x := tab.Lock(tab.Hash([]byte("k")), []byte("k"))
	if err := x.WriteAt(95, []byte("123456")); !errors.Is(err, ErrValueTooLarge) {
		t.Fatal(err)
	}
	if err := x.WriteAt(math.MaxInt, []byte("1")); !errors.Is(err, ErrValueTooLarge) {
		t.Fatal(err)
	}
	x.Unlock()
	if tab.Len() != 0 {
		t.Fatal("a refused store left a record")
	}
	if _, err := New(a, clock.System(), Options{MaxKey: MaxKey + 1}); err == nil {
		t.Fatal("a key limit beyond the header's field was taken")
	}
}

func TestCountersKeepTheirExpiryAndRefuseOverflow(t *testing.T) {
	tab, _ := newTable(t, 16<<20)
	k := []byte("n")
	h := tab.Hash(k)
	_ = tab.Set(h, k, []byte("41"), birth+5000, 0)
	if v, err := tab.Add(h, k, 1, 0, false); v != 42 || err != nil {
		t.Fatal(v, err)
	}
	if in, _ := tab.Peek(h, k); in.ExpireAt != birth+5000 || in.Flags != FlagInteger || in.Size != 2 {
		t.Fatalf("%+v", in)
	}
	if _, err := tab.Add(h, k, math.MaxInt64, 0, false); !errors.Is(err, ErrOverflow) {
		t.Fatal(err)
	}
	if v, _ := tab.get("n"); v != "42" {
		t.Fatalf("after an overflow the counter is %s", v)
	}
	_ = tab.Set(h, k, []byte("text"), 0, 0)
	if in, _ := tab.Peek(h, k); in.Flags != 0 || in.ExpireAt != 0 {
		t.Fatalf("a string over a counter: %+v", in)
	}
	for _, s := range []string{" 1", "+1", "1.0", "", "01", "-0", "9223372036854775808", "-9223372036854775809", "1 "} {
		_ = tab.Set(h, k, []byte(s), 0, 0)
		if _, err := tab.Add(h, k, 1, 0, false); !errors.Is(err, ErrNotInteger) {
			t.Fatalf("%q counts as an integer: %v", s, err)
		}
		if v, _ := tab.get("n"); v != s {
			t.Fatalf("a refused Add changed %q to %q", s, v)
		}
	}
	for _, s := range []string{"9223372036854775807", "-9223372036854775808", "0", "-1"} {
		if v, ok := ParseInt([]byte(s)); !ok || strconv.FormatInt(v, 10) != s {
			t.Fatalf("%s is read as %d, %v", s, v, ok)
		}
	}
}

func TestGuardLocksKeysOfTwoTables(t *testing.T) {
	a, _ := memory.New(memory.Options{Limit: 32 << 20})
	clk := clock.NewManual(birth)
	one, _ := New(a, clk, Options{})
	two, _ := New(a, clk, Options{})
	_ = one.set("k", "v", 0)
	var g Guard
	k := []byte("k")
	for range 3 {
		g.Add(two, two.Hash(k), k)
		g.Add(one, one.Hash(k), k)
		g.Add(one, one.Hash(k), k)
		g.Lock()
		v := g.Txn(1).Append(nil)
		if err := g.Txn(0).Put(v, 0, 0); err != nil {
			t.Fatal(err)
		}
		g.Unlock()
	}
	if v, ok := two.get("k"); !ok || v != "v" {
		t.Fatal(v, ok)
	}
}

func TestClosedTableFindsNothingAndRefusesWrites(t *testing.T) {
	tab, _ := newTable(t, 16<<20)
	_ = tab.set("k", "v", 0)
	tab.Close()
	tab.arena.Discard()
	if _, ok := tab.get("k"); ok && !memory.HeapBacked {
		t.Fatal("a discarded table finds a key")
	}
	if err := tab.set("k", "v", 0); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	if _, err := tab.Scan(0, 10, false, nil); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	tab.Flush()
	tab.Reap(nil)
	if _, ok := tab.Random(nil); ok || tab.Len() != 0 || tab.Delete(0, nil) {
		t.Fatal("a closed table still shows something")
	}
}

func TestRandomKeyIsLiveAndSpread(t *testing.T) {
	tab, _ := newTable(t, 16<<20)
	if _, ok := tab.Random(nil); ok {
		t.Fatal("a key of an empty table")
	}
	for i := range 20 {
		_ = tab.set(strconv.Itoa(i), "v", 0)
	}
	_ = tab.set("expired", "v", birth)
	seen := map[string]bool{}
	for range 2000 {
		k, ok := tab.Random(nil)
		if !ok || string(k) == "expired" {
			t.Fatalf("%q, %v", k, ok)
		}
		seen[string(k)] = true
	}
	if len(seen) < 18 {
		t.Fatalf("%d of 20 keys in 2000 draws", len(seen))
	}
}

func TestReadAndOverwriteMakeNoGarbage(t *testing.T) {
	if invariants.Enabled {
		t.Log("the checks of the tag invariants allocate")
		return
	}
	tab, _ := newTable(t, 16<<20)
	k, v := []byte("key:000000000001"), make([]byte, 100)
	h := tab.Hash(k)
	_ = tab.Set(h, k, v, 0, 0)
	buf := make([]byte, 0, 200)
	header := func(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }
	for name, f := range map[string]func(){
		"Get":     func() { buf, _, _ = tab.Get(h, buf[:0], k) },
		"GetInto": func() { buf, _, _ = tab.GetInto(h, buf[:0], k, header) },
		"Set":     func() { _ = tab.Set(h, k, v, 0, 0) },
		"Probe":   func() { tab.Probe(h, k) },
		"Txn":     func() { x := tab.Lock(h, k); _ = x.Put(v, 0, 0); x.Unlock() },
	} {
		if n := testing.AllocsPerRun(200, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	n := []byte("n")
	hn := tab.Hash(n)
	if a := testing.AllocsPerRun(200, func() { _, _ = tab.Add(hn, n, 1, 0, false) }); a != 0 {
		t.Errorf("Add allocates %v times", a)
	}
}
