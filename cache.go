package larder

import (
	"github.com/larder-cache/larder/internal/store"
)

// A Cache is a set of named collections under one memory limit.
type Cache struct {
	s *store.Store
}

// Open makes an empty cache. Close it to give its memory back at once.
func Open(o Options) (*Cache, error) {
	s, err := store.Open(o.store())
	if err != nil {
		return nil, err
	}
	return &Cache{s}, nil
}

// Close empties the cache and gives its memory back. Calls that are under way finish; later ones return ErrClosed.
func (c *Cache) Close() error { return c.s.Close() }

// Collection returns the collection of that name, with default options when it has to be made. Names have 1 to 255 bytes
// and are compared exactly.
func (c *Cache) Collection(name string) (*Collection, error) {
	sc, err := c.s.Collection(name)
	if err != nil {
		return nil, err
	}
	return &Collection{c: sc, s: c.s}, nil
}

// CreateCollection makes a collection and returns ErrExists when the name is taken.
func (c *Cache) CreateCollection(name string, o CollectionOptions) (*Collection, error) {
	sc, err := c.s.Create(name, o.MaxValue)
	if err != nil {
		return nil, err
	}
	return &Collection{c: sc, s: c.s}, nil
}

// Collections returns the names of all collections, sorted.
func (c *Cache) Collections() []string {
	list := c.s.Collections()
	names := make([]string, len(list))
	for i, sc := range list {
		names[i] = sc.Name()
	}
	return names
}

// Stats of a cache. Sizes are bytes; Hits to Splits count since Open.
type Stats struct {
	MaxMemory   int64  // the limit
	Committed   int64  // taken from the machine
	Used        int64  // of that, in records, index, lanes' free cells and the tables' own structures
	RecordBytes int64  // in records
	IndexBytes  int64  // in buckets and directories
	PageTier    string // "thp" (transparent huge pages), "4k", or "heap" under the race detector

	Collections     int
	Records         int64 // those included that expired and were not yet removed
	Expiring        int64 // records with a time to live
	Buckets         int64
	OverflowBuckets int64

	Hits, Misses uint64
	Expired      uint64 // records removed because their time had come
	Refused      uint64 // writes refused with ErrFull
	Splits       uint64 // buckets split while the tables grew
}

// Stats returns the sums over all collections. It takes every lane's lock for a moment, one after the other.
func (c *Cache) Stats() Stats {
	s := c.s.Stats()
	return Stats{
		MaxMemory: s.MaxMemory, Committed: s.Committed, Used: s.Used, RecordBytes: s.RecordBytes, IndexBytes: s.IndexBytes, PageTier: s.PageTier,
		Collections: s.Collections, Records: s.Records, Expiring: s.Expiring, Buckets: s.Buckets, OverflowBuckets: s.OverflowBuckets,
		Hits: s.Hits, Misses: s.Misses, Expired: s.Expired, Refused: s.Refused, Splits: s.Splits,
	}
}
