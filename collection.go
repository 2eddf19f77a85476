package larder

import (
	"iter"
	"slices"
	"time"

	"github.com/larder-cache/larder/internal/index"
	"github.com/larder-cache/larder/internal/store"
)

// A Collection maps keys to values. A Cache makes it; the zero value is none, and its methods panic. Its methods are safe
// for concurrent use; readers never wait for each other, and wait for a writer only when it changes the same bucket at
// that moment.
//
// Keys have 0 to MaxKeyBytes bytes of any value; nil is the empty key. Values likewise, up to the collection's MaxValue. A
// time to live counts from the call, in milliseconds; parts of one count as a whole one, and 0 is for ever.
type Collection struct {
	c *store.Collection
	s *store.Store
}

// Name returns the collection's name, also after Close.
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

// Set stores a copy of value under a copy of key, in place of what was there, for ttl; 0 is for ever, also when the value
// before had a time to live. It returns ErrFull, ErrKeyTooLarge, ErrValueTooLarge, ErrTTL (negative) or ErrClosed, and the
// key then keeps what it had.
func (c *Collection) Set(key, value []byte, ttl time.Duration) error {
	at, err := c.deadline(ttl)
	if err != nil {
		return err
	}
	return c.c.Set(c.c.Hash(key), key, value, at, 0)
}

// Get appends the value of key to dst, which may be nil, and returns the extended slice; the cache keeps no reference to
// it. With ErrNotFound or ErrClosed it returns dst as it is. A counter is appended in decimal, in 1 to 20 bytes. Get makes
// no garbage when dst has room.
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

// Delete removes key and reports whether it was there. The only error is ErrClosed: a full cache deletes.
func (c *Collection) Delete(key []byte) (bool, error) {
	if c.c.Delete(c.c.Hash(key), key) {
		return true, nil
	}
	if c.c.Closed() {
		return false, ErrClosed
	}
	return false, nil
}

// Has reports whether key is there, without copying its value. In a closed cache it is not.
func (c *Collection) Has(key []byte) bool {
	_, ok := c.c.Probe(c.c.Hash(key), key)
	return ok
}

// TTL returns the remaining time to live of key in whole milliseconds, at least one; 0 says that it stays for ever. It
// returns ErrNotFound or ErrClosed.
func (c *Collection) TTL(key []byte) (time.Duration, error) {
	in, ok := c.c.Peek(c.c.Hash(key), key)
	if !ok {
		return 0, c.absent()
	}
	return c.remaining(in.ExpireAt), nil
}

// Touch gives key a new time to live, 0 is for ever, and reports whether key was there. It returns ErrTTL (negative),
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

// Add adds delta, which may be negative or 0, to the counter of key in one step and returns the sum. A key that is absent
// counts as 0. A value that Set stored is taken as a counter when it is an integer as strconv.FormatInt writes it: no sign
// but a minus, no space, no leading zero. Unlike Set, ttl 0 keeps the time to live that is there; above 0 it gives a new
// one. It returns ErrNotInteger, ErrOverflow, ErrFull, ErrKeyTooLarge, ErrValueTooLarge (see Options.MaxValue), ErrTTL
// (negative) or ErrClosed, and the key then keeps what it had.
func (c *Collection) Add(key []byte, delta int64, ttl time.Duration) (int64, error) {
	at, err := c.deadline(ttl)
	if err != nil {
		return 0, err
	}
	return c.c.Add(c.c.Hash(key), key, delta, at, ttl > 0)
}

// Len returns the number of records, those included that expired within about the last tenth of a second; 0 after Close.
// It takes every lane's lock for a moment.
func (c *Collection) Len() int { return c.c.Len() }

// Flush removes every record that was there when it began; others may write meanwhile. The only error is ErrClosed.
func (c *Collection) Flush() error {
	if c.c.Closed() {
		return ErrClosed
	}
	c.c.Flush()
	return nil
}

// scanStep is the records that All asks for at once. They lie one behind the other in one buffer, so slices of it go out
// without room for an append.
const scanStep = 64

// All walks over keys and values, in no order that means anything. Every record that is there during the whole walk is
// yielded at least once, and seldom twice; one that comes or goes meanwhile may be yielded or not. The slices are valid
// until the next step, may be changed until then, and have no room for an append. No lock is held in the loop, which may change the collection. The
// walk of a closed cache ends.
func (c *Collection) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		cursor, more := uint64(0), true
		for more {
			next, err := c.c.Scan(cursor, scanStep, true, func(k, v []byte, _ index.Meta) bool {
				// A stop may take a record more to take effect; the loop must not see it.
				more = more && yield(slices.Clip(k), slices.Clip(v))
				return more
			})
			cursor = next
			more = more && err == nil && cursor != 0
		}
	}
}

// Scan is All in pieces, with the time to live. It walks on from cursor, 0 to begin with, until it gave about count
// records to fn (below 1 counts as 1), and returns the cursor to go on with, 0 at the end; a call may give none and not be
// the last. Cursors fit 31 bits and stay good while the collection changes.
//
// fn runs on the caller's goroutine and without a lock. Its slices are valid until it returns; ttl is the remaining time
// to live, 0 = for ever. When fn returns false the walk stops, and the next call goes on behind that record; in rare cases
// fn is called for a record more, which shares its cursor. Without fn Scan panics.
//
// It returns ErrCursor, for a cursor that no call can have given, or ErrClosed, and next is then 0.
func (c *Collection) Scan(cursor uint64, count int, fn func(key, value []byte, ttl time.Duration) bool) (next uint64, err error) {
	if fn == nil {
		panic("larder: Scan without a function")
	}
	return c.c.Scan(cursor, count, true, func(k, v []byte, in index.Meta) bool {
		return fn(slices.Clip(k), slices.Clip(v), c.remaining(in.ExpireAt))
	})
}

// CollectionStats are the parts of Stats that belong to one collection, with the same meaning and units. The unsigned
// fields count since the collection was made.
type CollectionStats struct {
	Records         int64 // those included that expired and were not yet removed
	Expiring        int64 // of these, records with a time to live
	Buckets         int64
	OverflowBuckets int64
	RecordBytes     int64 // in records
	IndexBytes      int64 // in buckets and directories

	Hits, Misses uint64
	Expired      uint64
	Refused      uint64
	Splits       uint64
}

// Stats returns the collection's figures; the zero CollectionStats after Close. It takes every lane's lock for a moment,
// one after the other.
func (c *Collection) Stats() CollectionStats {
	t := c.c.Stats()
	if c.s.Closed() { // looked at last, so that nobody sees a cache half closed
		return CollectionStats{}
	}
	return CollectionStats{
		Records: t.Records, Expiring: t.Expiring, Buckets: t.Buckets, OverflowBuckets: t.OverflowBuckets,
		RecordBytes: t.Bytes, IndexBytes: t.IndexBytes,
		Hits: t.Hits, Misses: t.Misses, Expired: t.Expired, Refused: t.Refused, Splits: t.Splits,
	}
}
