package contender

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/larder-cache/larder/bench/internal/workload"
)

// An Op is a kind of operation that is timed.
type Op string

// The operations: reads that find, reads that do not, writes over existing
// keys, and 95 reads to 5 writes.
const (
	GetHit  Op = "get-hit"
	GetMiss Op = "get-miss"
	SetOver Op = "set"
	Mixed   Op = "mixed95"
)

// Ops are all operations.
var Ops = []Op{GetHit, GetMiss, SetOver, Mixed}

// mixedEvery is the distance of writes in Mixed.
const mixedEvery = 20

// errFound says that an absent key was found.
var errFound = errors.New("an absent key is found")

// Run does n operations on goroutines at once, beginning at start in the order
// of accesses, and returns the share of reads that found their key. A read's
// length is checked at once; its bytes are verified by Kind.Verify before and
// after.
func Run(op Op, c Cache, w *workload.Set, start, n, goroutines int) (hits float64, err error) {
	var found, asked atomic.Int64
	errs := make(chan error, goroutines)
	var wg sync.WaitGroup
	for g := range goroutines {
		share := n / goroutines
		if g < n%goroutines {
			share++
		}
		wg.Go(func() {
			f, a, err := run(op, c, w, w.Order(start, g), share)
			found.Add(int64(f))
			asked.Add(int64(a))
			if err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	if asked.Load() == 0 {
		return 1, err
	}
	return float64(found.Load()) / float64(asked.Load()), err
}

// run is one goroutine's share.
func run(op Op, c Cache, w *workload.Set, order workload.Order, n int) (found, asked int, err error) {
	buf := make([]byte, 0, w.Size+64)
	for k := range n {
		if op == GetMiss {
			asked++
			if _, ok := c.Get(buf[:0], order.NextAbsent()); ok {
				return found, asked, errFound
			}
			continue
		}
		key, i := order.Next()
		if op == SetOver || op == Mixed && k%mixedEvery == mixedEvery-1 {
			if err := c.Set(key, w.Value(i)); err != nil {
				return found, asked, err
			}
			continue
		}
		v, ok := c.Get(buf[:0], key)
		asked++
		if !ok {
			continue
		}
		found++
		if len(v) != w.Size {
			return found, asked, fmt.Errorf("key %d has %d bytes, want %d", i, len(v), w.Size)
		}
	}
	return found, asked, nil
}
