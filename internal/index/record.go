package index

import (
	"strconv"
	"unsafe"

	"github.com/larder-cache/larder/internal/memory"
)

// A record is a cell:
//
//	header 8 B │ expiry 8 B, if any │ key │ value
//
// header: bits 0 to 31 the value's length, 32 to 51 the key's length, 52 to 63 flags. A counter's value is eight bytes,
// an int64 in the machine's byte order. A record larger than memory.MaxCell is a large record, see large.go.
const (
	headerSize = 8
	expirySize = 8
	keyShift   = 32
	keyMask    = 1<<20 - 1
	flagShift  = 52

	// MaxKey is the longest key in bytes.
	MaxKey = keyMask
	// MaxValue is the longest value in bytes that a table can be told to take.
	MaxValue = 1 << 30

	recExpiry  = 1 << flagShift
	recInteger = 2 << flagShift
	recPassive = 4 << flagShift
	recLarge   = 8 << flagShift
)

// Flags of a record that callers see.
type Flags uint8

const (
	// FlagInteger says that the value is a native int64.
	FlagInteger Flags = 1 << iota
	// FlagPassive says that the record came from a peer.
	FlagPassive
)

func (f Flags) bits() uint64 { return uint64(f) << (flagShift + 1) }

func flagsOf(h uint64) Flags { return Flags(h>>(flagShift+1)) & (FlagInteger | FlagPassive) }

// Meta describes a record.
type Meta struct {
	ExpireAt int64 // milliseconds since the Unix epoch; 0 = never
	Size     int   // bytes of the value as a string (of the decimal form for counters)
	Flags    Flags
}

func keyLen(h uint64) int   { return int(h >> keyShift & keyMask) }
func valueLen(h uint64) int { return int(uint32(h)) }

// prefix returns the bytes before the key.
func prefix(h uint64) int {
	return headerSize + int(h>>flagShift&1)*expirySize
}

// small returns the bytes of a record in one cell.
func small(key, value int, expires bool) int {
	n := headerSize + key + value
	if expires {
		n += expirySize
	}
	return n
}

func headerAt(rec unsafe.Pointer) uint64 { return *(*uint64)(rec) }

func expiryAt(rec unsafe.Pointer, h uint64) int64 {
	if h&recExpiry == 0 {
		return 0
	}
	return *(*int64)(unsafe.Add(rec, headerSize))
}

func bytesAt(rec unsafe.Pointer, off, n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(rec, off)), n)
}

// intAt reads a counter. It reports false for a reference that makes no sense.
func (t *Table) intAt(rec unsafe.Pointer, room int, h uint64) (v int64, ok bool) {
	if h&recLarge != 0 { // the key is long
		return v, t.payloadRead(rec, room, h, intBytes(&v), keyLen(h))
	}
	// Keys have any length: the value need not be aligned.
	copy(intBytes(&v), bytesAt(rec, prefix(h)+keyLen(h), 8))
	return v, true
}

func intBytes(v *int64) []byte { return (*[8]byte)(unsafe.Pointer(v))[:] }

// decimalLen returns the bytes of v in decimal.
func decimalLen(v int64) int {
	var b [20]byte
	return len(strconv.AppendInt(b[:0], v, 10))
}

// match reports whether the record at r has the key, and returns its address and header. It trusts nothing that it
// reads: r may be a cell that has become something else.
func (t *Table) match(r memory.Ref, key []byte) (unsafe.Pointer, uint64) {
	if !t.arena.Valid(r) {
		return nil, 0
	}
	rec := t.arena.At(r)
	h := headerAt(rec)
	if keyLen(h) != len(key) {
		return nil, 0
	}
	if h&recLarge != 0 {
		if !t.payloadEqual(rec, t.arena.Room(r), h, key) {
			return nil, 0
		}
		return rec, h
	}
	p := prefix(h)
	if p+len(key) > t.arena.Room(r) || string(bytesAt(rec, p, len(key))) != string(key) {
		return nil, 0
	}
	return rec, h
}

// describe makes an Meta of a record. The lane is locked.
func (t *Table) describe(rec unsafe.Pointer, h uint64) Meta {
	in := Meta{ExpireAt: expiryAt(rec, h), Size: valueLen(h), Flags: flagsOf(h)}
	if h&recInteger != 0 {
		v, _ := t.intAt(rec, memory.SlotSize, h)
		in.Size = decimalLen(v)
	}
	return in
}

// hintUnitBits is the resolution of expiry hints.
const hintUnitBits = 6 // 64 ms

// hintOf rounds a deadline down to the resolution of hints, relative to the table's birth; 0 stays "never", and what is
// more than 8.7 years away saturates.
func (t *Table) hintOf(expireAt int64) uint32 {
	if expireAt == 0 {
		return 0
	}
	if expireAt <= t.birth {
		return 1
	}
	d := (expireAt - t.birth) >> hintUnitBits
	return uint32(min(max(d, 1), 1<<32-1))
}
