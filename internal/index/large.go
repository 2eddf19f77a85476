package index

import (
	"unsafe"

	"github.com/larder-cache/larder/internal/memory"
)

// A large record has a head cell
//
//	header 8 B │ expiry 8 B (always, 0 = never) │ references of chunks, 4 B each
//
// and its payload, key then value, in chunks whose sizes follow from the payload's length alone: whole slots, then cells
// of memory.MaxCell, then one cell that fits the rest. No chunk needs a neighbour, so large values cause no search for
// runs and no fragmentation, and a growing value keeps all its chunks but the last few.
const largePrefix = headerSize + expirySize

// A chunking is how a payload is cut.
type chunking struct {
	whole, cells int // whole slots, cells of MaxCell
	rest         int // bytes in the last cell
}

func chunkingOf(payload int) chunking {
	r := payload % memory.SlotSize
	return chunking{payload / memory.SlotSize, r / memory.MaxCell, r % memory.MaxCell}
}

func (c chunking) count() int {
	n := c.whole + c.cells
	if c.rest > 0 {
		n++
	}
	return n
}

// size returns the bytes of chunk i.
func (c chunking) size(i int) int {
	switch {
	case i < c.whole:
		return memory.SlotSize
	case i < c.whole+c.cells:
		return memory.MaxCell
	default:
		return c.rest
	}
}

func (c chunking) headSize() int { return largePrefix + 4*c.count() }

func chunkSlot(rec unsafe.Pointer, i int) *uint32 {
	return (*uint32)(unsafe.Add(rec, largePrefix+4*i))
}

// piece returns the payload's bytes from off to the end of their chunk, nil when a reference makes no sense.
func (t *Table) piece(rec unsafe.Pointer, room int, payload, off int) []byte {
	c := chunkingOf(payload)
	i, in := off/memory.SlotSize, off%memory.SlotSize
	if i >= c.whole {
		i, in = c.whole+in/memory.MaxCell, in%memory.MaxCell
	}
	if largePrefix+4*i+4 > room {
		return nil
	}
	r := memory.Ref(*chunkSlot(rec, i))
	n := c.size(i) - in
	if n <= 0 || !t.arena.Valid(r) || c.size(i) > t.arena.Room(r) {
		return nil
	}
	return bytesAt(t.arena.At(r), in, n)
}

// mustPiece is piece under the lane's lock.
func (t *Table) mustPiece(rec unsafe.Pointer, h uint64, off int) []byte {
	p := t.piece(rec, memory.SlotSize, payloadLen(h), off)
	if p == nil {
		panic("index: a large record with a reference to nowhere")
	}
	return p
}

func payloadLen(h uint64) int { return keyLen(h) + valueLen(h) }

// payloadRead copies the payload from off into dst. It reports false for references that make no sense.
func (t *Table) payloadRead(rec unsafe.Pointer, room int, h uint64, dst []byte, off int) bool {
	for len(dst) > 0 {
		p := t.piece(rec, room, payloadLen(h), off)
		if p == nil {
			return false
		}
		n := copy(dst, p)
		dst, off = dst[n:], off+n
	}
	return true
}

// payloadWrite copies src over the payload at off. The lane is locked, so every reference makes sense; if one did not, the
// write would panic rather than turn for ever.
func (t *Table) payloadWrite(rec unsafe.Pointer, h uint64, src []byte, off int) {
	for len(src) > 0 {
		n := copy(t.mustPiece(rec, h, off), src)
		src, off = src[n:], off+n
	}
}

func (t *Table) payloadZero(rec unsafe.Pointer, h uint64, off, n int) {
	for n > 0 {
		p := t.mustPiece(rec, h, off)
		p = p[:min(n, len(p))]
		clear(p)
		off, n = off+len(p), n-len(p)
	}
}

// payloadEqual reports whether the payload begins with key.
func (t *Table) payloadEqual(rec unsafe.Pointer, room int, h uint64, key []byte) bool {
	for off := 0; off < len(key); {
		p := t.piece(rec, room, payloadLen(h), off)
		if p == nil {
			return false
		}
		p = p[:min(len(p), len(key)-off)]
		if string(p) != string(key[off:off+len(p)]) {
			return false
		}
		off += len(p)
	}
	return true
}

// allocLarge returns the head of a large record of payload bytes with all its chunks and an empty header, or 0.
// Chunks that keep has in the same place and size are taken over; the caller must not free those with the old head.
func (t *Table) allocLarge(ln *lane, payload int, keep unsafe.Pointer, kept chunking) memory.Ref {
	c := chunkingOf(payload)
	head := ln.magazines.Alloc(t.arena, memory.HeadClassFor(c.headSize()))
	if head == 0 {
		return 0
	}
	rec := t.arena.At(head)
	for i := range c.count() {
		if keep != nil && sameChunk(c, kept, i) {
			*chunkSlot(rec, i) = *chunkSlot(keep, i)
			continue
		}
		r := t.alloc(ln, c.size(i))
		if r == 0 {
			for j := range i {
				if keep == nil || !sameChunk(c, kept, j) {
					t.free(ln, memory.Ref(*chunkSlot(rec, j)))
				}
			}
			t.free(ln, head)
			return 0
		}
		*chunkSlot(rec, i) = uint32(r)
	}
	return head
}

// sameChunk reports whether chunk i starts at the same place and lies in a cell of the same size in both.
func sameChunk(a, b chunking, i int) bool {
	if i >= a.count() || i >= b.count() {
		return false
	}
	if i < a.whole || i < b.whole {
		return i < a.whole && i < b.whole
	}
	return a.whole == b.whole && memory.ClassFor(a.size(i)) == memory.ClassFor(b.size(i))
}

// freeLarge frees the head at r and the chunks that are not shared with next.
func (t *Table) freeLarge(ln *lane, r memory.Ref, h uint64, shared bool, next chunking) {
	rec := t.arena.At(r)
	c := chunkingOf(payloadLen(h))
	for i := range c.count() {
		if !shared || !sameChunk(next, c, i) {
			t.free(ln, memory.Ref(*chunkSlot(rec, i)))
		}
	}
	t.free(ln, r)
}
