// Package glob matches keys against the patterns of KEYS, SCAN MATCH and CONFIG GET.
//
// # The language
//
//   - any bytes, also none
//     ?        one byte
//     [abc]    one byte of the set; [a-z] a range (its ends in any order); [^a] one byte outside the set
//     \x       the byte x itself, inside a set too
//
// Everything else stands for itself. A set that is never closed ends with the pattern, "[]" matches nothing, a lone
// backslash at the end is a backslash. These are the rules of stringmatchlen in Redis's util.c, with three differences:
// bytes of ranges compare unsigned on every machine (there the sign of a C char decides), a run of several stars
// matches the empty string too (there only a single star does), and nothing is ever read past the pattern's end.
//
// # The algorithm
//
// The textbook matcher goes back to the last star at every mismatch, and a recursive one to every star: some kilobytes
// of "a*a*a*b" or "*?a?a?a" then keep a server busy for minutes. Here a pattern is compiled once and cut at its stars
// into segments. The first segment must stand at the start and the last at the end; each one between is looked for
// from left to right, and its leftmost place is always the best one, so nothing is ever tried twice. The search itself is
//   - bytes.Index (linear) for a segment of plain bytes;
//   - for a segment with ? or sets a plain comparison at each place, as long as the segment has at most 64 elements or
//     the comparisons spend only a few steps per byte of the key;
//   - beyond that Shift-And (Baeza-Yates and Gonnet, "A new approach to text searching", 1992): one bit per element,
//     64 elements a step. Segments that may need it are limited to MaxSearch elements together.
//
// So a byte of the key costs at most 64 steps whatever the pattern says.
//
// A Pattern belongs to one goroutine: the tables of Shift-And are built when they are first needed and kept.
package glob

import (
	"bytes"
	"errors"
)

const (
	// MaxPattern bounds a pattern's bytes: twice the longest key, so every key can be written with each byte escaped.
	MaxPattern = 2 << 20
	// MaxSearch bounds the elements, taken together, of the segments of more than shortSearch elements that stand
	// between two stars and hold a ? or a set. Segments of plain bytes have no such limit.
	MaxSearch = 4096
	// shortSearch is the length up to which comparing at every place is bounded well enough.
	shortSearch = 64
	// keepElements is the size of compiled tables a Pattern keeps for its next use.
	keepElements = 16 << 10
)

// ErrTooLong says that a pattern exceeds MaxPattern, or its segments MaxSearch.
var ErrTooLong = errors.New("larder: pattern too long")

// An element is what one byte of a key is compared with: a byte (0 to 255), anyByte, or firstSet plus an index into sets.
type element = int32

const (
	anyByte  element = 256
	firstSet element = 257
)

// set has one bit per byte value.
type set [4]uint64

func (s *set) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }

func (s *set) add(c byte) { s[c>>6] |= 1 << (c & 63) }

func (s *set) addRange(lo, hi byte) {
	for w := range s {
		base := w << 6
		from, to := max(int(lo), base), min(int(hi), base+63)
		if from <= to {
			s[w] |= (^uint64(0) >> (63 - uint(to-from))) << uint(from-base)
		}
	}
}

func (s *set) invert() {
	for w := range s {
		s[w] = ^s[w]
	}
}

// segment is a stretch of elements between two stars.
type segment struct {
	from, to int32
	plain    bool  // bytes only, compared exactly
	table    int32 // index into tables plus one, 0 when the segment needs none
}

// Pattern is a compiled pattern. The zero value matches only the empty string; Reset gives it a pattern.
type Pattern struct {
	elems    []element
	lits     []byte // the byte of each element that is one, 0 elsewhere
	segments []segment
	sets     []set
	stars    bool // at least one star; then segments holds at least two, the outer ones perhaps empty
	fold     bool
	tables   []shiftAnd
}

// Compile returns the compiled form of pattern, which is not retained. With fold, ASCII letters match in either case.
// The error is ErrTooLong.
func Compile(pattern []byte, fold bool) (*Pattern, error) {
	p := new(Pattern)
	if err := p.Reset(pattern, fold); err != nil {
		return nil, err
	}
	return p, nil
}

// Match reports whether s matches pattern, for a pattern that is used once. A pattern that is too long matches nothing.
func Match(pattern, s []byte, fold bool) bool {
	var p Pattern
	return p.Reset(pattern, fold) == nil && p.Match(s)
}

// Literal returns the only string the pattern matches, when it has neither star, ?, set nor folding. The bytes
// belong to the Pattern.
func (p *Pattern) Literal() ([]byte, bool) {
	if p.stars || len(p.segments) == 1 && !p.segments[0].plain {
		return nil, false
	}
	return p.lits, true
}

// All reports whether the pattern matches every string.
func (p *Pattern) All() bool { return p.stars && len(p.elems) == 0 }

// Match reports whether the whole of s matches.
func (p *Pattern) Match(s []byte) bool {
	if len(s) < len(p.elems) {
		return false
	}
	if !p.stars {
		return len(s) == len(p.elems) && (len(p.segments) == 0 || p.at(p.segments[0], s))
	}
	first, last := p.segments[0], p.segments[len(p.segments)-1]
	if !p.at(first, s) || !p.at(last, s[len(s)-last.len():]) {
		return false
	}
	s = s[first.len() : len(s)-last.len()]
	for i := 1; i < len(p.segments)-1; i++ {
		place := p.find(p.segments[i], s)
		if place < 0 {
			return false
		}
		s = s[place+p.segments[i].len():]
	}
	return true
}

func (g segment) len() int { return int(g.to - g.from) }

// at reports whether the segment stands at the start of s, which is long enough.
func (p *Pattern) at(g segment, s []byte) bool {
	if g.plain {
		return string(s[:g.len()]) == string(p.lits[g.from:g.to])
	}
	for i, e := range p.elems[g.from:g.to] {
		if !p.is(e, s[i]) {
			return false
		}
	}
	return true
}

func (p *Pattern) is(e element, c byte) bool {
	switch {
	case e < anyByte:
		return c == byte(e) || p.fold && lower(c) == lower(byte(e))
	case e == anyByte:
		return true
	}
	return p.sets[e-firstSet].has(c)
}

// find returns the segment's leftmost place in s, or -1.
func (p *Pattern) find(g segment, s []byte) int {
	if g.plain {
		return bytes.Index(s, p.lits[g.from:g.to])
	}
	elems := p.elems[g.from:g.to]
	steps := 0
	for i := 0; i+len(elems) <= len(s); i++ {
		k := 0
		for k < len(elems) && p.is(elems[k], s[i+k]) {
			k++
		}
		if k == len(elems) {
			return i
		}
		steps += k
		if g.table != 0 && steps > 256+4*i {
			place := p.tables[g.table-1].find(p, g, s[i+1:])
			if place < 0 {
				return -1
			}
			return i + 1 + place
		}
	}
	return -1
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}
