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
//	└─ group      2 MiB, committed in increasing order, the unit of huge pages
//	   └─ slot    256 KiB, serves one size class at a time
//	      └─ cell what Alloc returns; named by a Ref
//
// A Ref is the distance from the start of the reservation in units of 8 bytes (16, 32 or 64 for larger limits), plus
// one, so that 0 is nil and no cell is wasted for it. Headers of slots lie in a table of their own: a header inside its
// slot would put the hot words of all slots into the same cache sets and would write to memory that was given back.
//
// Size classes are 8 bytes apart up to 256 bytes, then eight to a doubling up to 32 KiB, so at most one ninth of a cell
// is lost to rounding; one more class is a whole slot. Larger things are built by the caller from several cells, so no
// run of neighbouring slots is ever needed. A slot changes its class only when it is empty: survivors of a random delete
// keep theirs.
//
// # Algorithm
//
// Each lane of an index owns Magazines: one free stack per class, linked through the cells themselves and bounded by
// bytes. The lane's lock protects them, so the usual Alloc and Free are a few plain instructions. An empty magazine is
// refilled from its class, and a full one gives half back, under the class's lock. A class takes slots, and gives drained
// slots back to all classes, under the lock of the pool. When nothing is left, the magazines of all lanes that can be
// locked at once are emptied and the request is tried once more before it is refused.
//
// An in-use bit per cell is set by Alloc and cleared by Free, atomically because lanes share slots. A second Free of the
// same cell and a Ref that is no cell find the bit wrong and are refused (and counted; a panic under the tag invariants).
//
// # Reading without a lock
//
// Committed memory stays readable until the arena is unreachable. A reader may therefore follow a stale Ref: it finds
// some bytes, and must check Valid and Room before it trusts a Ref or a length found in them, and the owner's version
// before it believes the bytes.
//
// # The ceiling
//
// The limit counts committed groups, headers of slots, and what owners Charge for their own structures. It is a
// reservation under the pool's lock, never a check followed by an act.
//
// # Builds
//
// With the tag race (set by go test -race), and on systems without mmap, the arena is one Go allocation, so the race
// detector and checkptr see every access.
package memory
