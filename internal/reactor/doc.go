// Package reactor carries bytes between sockets and a Handler.
//
// # Problem
//
// At one request per packet nearly all of a cache server's time is the kernel's: one receive, one send and a share of
// a wait. What a server can lose is everything around them: a goroutine switch per request, a wake-up across threads, a
// buffer per silent connection, a timer per read. And it must stay fair and bounded whatever the clients do: pipeline
// without end, never read, announce much and send little, or vanish.
//
// # Layout
//
//	Listen ── Server ─┬─ loop 0: epoll, eventfd, listener, connections, netbuf.Blocks
//	                  ├─ loop 1: epoll, eventfd, connections, netbuf.Blocks
//	                  └─ …
//
// Each loop is one goroutine, which stays on one thread while it is busy and is not locked to it. Loop 0 also accepts
// and hands a connection to the loop that has the fewest. One listening socket is used rather than one per loop with SO_REUSEPORT, which would let a second server
// share the port unnoticed instead of failing with "address already in use".
//
// # A turn
//
//	epoll_wait → BeginTurn → for each ready connection: write what waits, read, Data, write; posted functions →
//	connections with input left from the turn before → connections that others asked to flush or close → what is
//	due by the clock → EndTurn
//
// Reads and writes go straight to the kernel by RawSyscall: the sockets do not block, so the Go scheduler need not
// know. Only the wait does block and goes through Syscall, so that the garbage collector can stop the world meanwhile.
//
// Every few milliseconds the loop yields: a goroutine that never meets the scheduler is preempted by signals, and the
// runtime's monitor thread wakes at its highest rate to do so. With 50 connections asking one request at a time, CPU per
// request was 8.6 us so, 9.0 yielding on a locked thread, 9.5 on a locked thread without yielding and 9.8 with neither
// (medians of twelve alternating runs on two busy cores; redis-server 10.9 in the same runs).
//
// Notification is level-triggered: a read that returned less than the space it had is not repeated, and whatever comes
// later is reported by the next wait. So a request costs one receive and one send, and many share one wait.
//
// # Fairness and bounds
//
// A connection reads at most Options.TurnBudget bytes per turn and writes at most as many as one call takes; a handler
// bounds its commands by returning more. Writing comes before reading when both are possible. While more than
// Options.OutputPause bytes wait to be written the connection is neither read nor handed to Data: the peer that does not
// read is slowed by its own TCP window, and costs nothing until it reads. Options has the limits beyond which it is cut.
// A loop with nothing to watch over sleeps without a time-out: an idle server makes no wake-ups.
//
// # Ownership and locks
//
// Everything of a connection belongs to its loop, except what is documented as callable from anywhere: Post, Resume and
// the plain getters. A loop has one mutex, held for appending to or taking its posted functions, and for copying its
// counters; it is never held while a handler runs. Other goroutines reach a connection by Post only.
//
// The portable implementation, for systems without epoll and by Options.Portable, has a goroutine per connection on the
// net package. Its loops are virtual: mutexes, one of which is held during every call of the handler and never during
// a read or a write. Handlers see the same rules: no two calls for one loop, and so for one connection, overlap.
// State per Conn.Loop is safe in both.
//
// # Costs
//
// An idle connection is a Conn, its address as text and a slot in its loop's table, about 350 bytes in all, and no buffer
// (the portable one has a goroutine and a block of 4 KiB besides), plus what the handler keeps in Session. Nothing is
// allocated per turn or request.
//
// # Prior art
//
// Write-before-read and the queue with an offset are from Samba's CTDB, the output limits by hard and soft bound from
// Redis, the single acceptor handing over to the least loaded loop from memcached.
package reactor
