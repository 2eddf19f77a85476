package larder

import (
	"time"

	"github.com/larder-cache/larder/internal/store"
)

// A Cache is a set of named collections under one memory limit. Open makes one; the zero value is none, and its methods
// panic. All methods are safe for concurrent use, Close included.
type Cache struct {
	s *store.Store
}

// Open makes an empty cache. It returns ErrOptions, which names every problem, or the system's error when the address
// space of MaxMemory cannot be had. A cache that is not closed keeps its memory, and two goroutines that remove
// what expired and give memory back, as long as the program runs.
func Open(o Options) (*Cache, error) {
	s, err := store.Open(o.store())
	if err != nil {
		return nil, err
	}
	return &Cache{s}, nil
}

// Close empties the cache and gives its memory back. Calls that are under way finish. From then on the cache and its
// collections are empty for ever: methods that return an error return ErrClosed, a second Close included; the others say
// that nothing is there, Stats with all fields zero.
func (c *Cache) Close() error { return c.s.Close() }

// Collection returns the collection of that name and makes it, with default options, when there is none. Names have 1 to
// 255 bytes, of any value, and are compared exactly. It returns ErrName, ErrTooManyCollections, ErrFull (an empty
// collection takes about 200 KB) or ErrClosed. The result is a handle: keep it, or ask again for the same collection.
func (c *Cache) Collection(name string) (*Collection, error) {
	if c.s.Closed() {
		return nil, ErrClosed
	}
	sc, err := c.s.Collection(name)
	if err != nil {
		return nil, err
	}
	return &Collection{c: sc, s: c.s}, nil
}

// CreateCollection makes a collection with options of its own. It returns ErrExists when the name is taken, ErrOptions,
// and the errors of Collection.
func (c *Cache) CreateCollection(name string, o CollectionOptions) (*Collection, error) {
	sc, err := c.s.Create(name, o.MaxValue)
	if err != nil {
		return nil, err
	}
	return &Collection{c: sc, s: c.s}, nil
}

// Collections returns the names of all collections, sorted; none after Close.
func (c *Cache) Collections() []string {
	list := c.s.Collections()
	if c.s.Closed() {
		return nil
	}
	names := make([]string, len(list))
	for i, sc := range list {
		names[i] = sc.Name()
	}
	return names
}

// An AuditReport says whether all memory that is in use belongs to a record or an index, and all that belongs to one is in
// use. A healthy cache has no lost cells and no faults; anything else is a defect of this package, and worth a report.
type AuditReport struct {
	Collections int
	Records     int64         // those included that expired and were not yet removed
	Cells       int64         // pieces of memory that records and indexes name
	LostCells   int           // in use, and named by nobody
	LostBytes   int64         // of them
	Faults      []string      // names of pieces that are free, counts that do not fit; at most about a hundred
	BusyLanes   int           // parts of collections that changed too often for their counts to be compared
	Rounds      int           // looks that were taken: more than one when something was suspected
	Took        time.Duration // a second for some million records
}

// Healthy reports whether nothing is wrong.
func (r AuditReport) Healthy() bool { return r.LostCells == 0 && len(r.Faults) == 0 }

// Audit looks through all memory while others work, and lets them do so more than half of the time. The only error is
// ErrClosed.
func (c *Cache) Audit() (AuditReport, error) {
	r, err := c.s.Audit()
	return AuditReport(r), err
}

// Stats of a cache. Sizes are bytes at this moment; the unsigned fields count since Open.
type Stats struct {
	MaxMemory   int64  // the limit
	Committed   int64  // taken from the machine; at most MaxMemory
	Used        int64  // of that, in records, index, lanes' free cells and the tables' own structures
	RecordBytes int64  // of that, in records: keys, values, headers and the rounding of each to a size of cell
	IndexBytes  int64  // of Used, in buckets and directories
	FreeBytes   int64  // of Committed, free for any size of record
	ColdBytes   int64  // given back to the machine at this moment: not in Committed
	PageTier    string // of most memory: "hugetlb", "thp", "collapse" (see HugePages), "4k", or "heap" (race detector, systems without mmap)

	Collections     int
	Records         int64 // those included that expired and were not yet removed
	Expiring        int64 // of these, records with a time to live
	Buckets         int64 // lines of the tables, each for up to ten records
	OverflowBuckets int64 // buckets chained to others that were full

	Hits, Misses uint64 // calls of Get and Has that found a record, and that found none
	Expired      uint64 // records removed because their time had come
	Refused      uint64 // writes refused with ErrFull
	Splits       uint64 // buckets split while the tables grew

	Released       uint64 // bytes given back to the machine, all in all
	ReleaseRefused uint64 // times that the machine did not take them
	Evacuated      uint64 // pieces of 256 KiB that were emptied by moving what was in them
	Moved          uint64 // records, or parts of large ones, that were moved for that
	DegradedGroups uint64 // times that 2 MiB got ordinary pages although huge ones were wanted
}

// Stats returns the sums over all collections; the zero Stats after Close. It takes every lane's lock for a moment, one
// after the other, so the figures are of slightly different moments while others write.
func (c *Cache) Stats() Stats {
	s := c.s.Stats()
	if c.s.Closed() { // looked at last, so that nobody sees a cache half closed
		return Stats{}
	}
	return Stats{
		MaxMemory: s.MaxMemory, Committed: s.Committed, Used: s.Used, RecordBytes: s.RecordBytes, IndexBytes: s.IndexBytes, PageTier: s.PageTier,
		Collections: s.Collections, Records: s.Records, Expiring: s.Expiring, Buckets: s.Buckets, OverflowBuckets: s.OverflowBuckets,
		Hits: s.Hits, Misses: s.Misses, Expired: s.Expired, Refused: s.Refused, Splits: s.Splits,
		FreeBytes: s.FreeBytes, ColdBytes: s.ColdBytes, Released: s.Released, ReleaseRefused: s.ReleaseRefused,
		Evacuated: s.Evacuated, Moved: s.Moved, DegradedGroups: s.Degraded,
	}
}
