package embed

import (
	"encoding/binary"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/larder-cache/larder"
)

// TestAGarbageCollectionDoesNotScanTheEntries: five million entries are resident
// and a forced collection takes about as long as in an empty program.
func TestAGarbageCollectionDoesNotScanTheEntries(t *testing.T) {
	const (
		entries = 5_000_000
		bound   = 2 * time.Millisecond
		runs    = 16
	)
	c := open(t, larder.Options{MaxMemory: 2 << 30})
	key, value := make([]byte, 16), make([]byte, 100)
	for i := range entries {
		binary.BigEndian.PutUint64(key, uint64(i))
		binary.BigEndian.PutUint64(value, uint64(i))
		if err := c.Set(key, value, 0); err != nil {
			t.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var walls []time.Duration
	for range runs {
		start := time.Now()
		runtime.GC()
		walls = append(walls, time.Since(start))
	}
	runtime.ReadMemStats(&after)
	slices.Sort(walls)
	t.Logf("forced collections took %v to %v, median %v, with a heap of %d KiB", walls[0], walls[runs-1], walls[runs/2], after.HeapAlloc>>10)
	// Other programs on the machine lengthen some of the runs; a collector that
	// scanned the entries would lengthen all of them, a thousand times.
	if quartile := walls[runs/4]; quartile > bound {
		t.Errorf("a quarter of the forced collections took %v or less, allowed are %v", quartile, bound)
	}
	// What the collector can see does not grow with the entries.
	if after.HeapAlloc > 64<<20 {
		t.Errorf("the Go heap has %d MiB for %d entries outside it", after.HeapAlloc>>20, entries)
	}
	if c.Len() != entries {
		t.Errorf("Len is %d, want %d", c.Len(), entries)
	}
}
