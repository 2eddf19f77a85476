package larder

import (
	"iter"
	"time"

	"github.com/larder-cache/larder/internal/index"
	"github.com/larder-cache/larder/internal/store"
)

// A Collection maps keys to values. Its methods are safe for concurrent use; readers never wait for each other, and wait
// for a writer only when it changes the same bucket at that moment.
type Collection struct {
	c *store.Collection
	s *store.Store
}

// Name returns the collection's name.
func (c *Collection) Name() string { return c.c.Name() }

// deadline turns a time to live into an absolute time in ms. Parts of a millisecond count as a whole one.
func (c *Collection) deadline(ttl time.Duration) (int64, error) {
	switch {
	case ttl < 0:
		return 0, ErrTTL
	case ttl == 0:
		return 0, nil
	}
	ms := int64(ttl / time.Millisecond)
	if ttl%time.Millisecond != 0 {
		ms++
	}
	return c.s.Clock().Now() + ms, nil
}

// remaining is the inverse of deadline.
func (c *Collection) remaining(expireAt int64) time.Duration {
	if expireAt == 0 {
		return 0
	}
	// A deadline farther away than a Duration reaches is shown as the longest one.
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(min(max(expireAt-c.s.Clock().Now(), 1), most)) * time.Millisecond
}

// Set stores a copy of value under a copy of key, for ttl; 0 = for ever. It returns ErrFull, ErrKeyTooLarge, ErrValueTooLarge,
// ErrTTL (negative) or ErrClosed, and the key then keeps what it had.
func (c *Collection) Set(key, value []byte, ttl time.Duration) error {
	at, err := c.deadline(ttl)
	if err != nil {
		return err
	}
	return c.c.Set(c.c.Hash(key), key, value, at, 0)
}

// Get appends the value of key to dst and returns the extended slice. With ErrNotFound or ErrClosed it returns dst as it
// is. A counter is appended in decimal. Get makes no garbage when dst has room.
func (c *Collection) Get(dst, key []byte) ([]byte, error) {
	out, _, ok := c.c.Get(c.c.Hash(key), dst, key)
	if !ok {
		return dst, c.absent()
	}
	return out, nil
}

// absent explains why a key was not found.
func (c *Collection) absent() error {
	if c.c.Closed() {
		return ErrClosed
	}
	return ErrNotFound
}

// Delete removes key and reports whether it was there.
func (c *Collection) Delete(key []byte) (bool, error) {
	if c.c.Delete(c.c.Hash(key), key) {
		return true, nil
	}
	if c.c.Closed() {
		return false, ErrClosed
	}
	return false, nil
}

// Has reports whether key is there. On a closed cache it is not.
func (c *Collection) Has(key []byte) bool {
	_, ok := c.c.Probe(c.c.Hash(key), key)
	return ok
}

// TTL returns the remaining time to live of key, rounded to milliseconds and at least one; 0 when it has none. It returns
// ErrNotFound or ErrClosed.
func (c *Collection) TTL(key []byte) (time.Duration, error) {
	in, ok := c.c.Peek(c.c.Hash(key), key)
	if !ok {
		return 0, c.absent()
	}
	return c.remaining(in.ExpireAt), nil
}

// Touch gives key a new time to live, 0 = for ever, and reports whether key was there. It returns ErrTTL (negative),
// ErrFull (a first time to live may need a larger cell) or ErrClosed, and the key then keeps what it had.
func (c *Collection) Touch(key []byte, ttl time.Duration) (bool, error) {
	at, err := c.deadline(ttl)
	if err != nil {
		return false, err
	}
	x := c.c.Lock(c.c.Hash(key), key)
	defer x.Unlock()
	found := x.Found()
	return found, x.SetExpire(at)
}

// Add adds delta to the counter of key, which begins at 0, and returns the sum. A value that Set stored is taken as a
// counter when it is a decimal integer. ttl above 0 gives a new time to live; 0 keeps the one that is there. It returns
// ErrNotInteger, ErrOverflow, ErrFull, ErrKeyTooLarge, ErrTTL or ErrClosed, and the key then keeps what it had.
func (c *Collection) Add(key []byte, delta int64, ttl time.Duration) (int64, error) {
	at, err := c.deadline(ttl)
	if err != nil {
		return 0, err
	}
	return c.c.Add(c.c.Hash(key), key, delta, at, ttl > 0)
}

// Len returns the number of records, those included that expired within about the last tenth of a second.
func (c *Collection) Len() int { return c.c.Len() }

// Flush removes every record that was there when it began.
func (c *Collection) Flush() error {
	if c.c.Closed() {
		return ErrClosed
	}
	c.c.Flush()
	return nil
}

// scanStep is the records that All asks for at once.
const scanStep = 64

// All walks over keys and values. Every record that is there during the whole walk is yielded at least once, and seldom
// twice; the slices are valid until the next step. The loop may change the collection.
func (c *Collection) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		cursor, more := uint64(0), true
		for more {
			next, err := c.c.Scan(cursor, scanStep, true, func(k, v []byte, _ index.Info) bool {
				// A stop may take a record more to take effect; the loop must not see it.
				more = more && yield(k, v)
				return more
			})
			cursor = next
			more = more && err == nil && cursor != 0
		}
	}
}

// Scan walks on from cursor, 0 to begin with, until it gave about count records to fn, and returns the cursor to go on
// with, 0 at the end. Cursors fit 31 bits and stay good while the collection grows. fn runs without a lock; its slices are
// valid until it returns; ttl is the remaining time to live, 0 = none. When fn returns false the walk stops, and the next
// call goes on behind that record; in rare cases fn is called for a record more, which shares its cursor. It returns
// ErrCursor or ErrClosed.
func (c *Collection) Scan(cursor uint64, count int, fn func(key, value []byte, ttl time.Duration) bool) (next uint64, err error) {
	return c.c.Scan(cursor, count, true, func(k, v []byte, in index.Info) bool {
		return fn(k, v, c.remaining(in.ExpireAt))
	})
}

// CollectionStats are the parts of Stats that belong to one collection.
type CollectionStats struct {
	Records         int64 // those included that expired and were not yet removed
	Expiring        int64 // records with a time to live
	Buckets         int64
	OverflowBuckets int64
	RecordBytes     int64 // in records
	IndexBytes      int64 // in buckets and directories

	Hits, Misses uint64
	Expired      uint64
	Refused      uint64
	Splits       uint64
}

// Stats takes every lane's lock for a moment, one after the other.
func (c *Collection) Stats() CollectionStats {
	t := c.c.Stats()
	return CollectionStats{
		Records: t.Records, Expiring: t.Expiring, Buckets: t.Buckets, OverflowBuckets: t.OverflowBuckets,
		RecordBytes: t.Bytes, IndexBytes: t.IndexBytes,
		Hits: t.Hits, Misses: t.Misses, Expired: t.Expired, Refused: t.Refused, Splits: t.Splits,
	}
}
