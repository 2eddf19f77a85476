package contender

import (
	"context"
	"time"

	"github.com/VictoriaMetrics/fastcache"
	"github.com/allegro/bigcache/v3"
	"github.com/coocood/freecache"

	"github.com/larder-cache/larder"
	"github.com/larder-cache/larder/bench/internal/workload"
)

// Caches that copy keys and values into memory the garbage collector does not
// scan.

type larderCache struct {
	cache *larder.Cache
	c     *larder.Collection
}

func openLarder(w *workload.Set) (Cache, error) {
	cache, err := larder.Open(larder.Options{MaxMemory: max(w.Budget(), larder.MinMaxMemory)})
	if err != nil {
		return nil, err
	}
	c, err := cache.Collection("bench")
	if err != nil {
		return nil, err
	}
	return &larderCache{cache, c}, nil
}

func (l *larderCache) Get(dst, key []byte) ([]byte, bool) {
	v, err := l.c.Get(dst, key)
	return v, err == nil
}

func (l *larderCache) Set(key, value []byte) error { return l.c.Set(key, value, 0) }
func (l *larderCache) Settle()                     {}
func (l *larderCache) Close() error                { return l.cache.Close() }

type fastCache struct {
	c *fastcache.Cache
}

func openFastcache(w *workload.Set) (Cache, error) {
	return &fastCache{fastcache.New(int(w.Budget()))}, nil
}

func (f *fastCache) Get(dst, key []byte) ([]byte, bool) { return f.c.HasGet(dst, key) }

func (f *fastCache) Set(key, value []byte) error {
	f.c.Set(key, value)
	return nil
}

func (f *fastCache) Settle() {}

func (f *fastCache) Close() error {
	// Reset returns the chunks to fastcache's own pool; nothing returns them to
	// the machine.
	f.c.Reset()
	return nil
}

type freeCache struct {
	c *freecache.Cache
}

func openFreecache(w *workload.Set) (Cache, error) {
	return &freeCache{freecache.NewCache(int(w.Budget()))}, nil
}

// Get takes the value through GetFn, which lends it, so that it is copied once.
func (f *freeCache) Get(dst, key []byte) ([]byte, bool) {
	err := f.c.GetFn(key, func(v []byte) error {
		dst = append(dst, v...)
		return nil
	})
	return dst, err == nil
}

func (f *freeCache) Set(key, value []byte) error { return f.c.Set(key, value, 0) }
func (f *freeCache) Settle()                     {}
func (f *freeCache) Close() error                { return nil }

type bigCache struct {
	c *bigcache.BigCache
}

func openBigcache(w *workload.Set) (Cache, error) {
	c, err := bigcache.New(context.Background(), bigcache.Config{
		Shards:             1024,
		LifeWindow:         24 * time.Hour,
		MaxEntriesInWindow: w.Count,
		MaxEntrySize:       workload.KeyBytes + w.Size,
		HardMaxCacheSize:   int(w.Budget() >> 20),
	})
	return &bigCache{c}, err
}

// Get gets a fresh slice from bigcache and copies it on, as a caller does who
// wants the value in a buffer of its own.
func (b *bigCache) Get(dst, key []byte) ([]byte, bool) {
	v, err := b.c.Get(text(key))
	return append(dst, v...), err == nil
}

func (b *bigCache) Set(key, value []byte) error { return b.c.Set(text(key), value) }
func (b *bigCache) Settle()                     {}
func (b *bigCache) Close() error                { return b.c.Close() }
