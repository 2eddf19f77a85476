package larder_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/larder-cache/larder"
	"github.com/larder-cache/larder/internal/invariants"
)

func open(t testing.TB) *larder.Collection {
	t.Helper()
	cache, err := larder.Open(larder.Options{MaxMemory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cache.Close() })
	c, err := cache.Collection("test")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestValuesOfAnyBytesComeBack(t *testing.T) {
	c := open(t)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, v := range [][]byte{nil, {0}, []byte("\r\n"), all, bytes.Repeat(all, 257), bytes.Repeat([]byte{7}, 3<<20)} {
		for _, k := range [][]byte{{}, {0}, []byte("\r\n"), all} {
			if err := c.Set(k, v, 0); err != nil {
				t.Fatal(err)
			}
			got, err := c.Get([]byte("pre"), k)
			if err != nil || !bytes.Equal(got[3:], v) || string(got[:3]) != "pre" {
				t.Fatalf("%d bytes under %q: %d bytes, %v", len(v), k, len(got), err)
			}
		}
	}
}

func TestTimeToLive(t *testing.T) {
	c := open(t)
	k := []byte("k")
	if _, err := c.TTL(k); !errors.Is(err, larder.ErrNotFound) {
		t.Fatal(err)
	}
	if err := c.Set(k, k, -time.Second); !errors.Is(err, larder.ErrTTL) || c.Has(k) {
		t.Fatal(err)
	}
	if err := c.Set(k, k, 1<<63-1); err != nil {
		t.Fatal(err)
	}
	if ttl, err := c.TTL(k); err != nil || ttl < 290*365*24*time.Hour {
		t.Fatal(ttl, err)
	}
	if ok, err := c.Touch(k, 0); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if ttl, err := c.TTL(k); ttl != 0 || err != nil {
		t.Fatal(ttl, err)
	}
	if ok, err := c.Touch(k, time.Nanosecond); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for begin := time.Now(); c.Has(k); {
		if time.Since(begin) > 10*time.Second {
			t.Fatal("a record outlives its millisecond")
		}
	}
	if ok, err := c.Touch(k, time.Hour); ok || err != nil {
		t.Fatal("Touch revived an expired record", err)
	}
}

func TestCounters(t *testing.T) {
	c := open(t)
	k := []byte("n")
	if n, err := c.Add(k, 5, time.Hour); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := c.Add(k, -7, 0); n != -2 || err != nil {
		t.Fatal(n, err)
	}
	if ttl, _ := c.TTL(k); ttl < 59*time.Minute {
		t.Fatalf("Add without a time to live changed it to %v", ttl)
	}
	if v, _ := c.Get(nil, k); string(v) != "-2" {
		t.Fatalf("%q", v)
	}
	_ = c.Set(k, []byte("x"), 0)
	if _, err := c.Add(k, 1, 0); !errors.Is(err, larder.ErrNotInteger) {
		t.Fatal(err)
	}
}

func TestWalksGiveEveryRecord(t *testing.T) {
	c := open(t)
	for i := range 5000 {
		_ = c.Set([]byte(strconv.Itoa(i)), []byte(strconv.Itoa(i*2)), time.Duration(i%2)*time.Hour)
	}
	seen := map[string]bool{}
	for k, v := range c.All() {
		n, _ := strconv.Atoi(string(k))
		if string(v) != strconv.Itoa(n*2) {
			t.Fatalf("%s: %s", k, v)
		}
		seen[string(k)] = true
	}
	if len(seen) != 5000 || c.Len() != 5000 {
		t.Fatalf("%d of %d", len(seen), c.Len())
	}
	for range c.All() {
		break
	}
	clear(seen)
	for cursor := uint64(0); ; {
		next, err := c.Scan(cursor, 100, func(k, _ []byte, ttl time.Duration) bool {
			n, _ := strconv.Atoi(string(k))
			if (ttl != 0) != (n%2 == 1) || ttl > time.Hour {
				t.Fatalf("%s has %v to live", k, ttl)
			}
			seen[string(k)] = true
			return true
		})
		if err != nil || next > 1<<31-1 {
			t.Fatal(next, err)
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	if len(seen) != 5000 {
		t.Fatalf("Scan gives %d", len(seen))
	}
	if err := c.Flush(); err != nil || c.Len() != 0 {
		t.Fatal(err, c.Len())
	}
}

func TestRefusalsAreNamed(t *testing.T) {
	if _, err := larder.Open(larder.Options{MaxMemory: 5, HugePages: "x"}); !errors.Is(err, larder.ErrOptions) {
		t.Fatal(err)
	}
	cache, err := larder.Open(larder.Options{MaxMemory: larder.MinMaxMemory})
	if err != nil {
		t.Fatal(err)
	}
	c, err := cache.CreateCollection("a", larder.CollectionOptions{MaxValue: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cache.CreateCollection("a", larder.CollectionOptions{}); !errors.Is(err, larder.ErrExists) {
		t.Fatal(err)
	}
	if err := c.Set([]byte("k"), make([]byte, 1001), 0); !errors.Is(err, larder.ErrValueTooLarge) {
		t.Fatal(err)
	}
	if err := c.Set(make([]byte, larder.MaxKeyBytes+1), nil, 0); !errors.Is(err, larder.ErrKeyTooLarge) {
		t.Fatal(err)
	}
	for i := 0; err == nil; i++ {
		err = c.Set(fmt.Appendf(nil, "key %d", i), make([]byte, 900), 0)
	}
	if !errors.Is(err, larder.ErrFull) {
		t.Fatal(err)
	}
	if s := cache.Stats(); s.Committed > larder.MinMaxMemory || s.Refused != 1 || s.Records < 5000 {
		t.Fatalf("%+v", s)
	}
	if got := cache.Collections(); len(got) != 1 || got[0] != "a" {
		t.Fatal(got)
	}
	if err := cache.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(nil, []byte("key 0")); !errors.Is(err, larder.ErrClosed) {
		t.Fatal(err)
	}
	for _, err := range []error{cache.Close(), c.Set(nil, nil, 0), c.Flush()} {
		if !errors.Is(err, larder.ErrClosed) {
			t.Fatal(err)
		}
	}
}

// TestClosedCacheIsEmptyToEveryMethod: each refuses by name or says that nothing is there, and says the same for ever.
func TestClosedCacheIsEmptyToEveryMethod(t *testing.T) {
	cache, err := larder.Open(larder.Options{MaxMemory: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	c, err := cache.Collection("a")
	if err != nil {
		t.Fatal(err)
	}
	k := []byte("k")
	for i := range 1000 {
		if err := c.Set(strconv.AppendInt(nil, int64(i), 10), k, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.Has(k)
	if cache.Stats() == (larder.Stats{}) || c.Stats() == (larder.CollectionStats{}) {
		t.Fatal("an open cache has no figures")
	}
	if err := cache.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // no method changes what another says
		calls := map[string]error{"Close": cache.Close(), "Set": c.Set(k, k, 0), "Flush": c.Flush()}
		_, calls["Collection that was there"] = cache.Collection("a")
		_, calls["Collection that was not"] = cache.Collection("b")
		_, calls["CreateCollection"] = cache.CreateCollection("a", larder.CollectionOptions{})
		_, calls["Get"] = c.Get(nil, k)
		_, calls["Delete"] = c.Delete(k)
		_, calls["TTL"] = c.TTL(k)
		_, calls["Touch"] = c.Touch(k, time.Hour)
		_, calls["Add"] = c.Add(k, 1, 0)
		_, calls["Scan"] = c.Scan(0, 10, func(_, _ []byte, _ time.Duration) bool {
			t.Error("Scan gives a record")
			return true
		})
		for name, err := range calls {
			if !errors.Is(err, larder.ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for range c.All() {
			t.Error("All gives a record")
		}
		if c.Has(k) || c.Len() != 0 || len(cache.Collections()) != 0 || c.Name() != "a" {
			t.Errorf("Has %v, Len %d, Collections %q, Name %q", c.Has(k), c.Len(), cache.Collections(), c.Name())
		}
		if s := cache.Stats(); s != (larder.Stats{}) {
			t.Errorf("Stats %+v", s)
		}
		if s := c.Stats(); s != (larder.CollectionStats{}) {
			t.Errorf("Stats of the collection %+v", s)
		}
	}
}

// TestSlicesOfAWalkMayBeExtended: what a loop appends to one does not run into the others.
func TestSlicesOfAWalkMayBeExtended(t *testing.T) {
	c := open(t)
	for i := range 5000 {
		k := strconv.AppendInt(nil, int64(i), 10)
		if err := c.Set(k, k, 0); err != nil {
			t.Fatal(err)
		}
	}
	check := func(k, v []byte) {
		key := string(k)
		if _ = append(k, "appended to the key"...); string(v) != key {
			t.Fatalf("key %q has value %q", key, v)
		}
		_ = append(v, "appended to the value"...)
		if _, err := strconv.Atoi(key); err != nil {
			t.Fatal(err)
		}
	}
	for k, v := range c.All() {
		check(k, v)
	}
	if _, err := c.Scan(0, 5000, func(k, v []byte, _ time.Duration) bool { check(k, v); return true }); err != nil {
		t.Fatal(err)
	}
}

func TestScanWithoutAFunctionPanicsByName(t *testing.T) {
	c := open(t)
	for _, records := range []int{0, 1} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); text != "larder: Scan without a function" {
					t.Errorf("%d records: %s", records, text)
				}
			}()
			_, _ = c.Scan(0, 1, nil)
		}()
		_ = c.Set([]byte("k"), nil, 0)
	}
}

// TestCounterHasEightBytes, whatever its digits are: a smaller MaxValue leaves no counters.
func TestCounterHasEightBytes(t *testing.T) {
	cache, err := larder.Open(larder.Options{MaxMemory: larder.MinMaxMemory})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	for limit, want := range map[int]error{7: larder.ErrValueTooLarge, 8: nil} {
		c, err := cache.CreateCollection(strconv.Itoa(limit), larder.CollectionOptions{MaxValue: limit})
		if err != nil {
			t.Fatal(err)
		}
		k := []byte("k")
		if _, err := c.Add(k, 1, 0); !errors.Is(err, want) || c.Has(k) != (want == nil) {
			t.Errorf("MaxValue %d: %v, there %v", limit, err, c.Has(k))
		}
		if _, err := c.Add(k, math.MinInt64+1, 0); !errors.Is(err, want) {
			t.Errorf("MaxValue %d, 20 digits: %v", limit, err)
		}
	}
}

// TestGarbageCollectorDoesNotSeeTheData forces a collection with many entries resident: the heap must not contain them.
func TestGarbageCollectorDoesNotSeeTheData(t *testing.T) {
	c := open(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	v := make([]byte, 100)
	for i := range 100_000 {
		if err := c.Set(fmt.Appendf(nil, "key:%012d", i), v, 0); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Fatalf("the Go heap grew by %d bytes with 12 MB of records", grown)
	}
	if c.Len() != 100_000 {
		t.Fatal(c.Len())
	}
}

func TestGetAndSetMakeNoGarbage(t *testing.T) {
	if invariants.Enabled {
		t.Log("the checks of the tag invariants allocate")
		return
	}
	c := open(t)
	k, v := []byte("key:000000000001"), make([]byte, 100)
	_ = c.Set(k, v, 0)
	buf := make([]byte, 0, 128)
	if n := testing.AllocsPerRun(200, func() { buf, _ = c.Get(buf[:0], k) }); n != 0 {
		t.Errorf("Get allocates %v times", n)
	}
	if n := testing.AllocsPerRun(200, func() { _ = c.Set(k, v, time.Hour) }); n != 0 {
		t.Errorf("Set allocates %v times", n)
	}
}

func TestFractionIsAShareOfWhatThisProcessMayUse(t *testing.T) {
	whole, half := larder.Fraction(1), larder.Fraction(0.5)
	if half < larder.MinMaxMemory || half > larder.MaxMaxMemory || whole < half {
		t.Fatalf("the whole is %d, half of it %d", whole, half)
	}
	if got := larder.Fraction(1e-12); got != larder.MinMaxMemory {
		t.Fatalf("nearly nothing is %d", got)
	}
	for _, share := range []float64{0, -1, 1.01, math.NaN(), math.Inf(1)} {
		if _, err := larder.Open(larder.Options{MaxMemory: larder.Fraction(share)}); !errors.Is(err, larder.ErrOptions) {
			t.Errorf("a share of %v: %v", share, err)
		}
	}
}
