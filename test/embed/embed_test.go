// Package embed uses package larder as another module's program would.
package embed

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-cache/larder"
)

// open returns a collection of a cache that is closed when the test ends.
func open(t *testing.T, o larder.Options) *larder.Collection {
	t.Helper()
	cache, err := larder.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cache.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := cache.Collection("things")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestThePromisedNames(t *testing.T) {
	t.Parallel()
	c := open(t, larder.Options{MaxMemory: 64 << 20})
	key, value := []byte("k\x00"), []byte("v\r\n\xff")
	if _, err := c.Get(nil, key); !errors.Is(err, larder.ErrNotFound) {
		t.Errorf("Get of an absent key: %v", err)
	}
	if err := c.Set(key, value, 0); err != nil {
		t.Error(err)
	}
	if got, err := c.Get([]byte("before "), key); err != nil || string(got) != "before "+string(value) {
		t.Errorf("Get: %q, %v", got, err)
	}
	if !c.Has(key) || c.Has([]byte("k")) {
		t.Error("Has is wrong")
	}
	if ttl, err := c.TTL(key); err != nil || ttl != 0 {
		t.Errorf("TTL of a record for ever: %v, %v", ttl, err)
	}
	if ok, err := c.Touch(key, time.Minute); err != nil || !ok {
		t.Errorf("Touch: %v, %v", ok, err)
	}
	if ttl, err := c.TTL(key); err != nil || ttl > time.Minute || ttl < 50*time.Second {
		t.Errorf("TTL after Touch: %v, %v", ttl, err)
	}
	if n, err := c.Add([]byte("n"), 41, 0); err != nil || n != 41 {
		t.Errorf("Add: %d, %v", n, err)
	}
	if _, err := c.Add([]byte("n"), math.MaxInt64, 0); !errors.Is(err, larder.ErrOverflow) {
		t.Errorf("Add beyond int64: %v", err)
	}
	if _, err := c.Add(key, 1, 0); !errors.Is(err, larder.ErrNotInteger) {
		t.Errorf("Add to text: %v", err)
	}
	if err := c.Set(make([]byte, larder.MaxKeyBytes+1), value, 0); !errors.Is(err, larder.ErrKeyTooLarge) {
		t.Errorf("Set of a key too large: %v", err)
	}
	seen := map[string]string{}
	for k, v := range c.All() {
		seen[string(k)] = string(v)
	}
	if len(seen) != 2 || seen["n"] != "41" || seen[string(key)] != string(value) {
		t.Errorf("All: %q", seen)
	}
	walked := 0
	for cursor := uint64(0); ; {
		next, err := c.Scan(cursor, 1, func(_, _ []byte, _ time.Duration) bool { walked++; return true })
		if err != nil {
			t.Fatal(err)
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	if walked != 2 || c.Len() != 2 || c.Stats().Records != 2 {
		t.Errorf("Scan saw %d, Len %d, Stats %d, want 2", walked, c.Len(), c.Stats().Records)
	}
	if ok, err := c.Delete(key); err != nil || !ok {
		t.Errorf("Delete: %v, %v", ok, err)
	}
	if ok, err := c.Delete(key); err != nil || ok {
		t.Errorf("second Delete: %v, %v", ok, err)
	}
}

func TestOptionsNameEveryProblem(t *testing.T) {
	t.Parallel()
	err := larder.Options{MaxMemory: -1, MaxValue: -1}.Validate()
	if !errors.Is(err, larder.ErrOptions) || !strings.Contains(err.Error(), "MaxMemory") || !strings.Contains(err.Error(), "MaxValue") {
		t.Errorf("Validate: %v", err)
	}
}

func TestAClosedCacheRefusesByName(t *testing.T) {
	t.Parallel()
	cache, err := larder.Open(larder.Options{MaxMemory: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	c, err := cache.CreateCollection("c", larder.CollectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cache.CreateCollection("c", larder.CollectionOptions{}); !errors.Is(err, larder.ErrExists) {
		t.Errorf("CreateCollection twice: %v", err)
	}
	if names := cache.Collections(); len(names) != 1 || names[0] != "c" {
		t.Errorf("Collections: %q", names)
	}
	if err := cache.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Set([]byte("k"), nil, 0); !errors.Is(err, larder.ErrClosed) {
		t.Errorf("Set after Close: %v", err)
	}
	if _, err := c.Get(nil, []byte("k")); !errors.Is(err, larder.ErrClosed) {
		t.Errorf("Get after Close: %v", err)
	}
}

func TestAFullCacheSaysErrFull(t *testing.T) {
	t.Parallel()
	c := open(t, larder.Options{MaxMemory: larder.MinMaxMemory})
	value := bytes.Repeat([]byte("v"), 1000)
	stored := 0
	for ; ; stored++ {
		err := c.Set(fmt.Appendf(nil, "key:%d", stored), value, 0)
		if errors.Is(err, larder.ErrFull) {
			break
		}
		if err != nil || stored > 100_000 {
			t.Fatalf("Set %d: %v", stored, err)
		}
	}
	for i := range stored {
		if got, err := c.Get(nil, fmt.Appendf(nil, "key:%d", i)); err != nil || !bytes.Equal(got, value) {
			t.Fatalf("Get %d of %d after ErrFull: %d bytes, %v", i, stored, len(got), err)
		}
	}
}

// TestHotPathsMakeNoGarbage holds from outside as well.
func TestHotPathsMakeNoGarbage(t *testing.T) {
	c := open(t, larder.Options{MaxMemory: 64 << 20})
	key, value := []byte("0123456789abcdef"), bytes.Repeat([]byte("v"), 100)
	buf := make([]byte, 0, 256)
	if err := c.Set(key, value, 0); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1000, func() { buf, _ = c.Get(buf[:0], key) }); n != 0 {
		t.Errorf("Get makes %v allocations", n)
	}
	if n := testing.AllocsPerRun(1000, func() { _ = c.Set(key, value, 0) }); n != 0 {
		t.Errorf("Set over an existing key makes %v allocations", n)
	}
}

func TestManyGoroutinesShareACollection(t *testing.T) {
	t.Parallel()
	c := open(t, larder.Options{MaxMemory: 256 << 20})
	const goroutines, keys = 8, 20_000
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			var buf []byte
			for i := range keys {
				key := fmt.Appendf(nil, "%d:%d", g, i)
				if err := c.Set(key, bytes.Repeat(key, 1+i%20), time.Hour); err != nil {
					t.Error(err)
					return
				}
				var err error
				if buf, err = c.Get(buf[:0], key); err != nil || !bytes.Equal(buf, bytes.Repeat(key, 1+i%20)) {
					t.Errorf("Get %s: %q, %v", key, buf, err)
					return
				}
				if _, err := c.Add([]byte("sum"), 1, 0); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n, err := c.Add([]byte("sum"), 0, 0); err != nil || n != goroutines*keys || c.Len() != goroutines*keys+1 {
		t.Errorf("sum %d, %v; Len %d", n, err, c.Len())
	}
}

// TestAnEmbeddingProgramStaysSmall: what the server needs is not forced on a
// program that imports the library alone.
func TestAnEmbeddingProgramStaysSmall(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}",
		"github.com/larder-cache/larder").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	for _, path := range strings.Fields(string(out)) {
		if !strings.HasPrefix(path, "github.com/larder-cache/larder") && !strings.HasPrefix(path, "golang.org/x/sys/") {
			t.Errorf("package larder depends on %s", path)
		}
	}
}
