// Package larder is an in-memory cache that a Go program embeds.
//
// Values live outside the Go heap, so the garbage collector does not see them; reads take no lock and make no garbage;
// memory stays under a limit that counts everything.
//
//	cache, err := larder.Open(larder.Options{MaxMemory: 256 << 20})
//	...
//	sessions, err := cache.Collection("sessions")
//	...
//	err = sessions.Set([]byte("alice"), []byte("42"), time.Minute)
//	buf, err = sessions.Get(buf[:0], []byte("alice"))
//
// # Collections
//
// A Cache, which Open makes, holds named collections, each a table of its own in shared memory. All methods are safe for
// concurrent use. Keys and values are any bytes and are copied in and out: nothing that a method returns refers to the
// cache's memory, and no argument is kept.
//
// # Time to live
//
// A record with a time to live is absent, for every method at once, from the millisecond in which it ends; its memory
// comes back shortly after, without any read.
//
// # Limits
//
// Nothing is evicted: when the limit is reached, writes that need memory fail with ErrFull and nothing is lost. Errors are
// the variables of this package, perhaps wrapped; a write that returns one has changed nothing. The cache is gone when the
// program ends.
package larder
