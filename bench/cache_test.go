package bench

import (
	"flag"
	"fmt"
	"runtime"
	"testing"

	"github.com/larder-cache/larder/bench/internal/contender"
	"github.com/larder-cache/larder/bench/internal/workload"
)

var keyCount = flag.Int("keys", 500_000, "number of keys, each of which is loaded before a benchmark")

// sizes of values in bytes.
var sizes = []int{100, 600, 4096}

// goroutines lists the powers of two up to GOMAXPROCS, and GOMAXPROCS itself.
func goroutines() []int {
	most := runtime.GOMAXPROCS(0)
	var list []int
	for g := 1; g < most; g *= 2 {
		list = append(list, g)
	}
	return append(list, most)
}

// BenchmarkCache times every operation on every contender. A contender is loaded
// once for an operation and a size, and verified before and after; hit% is the
// share of timed reads that found their key.
func BenchmarkCache(b *testing.B) {
	for _, kind := range contender.Kinds {
		b.Run("impl="+kind.Name, func(b *testing.B) {
			for _, op := range contender.Ops {
				b.Run("op="+string(op), func(b *testing.B) {
					for _, size := range sizes {
						b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
							w, c := loaded(b, kind, size)
							for _, g := range goroutines() {
								b.Run(fmt.Sprintf("g=%d", g), func(b *testing.B) { operate(b, op, c, w, g) })
							}
							if _, err := kind.Verify(w, c); err != nil {
								b.Fatal(err)
							}
						})
					}
				})
			}
		})
	}
}

func operate(b *testing.B, op contender.Op, c contender.Cache, w *workload.Set, goroutines int) {
	b.ReportAllocs()
	b.ResetTimer()
	hits, err := contender.Run(op, c, w, 0, b.N, goroutines)
	b.StopTimer()
	c.Settle()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(100*hits, "hit%")
}

// workloads are made once for each size: all contenders see the same.
var workloads = map[int]*workload.Set{}

// loaded returns a contender that holds the whole workload; it is closed when
// the benchmark ends.
func loaded(b *testing.B, kind contender.Kind, size int) (*workload.Set, contender.Cache) {
	b.Helper()
	w := workloads[size]
	if w == nil {
		w = workload.New(*keyCount, size)
		workloads[size] = w
	}
	c, _, err := kind.Load(w)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(); err != nil {
			b.Error(err)
		}
		c = nil
		runtime.GC()
	})
	return w, c
}

// TestContendersKeepWhatTheyAreGiven checks the adapters: right values before
// and after every operation, by several goroutines.
func TestContendersKeepWhatTheyAreGiven(t *testing.T) {
	const n = 20_000
	for _, kind := range contender.Kinds {
		t.Run("impl="+kind.Name, func(t *testing.T) {
			w := workload.New(n, 100)
			c, kept, err := kind.Load(w)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if kept < 0.99 && kind.Name != "ristretto" {
				t.Errorf("%.1f %% of the keys are kept within the budget", 100*kept)
			}
			for _, op := range contender.Ops {
				hits, err := contender.Run(op, c, w, 0, 4*n, 4)
				if err != nil {
					t.Fatalf("%s: %v", op, err)
				}
				if op == contender.GetMiss && hits != 0 || op == contender.GetHit && hits < 0.9 && !kind.Lossy {
					t.Errorf("%s: %.1f %% hits", op, 100*hits)
				}
			}
			c.Settle()
			if _, err := kind.Verify(w, c); err != nil {
				t.Error(err)
			}
		})
	}
}
