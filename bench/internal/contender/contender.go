// Package contender puts the caches that are compared behind one interface.
//
// Keys are bytes. A cache whose keys are strings gets a string that shares the
// bytes, which never change, so that no conversion is timed. Every cache gets
// the same memory budget where it takes one.
package contender

import (
	"fmt"
	"strings"

	"github.com/larder-cache/larder/bench/internal/workload"
)

// A Cache is one contender, filled from a workload.
type Cache interface {
	// Get appends the value of key to dst.
	Get(dst, key []byte) (value []byte, found bool)
	// Set stores a value that the caller may change afterwards.
	Set(key, value []byte) error
	// Settle waits until everything stored so far can be read.
	Settle()
	Close() error
}

// A Kind of cache.
type Kind struct {
	Name string
	Open func(w *workload.Set) (Cache, error)
	// Lossy caches may refuse or forget an entry within their budget.
	Lossy bool
}

// Kinds are all contenders, Larder first.
var Kinds = []Kind{
	{Name: "larder", Open: openLarder},
	{Name: "fastcache", Open: openFastcache, Lossy: true},
	{Name: "freecache", Open: openFreecache, Lossy: true},
	{Name: "bigcache", Open: openBigcache, Lossy: true},
	{Name: "ristretto", Open: openRistretto, Lossy: true},
	{Name: "otter", Open: openOtter, Lossy: true},
	{Name: "map", Open: openMap},
}

// Named returns the kinds in a list of names separated by commas.
func Named(list string) ([]Kind, error) {
	var kinds []Kind
next:
	for name := range strings.SplitSeq(list, ",") {
		for _, k := range Kinds {
			if k.Name == name {
				kinds = append(kinds, k)
				continue next
			}
		}
		return nil, fmt.Errorf("no contender named %q", name)
	}
	return kinds, nil
}

// loadRounds is how often Load offers a lossy cache the keys that it dropped.
const loadRounds = 4

// Load opens a cache, stores every key of the workload and verifies each one.
// It returns the share of keys that are there; the rest a lossy cache forgot.
func (k Kind) Load(w *workload.Set) (c Cache, kept float64, err error) {
	if c, err = k.Open(w); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", k.Name, err)
	}
	for range loadRounds {
		missing := 0
		for i := range w.Count {
			if _, ok := c.Get(nil, w.Key(i)); ok {
				continue
			}
			missing++
			if err := c.Set(w.Key(i), w.Value(i)); err != nil {
				return nil, 0, fmt.Errorf("%s: storing key %d: %w", k.Name, i, err)
			}
		}
		c.Settle()
		if missing == 0 {
			break
		}
	}
	kept, err = k.Verify(w, c)
	return c, kept, err
}

// Verify reads every key and returns the share that is there. A wrong value, a
// key that was never stored, or a loss in a cache that loses nothing is an error.
func (k Kind) Verify(w *workload.Set, c Cache) (kept float64, err error) {
	found := 0
	var buf []byte
	for i := range w.Count {
		var ok bool
		if buf, ok = c.Get(buf[:0], w.Key(i)); ok {
			found++
			if !w.Right(buf, i) {
				return 0, fmt.Errorf("%s: key %d has a wrong value", k.Name, i)
			}
		}
		if _, ok := c.Get(buf[:0], w.AbsentKey(i)); ok {
			return 0, fmt.Errorf("%s: absent key %d is found", k.Name, i)
		}
	}
	if found < w.Count && !k.Lossy {
		return 0, fmt.Errorf("%s: %d of %d keys are lost", k.Name, w.Count-found, w.Count)
	}
	return float64(found) / float64(w.Count), nil
}
