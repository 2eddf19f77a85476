// Package wire reads commands and writes replies of the Redis protocol, versions 2 and 3 (RESP2, RESP3).
//
// # Commands
//
// A command is an array of bulk strings, or a line of words ("inline"), told apart by the first byte:
//
//	*2 CR LF  $3 CR LF GET CR LF  $5 CR LF hello CR LF
//	GET "hello" [CR] LF
//
// [Parser] reads them in place. The arguments are views into the caller's buffer; the parser copies nothing and, for
// whole commands, allocates nothing (quoted words of inline commands, typed by people, are copied). It is resumable: when the input ends inside a command it notes how far it came, as
// offsets, because the caller may move the bytes before more arrive. Every way to split a stream gives the same commands
// and the same error at the same place.
//
// Numbers in headers are canonical decimals as Redis takes them: no plus, no spaces, no leading zeros. Where Redis skips
// two bytes unseen after a header or a bulk string, Parser wants the CR LF that must be there. An announced length is
// compared with the limits in limits.go and never leads to an allocation.
//
// # Replies
//
// The Append functions write one element each:
//
//   - simple string   - error          : integer         $ bulk string       * array
//     % map             ~ set            , double          # boolean           _ null
//     = verbatim text   > push                                                 (RESP3 only)
//
// Those whose form differs take the protocol version and write for RESP2 what Redis writes there: an array for a map, a
// bulk string for a double, an integer for a boolean.
//
// The protocol is specified at https://github.com/redis/redis-specifications (protocol/RESP3.md).
package wire
