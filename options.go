package larder

import (
	"log/slog"
	"time"

	"github.com/larder-cache/larder/internal/hostmem"
	"github.com/larder-cache/larder/internal/memory"
	"github.com/larder-cache/larder/internal/store"
)

// Limits and defaults. Those of memory, keys and values are in bytes.
const (
	// MaxKeyBytes is the longest key: 1 MiB less one byte.
	MaxKeyBytes = store.MaxKeyBytes
	// DefaultMaxMemory is the memory limit of the zero Options: 1 GiB.
	DefaultMaxMemory = store.DefaultMaxMemory
	// DefaultMaxValue is the longest value under the zero Options: 512 MiB.
	DefaultMaxValue = store.DefaultMaxValueBytes
	// MinMaxMemory and MaxMaxMemory bound Options.MaxMemory: 8 MiB to 256 GiB.
	MinMaxMemory = store.MinMaxMemory
	MaxMaxMemory = store.MaxMaxMemory
	// MaxCollections bounds the collections of a cache: 1024.
	MaxCollections = store.MaxCollections
)

// HugePages says which pages to ask for. The better ones are tried first, for each 2 MiB: pages of the system's reserved
// pool (vm.nr_hugepages), transparent ones, transparent ones that are made afterwards (MADV_COLLAPSE), ordinary ones.
type HugePages string

const (
	// HugePagesAuto takes what there is.
	HugePagesAuto HugePages = "auto"
	// HugePagesOff takes ordinary pages.
	HugePagesOff HugePages = "off"
	// HugePagesRequire lets Open fail when there are none. A cache that is open takes ordinary ones when they run out.
	HugePagesRequire HugePages = "require"
)

// Options of a cache. The zero value is valid; a field that is zero takes its default.
type Options struct {
	// MaxMemory is the ceiling in bytes for all that the cache keeps outside the Go heap: records, index, slack, and the
	// tables' own structures. It is a ceiling, not a target: address space is taken at once, memory as it is needed, and a
	// write that would pass it returns ErrFull. Default DefaultMaxMemory (64 MiB under the race detector, which keeps the
	// data on the Go heap); at least MinMaxMemory, at most MaxMaxMemory.
	// Fraction gives a share of what this process may use.
	MaxMemory int64

	// MaxValue is the longest value in bytes that Set takes. Default DefaultMaxValue; at least 1, at most 1 GiB. A counter
	// has 8 bytes, whatever its digits are, so below 8 Add returns ErrValueTooLarge.
	MaxValue int

	// HugePages asks for huge pages, which make reads of large caches faster. Default HugePagesAuto. Stats.PageTier says
	// what was reached.
	HugePages HugePages

	// LockMemory keeps the cache's pages from being swapped out (mlock), each from its first use on. Open fails when the
	// system refuses that (ulimit -l). Memory that is locked is not given back before Close.
	LockMemory bool

	// Reclaim says when memory that is no longer needed goes back to the system.
	Reclaim Reclaim

	// Logger gets a line, at most one in ten seconds for each kind, when writes are refused for lack of memory, huge pages
	// run out, or the system takes no memory back. Default nil: nothing is logged.
	Logger *slog.Logger
}

// Reclaim says how a cache gives memory back. Records that stayed are moved together for that, while the cache works. The
// zero value is what suits most.
type Reclaim struct {
	// Quiet is how long the cache must have needed no new memory before reclaiming begins. Default 5 s.
	Quiet time.Duration
	// CoolOff is how long 2 MiB must have been free before they go back. Default 10 s.
	CoolOff time.Duration
	// Floor is the bytes that stay with the cache once they were taken. Default 0.
	Floor int64
	// MaxPerTick is the most bytes that go back at once; the next may follow after a quarter of a second. Default an eighth
	// of MaxMemory.
	MaxPerTick int64
	// KeepPerSize is how many pieces of 256 KiB that became free a size of record keeps for itself as long as the cache is
	// busy. Default 1; -1 is none.
	KeepPerSize int
	// Off keeps all memory until Close.
	Off bool
}

// Fraction returns the given share, above 0 and up to 1, of the memory that this process may use: that of the machine, or
// the limit of its control group (cgroup version 1 or 2) when that is less. The result is within MinMaxMemory and
// MaxMaxMemory; DefaultMaxMemory where the system does not say how much there is; and -1, which Validate refuses, for a
// share out of range. Leave room for the Go heap: GOMEMLIMIT does not count what the cache holds outside of it, so the two
// together should stay below the limit.
func Fraction(share float64) int64 {
	if !(share > 0 && share <= 1) {
		return -1
	}
	l, err := hostmem.Get()
	if err != nil {
		return DefaultMaxMemory
	}
	return min(max(int64(share*float64(l.Bytes)), MinMaxMemory), MaxMaxMemory)
}

// Validate returns every problem of the options at once, joined and each wrapping ErrOptions; nil when there is none. Open
// calls it.
func (o Options) Validate() error { return o.store().Validate() }

func (o Options) store() store.Options {
	return store.Options{
		MaxMemory: o.MaxMemory, MaxValue: o.MaxValue, HugePages: string(o.HugePages), Lock: o.LockMemory, Logger: o.Logger,
		Reclaim: memory.Reclaim{
			KeepPerClass: o.Reclaim.KeepPerSize, Quiet: o.Reclaim.Quiet, CoolOff: o.Reclaim.CoolOff, KeepAll: o.Reclaim.Off,
			Floor: o.Reclaim.Floor, MaxPerTick: o.Reclaim.MaxPerTick,
		},
	}
}

// CollectionOptions are those of one collection. The zero value takes what the cache has.
type CollectionOptions struct {
	// MaxValue is the longest value in bytes, as in Options. Default and at most the cache's.
	MaxValue int
}
