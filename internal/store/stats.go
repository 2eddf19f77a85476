package store

// Stats of a store. Sizes are bytes; the unsigned ones count since Open or ResetStats.
type Stats struct {
	MaxMemory   int64
	Committed   int64 // taken from the machine: groups, their headers, and the tables' own structures
	Used        int64 // of that, cells in use or in magazines, and the tables' own structures
	RecordBytes int64 // cells of records
	IndexBytes  int64 // cells of buckets and directories
	PageTier    string

	Collections     int
	Records         int64 // those included that expired and were not yet reaped
	Expiring        int64
	Buckets         int64
	OverflowBuckets int64

	Hits, Misses uint64
	Expired      uint64
	Refused      uint64
	Splits       uint64
	BadFrees     uint64 // never above zero in a healthy process
	ReaperPasses uint64
	ReaperVisits uint64 // buckets

	// What the reclaimer did.
	ReclaimTicks   uint64 // times that it looked
	Evacuated      uint64 // slots that were emptied by moving what was in them
	Moved          uint64 // cells that were moved for that
	Released       uint64 // bytes given back to the machine, ever
	ReleaseRefused uint64 // calls that the machine refused
	Flushes        uint64 // times that the lanes' free cells were collected to free slots
	Degraded       uint64 // groups that got ordinary pages although huge ones were wanted
	PoolEmpty      uint64 // times that the system's pool of huge pages had none
	Shortages      uint64 // times that the lanes' free cells were collected at the limit
	ColdBytes      int64  // given back at this moment: not committed
	FreeBytes      int64  // committed, and free for any size
}

// Stats sums all collections.
func (s *Store) Stats() Stats {
	m := s.arena.Stats()
	out := Stats{
		MaxMemory: m.Limit, Committed: m.Held, Used: m.Out + m.Charged, PageTier: m.Tier.String(), BadFrees: m.BadFrees,
		ReaperPasses: s.passes.Load(), ReaperVisits: s.visited.Load(),
		ReclaimTicks: m.Ticks, Evacuated: m.Evacuated, Moved: s.moved.Load(), Released: m.Released, ReleaseRefused: m.Pinned,
		Flushes: m.Flushes, Degraded: m.Degraded, PoolEmpty: m.PoolEmpty, Shortages: m.Shortages,
		ColdBytes: m.Cold, FreeBytes: m.WarmFree,
	}
	for _, c := range s.Collections() {
		t := c.Stats()
		out.Collections++
		out.Records += t.Records
		out.Expiring += t.Expiring
		out.Buckets += t.Buckets
		out.OverflowBuckets += t.OverflowBuckets
		out.RecordBytes += t.Bytes
		out.IndexBytes += t.IndexBytes
		out.Hits += t.Hits
		out.Misses += t.Misses
		out.Expired += t.Expired
		out.Refused += t.Refused
		out.Splits += t.Splits
	}
	return out
}

// ResetStats sets the counters of all collections to zero.
func (s *Store) ResetStats() {
	for _, c := range s.Collections() {
		c.ResetStats()
	}
	s.passes.Store(0)
	s.visited.Store(0)
}
