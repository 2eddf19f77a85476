// Package bench compares Larder with other in-memory caches for Go and, in
// cmd/redisbench, with redis-server.
//
// It is a module of its own, so that nobody who uses Larder fetches what it is
// compared with. The benchmarks of this package vary one thing at a time:
//
//	go test -bench 'Cache/impl=(larder|fastcache)/op=get-hit/size=100/' -count 10 | benchstat -
//
// The commands run the contenders alternately in one process, round by round,
// because on a shared machine a figure means something only beside another one
// taken in the same minute:
//
//	go run ./cmd/ratio       Get and Set against the other caches, medians and ratios
//	go run ./cmd/garbage     what a garbage collection costs with millions of entries
//	go run ./cmd/redisbench  the server against redis-server under redis-benchmark
//
// What every contender does in one operation is the same: Get copies the value
// into the caller's buffer and Set leaves the caller free to reuse the key and
// the value. A cache that keeps references clones the value on Set; its Get
// without the copy would be cheaper by the copy.
package bench
