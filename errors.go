package larder

import (
	"errors"

	"github.com/larder-cache/larder/internal/index"
	"github.com/larder-cache/larder/internal/store"
)

// Every refusal is one of these, perhaps wrapped: test with errors.Is.
var (
	// ErrNotFound says that the key is absent or expired.
	ErrNotFound = errors.New("larder: not found")
	// ErrFull says that the write needs memory above Options.MaxMemory. The key keeps its old value.
	ErrFull = index.ErrFull
	// ErrKeyTooLarge says that the key is longer than MaxKeyBytes.
	ErrKeyTooLarge = index.ErrKeyTooLarge
	// ErrValueTooLarge says that the value is longer than MaxValue. The key keeps its old value.
	ErrValueTooLarge = index.ErrValueTooLarge
	// ErrNotInteger says that Add met a value that is not an integer in canonical decimal form.
	ErrNotInteger = index.ErrNotInteger
	// ErrOverflow says that Add would leave the range of int64. The counter stays.
	ErrOverflow = index.ErrOverflow
	// ErrTTL says that a time to live is negative.
	ErrTTL = errors.New("larder: time to live is negative")
	// ErrClosed says that the cache was closed.
	ErrClosed = index.ErrClosed
	// ErrCursor says that Scan got a cursor that it never gave.
	ErrCursor = index.ErrCursor
	// ErrName says that a collection's name is empty or too long.
	ErrName = store.ErrName
	// ErrExists says that CreateCollection met a collection of that name.
	ErrExists = store.ErrExists
	// ErrTooManyCollections says that the cache has MaxCollections collections.
	ErrTooManyCollections = store.ErrTooManyCollections
	// ErrOptions says that options are invalid; the text names each problem.
	ErrOptions = store.ErrOptions
)
