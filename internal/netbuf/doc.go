// Package netbuf holds the bytes that travel between sockets and commands.
//
// # Problem
//
// A server with many connections must read whole commands out of a byte stream and write replies back, and should
// neither copy what it does not have to, nor keep memory for a connection that is silent, nor ask a shared allocator
// for every request.
//
// # Layout
//
//	Pool      one per server: a free list per block size, and the books
//	 └ Blocks one per event loop: a small private stack per block size
//	    ├ Input   one per connection: one block, the unread bytes lie between off and end
//	    └ Output  one per connection: a chain of blocks, written oldest first
//
// A block is 4, 8, 16 or 32 KiB. Anything larger is made to measure, belongs to nobody's cache and goes to the garbage
// collector after use.
//
//	Input   |  delivered  |  unread frame(s)  |  free  |
//	        0            off                 end      len
//
//	Output  full[head] (off bytes written) → full[head+1] → … → tail (open, appended to)
//
// # Algorithms
//
// Taking a frame out of Input moves an offset, not the bytes behind it. Bytes move only when the free tail cannot hold
// what the frame at the head still needs; then the remainder, at most one unfinished frame, goes to the front. A frame
// larger than the block gets a block of its size in one step as long as the announcement is modest, and after that in
// steps bounded by what has truly arrived: an announced length alone never reserves much memory.
//
// A private stack holds a byte budget per size. When one more block comes back than fits, three quarters return to the
// pool in one locked operation and the warm quarter stays; an empty stack fetches a quarter in one operation. Blocks
// that stay unused in the pool between two calls of Trim are dropped.
//
// # Ownership and locks
//
// Blocks, Input and Output belong to one goroutine at a time (the event loop, or whoever holds the lock that stands for
// it). Pool is safe for concurrent use; it has one mutex per block size, taken only on refill and bulk return, and no
// other lock is taken under it. A view into Input is valid until the next Space or Release. An empty Input and an empty
// Output hold no block.
//
// # Costs
//
// Taking and giving back a block is a few nanoseconds and allocates nothing. Each class satisfies, at every moment,
//
//	allocated = in use + cached + free in the pool
//
// because the three terms change only under the class's mutex, except that a loop moves blocks between "in use" and
// "cached" by one counter, which appears in both terms with opposite signs.
//
// # Prior art
//
// The offset queue is that of Samba's CTDB, whose first version computed the free space without the offset and wrote
// past the buffer: hence the property tests here. The private stack with a bulk return to a quarter is Apache Traffic
// Server's per-thread free list for network buffers; the books differ, since there a dump could not say what is in use.
package netbuf
