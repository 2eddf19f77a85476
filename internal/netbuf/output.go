package netbuf

import (
	"unsafe"

	"github.com/larder-cache/larder/internal/invariants"
)

const (
	// OutputBlock is the first block of a chain: the replies of a short pipeline fit it and leave in one plain send.
	OutputBlock = 16 << 10
	// chainBlock is every further block: a reply that long is worth fewer, larger pieces.
	chainBlock = MaxBlock
)

// Output is the chain of bytes not yet written of one connection. Replies are appended to its open last block in place:
//
//	b := out.Tail(n)      // room for at least n bytes
//	b = append(b, …)      // up to cap(b)
//	out.SetTail(b)
//
// It must be bound to a block store before use.
type Output struct {
	blocks *Blocks
	tail   []byte   // the open block; len = bytes used
	full   [][]byte // closed blocks before the tail; those before head are written and nil
	head   int
	off    int // bytes of the first unwritten block that are written already
	n      int // bytes not yet written
}

// Bind sets the block store. The chain must be empty.
func (o *Output) Bind(b *Blocks) { o.blocks = b }

// Len returns the number of bytes not yet written.
func (o *Output) Len() int { return o.n }

// Tail returns the open block: len = bytes used, cap - len >= n. When the room left in it is less, a new one is opened;
// for n larger than a pooled block it is of exactly n bytes.
func (o *Output) Tail(n int) []byte {
	if cap(o.tail)-len(o.tail) < n {
		o.extend(n)
	}
	return o.tail
}

// extend opens a block with room for n bytes.
func (o *Output) extend(n int) {
	size := OutputBlock
	if len(o.tail) > 0 {
		if o.full == nil {
			o.full = o.blocks.vector()
		}
		o.full = append(o.full, o.tail)
		size = chainBlock
	} else if o.tail != nil {
		o.blocks.Put(o.tail)
	}
	o.tail = o.blocks.Get(max(n, size))[:0]
}

// SetTail stores the result of appending to what Tail returned. An append beyond the capacity is not lost: the bytes are
// taken into the chain by a copy.
func (o *Output) SetTail(b []byte) {
	if unsafe.SliceData(b) != unsafe.SliceData(o.tail) {
		o.adopt(b)
		return
	}
	o.n += len(b) - len(o.tail)
	o.tail = b
}

// adopt replaces the open block by a copy of b, which grew out of it.
func (o *Output) adopt(b []byte) {
	if invariants.Enabled && len(b) < len(o.tail) {
		invariants.Check(false, "tail of %d bytes replaced by %d", len(o.tail), len(b))
	}
	next := append(o.blocks.Get(max(len(b), OutputBlock))[:0], b...)
	o.n += len(b) - len(o.tail)
	if o.tail != nil {
		o.blocks.Put(o.tail)
	}
	o.tail = next
}

// Append copies p to the end of the chain. Prefer Tail and SetTail, which let a reply be built in place.
func (o *Output) Append(p []byte) {
	o.SetTail(append(o.Tail(len(p)), p...))
}

// Pieces returns the number of blocks with unwritten bytes.
func (o *Output) Pieces() int {
	n := len(o.full) - o.head
	if len(o.tail) > 0 {
		n++
	}
	return n
}

// First returns the unwritten bytes of the oldest block, empty when there are none.
func (o *Output) First() []byte {
	if o.head < len(o.full) {
		return o.full[o.head][o.off:]
	}
	return o.tail[o.off:]
}

// Vector appends the unwritten pieces in order to v, up to its capacity.
func (o *Output) Vector(v [][]byte) [][]byte {
	off := o.off
	for _, b := range o.full[o.head:] {
		if len(v) == cap(v) {
			return v
		}
		v = append(v, b[off:])
		off = 0
	}
	if len(v) < cap(v) && len(o.tail) > off {
		v = append(v, o.tail[off:])
	}
	return v
}

// Consume drops the first n unwritten bytes and gives the blocks that are written whole back.
func (o *Output) Consume(n int) {
	if invariants.Enabled && (n < 0 || n > o.n) {
		invariants.Check(false, "%d of %d bytes written", n, o.n)
	}
	if n == o.n {
		o.Release()
		return
	}
	o.n -= n
	o.off += n
	for o.head < len(o.full) && o.off >= len(o.full[o.head]) {
		o.off -= len(o.full[o.head])
		o.blocks.Put(o.full[o.head])
		o.full[o.head] = nil
		o.head++
	}
	if o.head == len(o.full) {
		o.full, o.head = o.full[:0], 0
	}
}

// Release forgets the unwritten bytes and gives every block back.
func (o *Output) Release() {
	if o.tail != nil {
		o.blocks.Put(o.tail)
		o.tail = nil
	}
	if o.full != nil {
		for i := o.head; i < len(o.full); i++ {
			o.blocks.Put(o.full[i])
		}
		clear(o.full)
		o.blocks.keepVector(o.full)
		o.full = nil
	}
	o.head, o.off, o.n = 0, 0, 0
}

// Swap exchanges the contents of two chains of the same store: a writer takes what has gathered and writes it without
// holding up those who append.
func (o *Output) Swap(other *Output) { *o, *other = *other, *o }
