// Package command turns the bytes of a connection into calls of the store and the results into replies.
//
// # Problem
//
// Redis clients pipeline: one read brings a hundred commands. Run one by one, each waits for the memory that holds its
// key, and the table is far larger than any cache. Everything else that a command costs (parsing, finding its handler,
// writing its reply) must stay small beside one such wait.
//
// # Algorithm
//
// Data takes what the reactor has read and works in windows:
//
//	parse up to 32 commands ──▶ look each up ──▶ hash its first key, touch the bucket
//	                                                     │
//	used bytes ◀── write replies into the output ◀── run them in order
//
// The loads that touching starts overlap, so the window waits for memory about once. Arguments are views into the input;
// the store copies a value once, and a read copies it once, from its record into the output block. A window allocates
// nothing.
//
// # Commands as data
//
// A [Command] row holds the name, the number of arguments, where the keys are, what the command may do and its handler.
// The rows stand beside the handlers, one list for each family, and table.go joins them. COMMAND replies, the checks
// before a handler runs and the documentation come from the same rows. A name is found by one multiplication and one
// comparison (lookup.go): the multiplier is searched at start so that no two names share a slot.
//
// # Ownership
//
// A [Client] belongs to the event loop of its connection and is touched by nobody else, except for the few atomic fields
// that CLIENT LIST shows. What clients of one loop share (argument and scratch buffers, counters not yet published) is in
// the loop's own structure. What all loops share (configuration, password, the list of clients) is atomic or behind the
// server's mutex, which no handler holds while it calls the store.
//
// # Work that takes long
//
// A handler that would hold up its loop (FLUSHALL of a large collection, DEBUG SLEEP) pauses its connection, does the work
// elsewhere, and replies from the loop when it is done. The rest of the pipeline waits behind it, other clients do not.
//
// # Prior art
//
// The replies, error texts and the order of checks are those of Redis 7.0, read from its behaviour. Touching the keys of
// a batch before reading them is known from MICA (Lim et al., NSDI 2014) and memcached's multiget.
package command
