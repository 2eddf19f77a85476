package contender

import (
	"bytes"
	"hash/maphash"
	"sync"
	"unsafe"

	"github.com/dgraph-io/ristretto/v2"
	"github.com/maypok86/otter/v2"

	"github.com/larder-cache/larder/bench/internal/workload"
)

// Caches that keep Go values on the heap. Set clones the value, because the
// caller goes on using its buffer.

// text returns a string that shares the bytes of a key of the workload.
func text(key []byte) string { return unsafe.String(unsafe.SliceData(key), len(key)) }

type ristrettoCache struct {
	c *ristretto.Cache[string, []byte]
}

func openRistretto(w *workload.Set) (Cache, error) {
	c, err := ristretto.NewCache(&ristretto.Config[string, []byte]{
		NumCounters: int64(10 * w.Count),
		MaxCost:     w.Budget(),
		BufferItems: 64,
	})
	return &ristrettoCache{c}, err
}

func (r *ristrettoCache) Get(dst, key []byte) ([]byte, bool) {
	v, ok := r.c.Get(text(key))
	return append(dst, v...), ok
}

// Set may drop the value under contention; that is how ristretto works.
func (r *ristrettoCache) Set(key, value []byte) error {
	r.c.Set(text(key), bytes.Clone(value), int64(workload.KeyBytes+len(value)))
	return nil
}

func (r *ristrettoCache) Settle() { r.c.Wait() }

func (r *ristrettoCache) Close() error {
	r.c.Close()
	return nil
}

type otterCache struct {
	c *otter.Cache[string, []byte]
}

func openOtter(w *workload.Set) (Cache, error) {
	c, err := otter.New(&otter.Options[string, []byte]{
		MaximumWeight:   uint64(w.Budget()),
		InitialCapacity: w.Count,
		Weigher:         func(key string, value []byte) uint32 { return uint32(len(key) + len(value)) },
	})
	return &otterCache{c}, err
}

func (o *otterCache) Get(dst, key []byte) ([]byte, bool) {
	v, ok := o.c.GetIfPresent(text(key))
	return append(dst, v...), ok
}

func (o *otterCache) Set(key, value []byte) error {
	o.c.Set(text(key), bytes.Clone(value))
	return nil
}

func (o *otterCache) Settle() { o.c.CleanUp() }

func (o *otterCache) Close() error {
	o.c.InvalidateAll()
	o.c.StopAllGoroutines()
	return nil
}

// mapShards of the sharded map: far more than goroutines, so that locks seldom
// meet.
const mapShards = 256

// mapCache is what a program without a cache library writes: maps behind
// mutexes. It has no limit.
type mapCache struct {
	seed   maphash.Seed
	shards [mapShards]mapShard
}

type mapShard struct {
	mu sync.RWMutex
	m  map[string][]byte
	_  [32]byte // a cache line of its own
}

func openMap(w *workload.Set) (Cache, error) {
	c := &mapCache{seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].m = make(map[string][]byte, w.Count/mapShards)
	}
	return c, nil
}

func (c *mapCache) shard(key string) *mapShard {
	return &c.shards[maphash.String(c.seed, key)%mapShards]
}

func (c *mapCache) Get(dst, key []byte) ([]byte, bool) {
	k := text(key)
	s := c.shard(k)
	s.mu.RLock()
	v, ok := s.m[k]
	s.mu.RUnlock()
	return append(dst, v...), ok
}

func (c *mapCache) Set(key, value []byte) error {
	k := text(key)
	s := c.shard(k)
	v := bytes.Clone(value)
	s.mu.Lock()
	s.m[k] = v
	s.mu.Unlock()
	return nil
}

func (c *mapCache) Settle()      {}
func (c *mapCache) Close() error { return nil }
