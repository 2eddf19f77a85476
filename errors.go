package larder

import (
	"errors"

	"github.com/larder-cache/larder/internal/index"
	"github.com/larder-cache/larder/internal/memory"
	"github.com/larder-cache/larder/internal/store"
)

// Every refusal is one of these, perhaps wrapped: test with errors.Is. A refused write changes nothing.
var (
	// ErrNotFound says that the key is absent or expired.
	ErrNotFound = errors.New("larder: not found")
	// ErrFull says that the write needs memory above Options.MaxMemory. Reads and deletes go on; memory comes back when
	// records are deleted or expire.
	ErrFull = index.ErrFull
	// ErrKeyTooLarge says that the key is longer than MaxKeyBytes.
	ErrKeyTooLarge = index.ErrKeyTooLarge
	// ErrValueTooLarge says that the value is longer than MaxValue of the collection, or that MaxValue leaves no
	// room for the 8 bytes of a counter.
	ErrValueTooLarge = index.ErrValueTooLarge
	// ErrNotInteger says that Add met a value that is not an integer in canonical decimal form.
	ErrNotInteger = index.ErrNotInteger
	// ErrOverflow says that Add would leave the range of int64.
	ErrOverflow = index.ErrOverflow
	// ErrTTL says that a time to live is negative. To remove a record, use Delete.
	ErrTTL = errors.New("larder: time to live is negative")
	// ErrClosed says that Close was called before.
	ErrClosed = index.ErrClosed
	// ErrCursor says that Scan got a cursor that it cannot have given.
	ErrCursor = index.ErrCursor
	// ErrName says that a collection's name does not have 1 to 255 bytes.
	ErrName = store.ErrName
	// ErrExists says that CreateCollection met a collection of that name.
	ErrExists = store.ErrExists
	// ErrHugePages says that Options.HugePages requires huge pages and the system has none.
	ErrHugePages = memory.ErrHugePages
	// ErrLockMemory says that the system refuses Options.LockMemory.
	ErrLockMemory = memory.ErrLock
	// ErrTooManyCollections says that the cache has MaxCollections collections.
	ErrTooManyCollections = store.ErrTooManyCollections
	// ErrOptions says that options are invalid; the text names each problem.
	ErrOptions = store.ErrOptions
)
