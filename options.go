package larder

import "github.com/larder-cache/larder/internal/store"

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

// HugePages says which pages to ask for.
type HugePages string

const (
	// HugePagesAuto asks for transparent huge pages and works without them.
	HugePagesAuto HugePages = "auto"
	// HugePagesOff asks for nothing.
	HugePagesOff HugePages = "off"
)

// Options of a cache. The zero value is valid; a field that is zero takes its default.
type Options struct {
	// MaxMemory is the ceiling in bytes for all that the cache keeps outside the Go heap: records, index, slack, and the
	// tables' own structures. It is a ceiling, not a target: address space is taken at once, memory as it is needed, and a
	// write that would pass it returns ErrFull. Default DefaultMaxMemory (64 MiB under the race detector, which keeps the
	// data on the Go heap); at least MinMaxMemory, at most MaxMaxMemory.
	MaxMemory int64

	// MaxValue is the longest value in bytes that Set takes. Default DefaultMaxValue; at least 1, at most 1 GiB. A counter
	// has 8 bytes, whatever its digits are, so below 8 Add returns ErrValueTooLarge.
	MaxValue int

	// HugePages asks for huge pages, which make reads of large caches faster. Default HugePagesAuto. Stats.PageTier says
	// what was reached.
	HugePages HugePages
}

// Validate returns every problem of the options at once, joined and each wrapping ErrOptions; nil when there is none. Open
// calls it.
func (o Options) Validate() error { return o.store().Validate() }

func (o Options) store() store.Options {
	return store.Options{MaxMemory: o.MaxMemory, MaxValue: o.MaxValue, HugePages: string(o.HugePages)}
}

// CollectionOptions are those of one collection. The zero value takes what the cache has.
type CollectionOptions struct {
	// MaxValue is the longest value in bytes, as in Options. Default and at most the cache's.
	MaxValue int
}
