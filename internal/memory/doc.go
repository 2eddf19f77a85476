// Package memory owns every byte that a cache keeps outside the Go heap.
//
// # Problem
//
// Millions of small records as Go objects cost the garbage collector a scan per cycle and an allocation per write. Here
// they are cells of one private mapping that the collector never sees, named by 32-bit numbers instead of pointers.
//
// # Layout
//
//	reservation   address space for the limit, PROT_NONE until needed
//	└─ group      2 MiB, the unit of huge pages and of what is given back
//	   └─ slot    256 KiB, serves one size class at a time
//	      └─ cell what Alloc returns; named by a Ref
//
// A Ref is the distance from the start of the reservation in units of 8 bytes (16, 32 or 64 for larger limits), plus
// one, so that 0 is nil and no cell is wasted for it. Headers of slots lie in a table of their own: a header inside its
// slot would put the hot words of all slots into the same cache sets and would write to memory that was given back.
//
// Size classes are 8 bytes apart up to 256 bytes, then eight to a doubling up to 32 KiB, so at most one ninth of a cell
// is lost to rounding; one more class is a whole slot. Larger things are built by the caller from several cells, so no
// run of neighbouring slots is ever needed. A slot changes its class only when it is empty. Indexes, whose cells stay where
// they are, and heads, cells that name others, have classes of their own, and indexes groups of their own.
//
// # Algorithm
//
// Each lane of an index owns Magazines: one free stack per class, linked through the cells themselves and bounded by
// bytes. The lane's lock protects them, so the usual Alloc and Free are a few plain instructions. An empty magazine is
// refilled from its class, and a full one gives half back, under the class's lock. A class takes slots, and gives drained
// slots back to all classes, under the lock of the pool, which prefers the fullest group and in it the lowest slot, so that
// others empty. When nothing is left, the magazines of all lanes that can be locked at once are emptied and the request is
// tried once more before it is refused.
//
// An in-use bit per cell is set by Alloc and cleared by Free, atomically because lanes share slots. A second Free of the
// same cell and a Ref that is no cell find the bit wrong and are refused (and counted; a panic under the tag invariants).
//
// # Reclaim
//
// Tick gives memory back to the system. It does nothing as long as slots are handed out; when that has been quiet for a
// while it takes the drained slots that classes keep, empties magazines that may pin others (ever less often while that
// does not help), and gives back groups that have been wholly free for long enough, neighbours in one call and without a
// lock. When nothing is left to do it sleeps until cells come back.
//
// A few cells that stay would pin every slot and group. So Tick marks slots with at most an eighth of their cells in use,
// and then all slots of groups that could be emptied cheaply, as long as what is in them fits elsewhere into less. Nobody
// gets a cell of a marked slot any more. The owner of the cells walks over them and moves those for which Sparse is true;
// that frees slots and groups in every case, so the passes come to an end, and a further one finds nothing to do.
//
// # Reading without a lock
//
// Opened memory stays readable until the arena is unreachable, as zeros when it was given back. A reader may therefore
// follow a stale Ref: it finds some bytes, and must check Valid and Room before it trusts a Ref or a length found in them,
// and the owner's version before it believes the bytes.
//
// # The ceiling
//
// The limit counts groups that are not given back, headers of the slots of all groups that were ever used, and what owners
// Charge for their own structures. It is a reservation under the pool's lock, never a check followed by an act. A group on
// its way from or to the system counts; whoever finds nothing else waits until it has arrived.
//
// # Builds
//
// With the tag race (set by go test -race), and on systems without mmap, the arena is one Go allocation, so the race
// detector and checkptr see every access.
package memory
