// Package index finds records by key: a hash table outside the Go heap that readers search without a lock.
//
// # Layout
//
// A Table is 64 lanes; the top bits of a key's hash choose one. A lane is a table of its own, with its writers' lock, its
// growth, its overflow, its counts and its free cells (memory.Magazines): the cell that an overwrite frees is the cell
// that the lane's next write takes, so memory never has to travel between threads, and no lock is global.
//
//	hash  ┌ lane 6 ┬ tag 8 ┬ ………… ┬ bucket, from the low end ┐
//
//	lane ── route ─→ directory ─→ segment of 32 buckets ─→ bucket, 64 B ─→ record
//	                                                          └─→ overflow bucket ─→ …
//
// A bucket is one cache line with ten tags of one byte and ten references of four, so a read costs two cache misses:
// bucket and record. Keys are always compared in full.
//
// # Growth
//
// Linear hashing: a lane with n buckets uses as many low hash bits as n needs, and one bit fewer for buckets that do not
// exist yet. An insert that takes the lane above seven records a bucket splits one bucket when it is done: no write pays
// for more than two, and nothing is ever rehashed at once. Segments and old directories are not freed while the table lives, because
// a reader may hold one.
//
// # Reading without a lock
//
// Each home bucket has a version, odd while a writer is inside the bucket or its chain. A reader loads the route, the
// version, searches, copies the value out, and loads the version again. Why that is right:
//
//   - Whatever it read while the version stood still at an even value is what one writer left complete: writers bump
//     before the first and after the last store of a change, and change a chain or one of its records only in between.
//     Freed cells are reused only after the bracket in which their reference was taken away.
//   - A found record is therefore whole, and it has the wanted key because the key was compared within the bracket.
//   - A miss is believed only when also the route is what it was. A split makes the parent odd, moves, stores the route,
//     and makes the parent even: a reader with the old route sees either the parent's version or the route changed.
//   - Nothing that a reader dereferences faults: references are checked against committed memory and lengths against
//     the end of the slot, because the bytes may be those of anything.
//   - The second load of the version must not overtake the copy, and the first store of a change must not overtake the
//     odd version. amd64 and s390x keep both orders; arm64 gets a barrier; elsewhere readers take the lane's lock.
//   - A version wraps after 2^30 changes of one bucket. A reader that sleeps through exactly that many within one attempt
//     would be deceived; the risk is accepted.
//
// After readTries attempts, one disturbed copy of a long value, or readSpins looks at an odd version a reader takes the lane's
// lock, so a reader waits at most as long as a writer does. Under the race detector readers always take it: the detector
// rightly objects to the rest.
//
// # Writing
//
// What changes a lane's counts or chains holds the lane's lock and owns the chain (a bit of the version). The most common
// write changes neither: a value over another one of the same key, in the same cells, with no nearer deadline. It takes
// no lock. It looks for its record as a reader does, then moves the version from the even one that it saw, not owned, to
// the odd one in one step, copies, and makes it even again. Why that is right:
//
//   - The step succeeds only when the version never moved since before the search, so the record still stands there and
//     is still the key's: taking it away, moving it to another bucket or changing its header would have moved the version.
//   - Nobody else is inside until the version is even: an owner waits for that before it reads or changes anything, and a
//     second such writer fails its step and takes the lane's lock.
//   - The bounds of deadlines (hint of the chain, earliest of the lane) stay true, because the new deadline is not nearer; a
//     record whose deadline was taken away, so that its word is 0, goes the other way.
//   - Whoever owns a chain waits only for a copy into one cell; whoever copies waits for nobody. So nothing waits in a
//     circle, whatever the lanes that the owner holds.
//   - Close sets its flag and then waits until no version is odd; a copy begins only after a look at the flag behind the
//     step. Of the two one sees the other.
//
// Other writers, too, look for their key before they take the lock, so that nobody waits for their cache misses, and
// believe what they saw when version and route are still the same under the lock.
//
// # Expiry
//
// A deadline in a record makes it absent for everybody from that millisecond on. Removal comes later: by a write to the
// key, or by Reap, which walks only lanes whose earliest deadline is due and in them only buckets whose hint is.
//
// # Moving
//
// Evacuate gives records other cells, so that memory which few of them pin can go back to the system (package memory says
// which). To everybody else a move is a write of the same value: it owns the chain, copies, and stores the new reference
// in a bracket; the old cell is freed behind it. Buckets, segments and directories are never moved.
//
// # Walking
//
// A cursor is a place in the order of reversed hash bits, which a split refines and never reorders (the idea is that of
// Redis's SCAN). Walk callbacks run without a lock on copies.
//
// # Prior art
//
// Seqlock buckets with copy-out come from OpenSIPS cachedb_perf, one-line buckets with tags from Swiss tables and MemC3,
// linear hashing from Litwin (1980), the version as a writers' lock from optimistic lock coupling (Leis et al., 2016).
// Different here: lanes that own everything a write needs, references of 32 bits, and a version that covers a chain
// instead of a bucket.
package index
