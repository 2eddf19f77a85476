// Package workload makes the keys, the values and the order of accesses that
// all contenders get, outside of every timed part.
//
// Keys have 16 bytes. Values are derived from their key's number, so that any
// reply can be verified. Accesses follow a Zipf law over the keys; which keys
// are popular is random. The keys of the accesses lie one behind the other in
// the order in which they are used, as keys that just arrived do, so that
// fetching a key costs no cache miss and what is timed is the cache alone.
package workload

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

const (
	// KeyBytes is the length of every key.
	KeyBytes = 16
	// Exponent of the Zipf law.
	Exponent = 1.01
	// orderLength is the number of accesses before the order repeats; a power
	// of two.
	orderLength = 1 << 21
	// patternBytes is the length of the text that values are cut from: small
	// enough to stay in a core's cache, and a prime, so that cuts differ.
	patternBytes = 65521
	// offsetPrime spreads the goroutines' starts over the order.
	offsetPrime = 299_993
)

// A Set of keys, values and accesses for values of one size. It never changes,
// so caches may refer to its keys.
type Set struct {
	Count int // keys that are present; as many are absent
	Size  int // bytes of every value

	present, absent []byte // all keys, by number
	order           []uint32
	orderPresent    []byte // the keys of order
	orderAbsent     []byte
	pattern         []byte
}

// New makes n present and n absent keys with values of size bytes.
func New(n, size int) *Set {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(size)))
	s := &Set{Count: n, Size: size, order: make([]uint32, orderLength), pattern: make([]byte, patternBytes+size)}
	for i := range n {
		s.present = fmt.Appendf(s.present, "key:%0*d", KeyBytes-len("key:"), i)
		s.absent = fmt.Appendf(s.absent, "not:%0*d", KeyBytes-len("not:"), i)
	}
	for i := range s.pattern {
		s.pattern[i] = byte(rng.UintN(256))
	}
	popular := rng.Perm(n)
	zipf := rand.NewZipf(rng, Exponent, 1, uint64(n-1))
	for i := range s.order {
		s.order[i] = uint32(popular[zipf.Uint64()])
		s.orderPresent = append(s.orderPresent, s.Key(int(s.order[i]))...)
		s.orderAbsent = append(s.orderAbsent, s.AbsentKey(int(s.order[i]))...)
	}
	return s
}

// Key returns present key i.
func (s *Set) Key(i int) []byte { return cut(s.present, i) }

// AbsentKey returns absent key i.
func (s *Set) AbsentKey(i int) []byte { return cut(s.absent, i) }

func cut(flat []byte, i int) []byte {
	return flat[i*KeyBytes : (i+1)*KeyBytes : (i+1)*KeyBytes]
}

// Order returns the accesses from a start on, which each goroutine has to itself.
func (s *Set) Order(start, goroutine int) Order {
	return Order{set: s, at: start + goroutine*offsetPrime}
}

// Order is an endless sequence of accesses.
type Order struct {
	set *Set
	at  int
}

// Next returns the next access: a present key and its number.
func (o *Order) Next() (key []byte, i int) {
	at := o.at & (orderLength - 1)
	o.at++
	return cut(o.set.orderPresent, at), int(o.set.order[at])
}

// NextAbsent returns the next access as an absent key.
func (o *Order) NextAbsent() []byte {
	at := o.at & (orderLength - 1)
	o.at++
	return cut(o.set.orderAbsent, at)
}

// Value returns the value of key i, a view that must not be written to. It
// costs no copy, so a timed Set pays for the cache alone.
func (s *Set) Value(i int) []byte {
	from := (i * 31) % patternBytes
	return s.pattern[from : from+s.Size : from+s.Size]
}

// Right reports whether value is what key i was given. One key in 65521 has the
// same value.
func (s *Set) Right(value []byte, i int) bool { return bytes.Equal(value, s.Value(i)) }

// Budget is the memory that every contender gets for n entries: half as much
// again as keys, values and a generous header need.
func (s *Set) Budget() int64 {
	const header, floor = 64, 64 << 20
	n := int64(s.Count) * int64(KeyBytes+s.Size+header)
	return max(n+n/2, floor)
}
