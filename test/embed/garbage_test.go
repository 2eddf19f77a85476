package embed

import (
	"encoding/binary"
	"runtime"
	"slices"
	"syscall"
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
	var after runtime.MemStats
	var walls, busy []time.Duration
	for range runs {
		cpu := processorTime(t)
		start := time.Now()
		runtime.GC()
		walls = append(walls, time.Since(start))
		busy = append(busy, processorTime(t)-cpu)
	}
	runtime.ReadMemStats(&after)
	slices.Sort(walls)
	slices.Sort(busy)
	t.Logf("forced collections took %v to %v, median %v, and %v of processor time, with a heap of %d KiB",
		walls[0], walls[runs-1], walls[runs/2], busy[runs/2], after.HeapAlloc>>10)
	// On a busy machine a collection waits for a processor, which shows in the
	// first figure alone. A collector that scanned the entries would take a
	// thousand times the bound by either.
	if wall, cpu := walls[runs/4], busy[runs/4]; min(wall, cpu) > bound {
		t.Errorf("a forced collection took %v, and %v of processor time, allowed are %v", wall, cpu, bound)
	}
	// What the collector can see does not grow with the entries.
	if after.HeapAlloc > 64<<20 {
		t.Errorf("the Go heap has %d MiB for %d entries outside it", after.HeapAlloc>>20, entries)
	}
	if c.Len() != entries {
		t.Errorf("Len is %d, want %d", c.Len(), entries)
	}
}

// processorTime is what this process spent on processors so far.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
