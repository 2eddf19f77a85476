package netbuf

import "github.com/larder-cache/larder/internal/invariants"

const (
	// InputBlock is the usual block of an Input: about fifty small commands per read.
	InputBlock = 16 << 10

	// trustedFrame is the largest frame for which an announced length alone makes room in one step. Beyond it room
	// grows with what has arrived, eightfold per step, so that an announcement costs a client as much as it costs us.
	trustedFrame = 1 << 20
	growthFactor = 8

	// tailFraction makes a tail below 1/32 of the block count as full: reading into it would cost a system call for
	// less than moving the remainder does.
	tailFraction = 32
)

// Input is the queue of unread bytes of one connection. The zero value is empty and ready.
//
// Invariants: 0 <= off <= end <= len(buf); off == end implies both are 0.
type Input struct {
	buf      []byte
	off, end int
}

// Len returns the number of unread bytes.
func (q *Input) Len() int { return q.end - q.off }

// Bytes returns the unread bytes. The view is valid until the next Space or Release.
func (q *Input) Bytes() []byte { return q.buf[q.off:q.end:q.end] }

// Space returns the free tail to read into; it is never empty. need is the least number of bytes the frame at the head
// takes in all, 0 when unknown. size is the length of the block taken when the queue holds none and need does not ask for
// more.
func (q *Input) Space(b *Blocks, size, need int) []byte {
	if q.buf == nil {
		size = max(size, 1)
		room := q.room(size, need)
		q.buf = b.Get(room)
		if room == size {
			q.buf = q.buf[:size]
		}
		return q.buf
	}
	held, limit := q.end-q.off, len(q.buf)
	switch {
	case need > limit && (limit < trustedFrame || held == limit):
		q.grow(b, need)
	case held == limit:
		// The block is full of one frame whose size is not known yet.
		q.grow(b, limit+1)
	case q.off > 0 && (q.off+need > limit || limit-q.end <= limit/tailFraction):
		copy(q.buf, q.buf[q.off:q.end])
		b.moved += uint64(held)
		q.off, q.end = 0, held
	}
	if invariants.Enabled {
		q.check()
	}
	return q.buf[q.end:]
}

// room returns how large a block to take for a frame of need bytes, part of which is here, instead of one of size.
func (q *Input) room(size, need int) int {
	if need <= size {
		return size
	}
	return max(size, min(need, max(trustedFrame, growthFactor*q.Len())))
}

// grow replaces the block by a larger one for a frame of need bytes. The first step beyond a pooled block goes straight
// to the frame's size; a frame that keeps turning out larger doubles, so the bytes moved stay linear in those received.
func (q *Input) grow(b *Blocks, need int) {
	size := q.room(len(q.buf)+1, need)
	if len(q.buf) > MaxBlock || need == len(q.buf)+1 {
		size = max(size, 2*len(q.buf))
	}
	next := b.Get(size)
	held := copy(next, q.buf[q.off:q.end])
	b.moved += uint64(held)
	b.Put(q.buf)
	q.buf, q.off, q.end = next, 0, held
}

// Filled appends the first n bytes of what Space returned.
func (q *Input) Filled(n int) {
	if invariants.Enabled && (n < 0 || n > len(q.buf)-q.end) {
		invariants.Check(false, "%d bytes read into a tail of %d", n, len(q.buf)-q.end)
	}
	q.end += n
}

// Consume takes n bytes off the head. When nothing is left the block goes back to b.
func (q *Input) Consume(b *Blocks, n int) {
	if invariants.Enabled && (n < 0 || n > q.Len()) {
		invariants.Check(false, "%d of %d bytes consumed", n, q.Len())
	}
	q.off += n
	if q.off == q.end {
		q.Release(b)
	}
}

// Release forgets the unread bytes and gives the block back to b.
func (q *Input) Release(b *Blocks) {
	if q.buf != nil {
		b.Put(q.buf)
	}
	*q = Input{}
}

// check panics when an invariant of the queue is broken.
func (q *Input) check() {
	if q.off < 0 || q.off > q.end || q.end > len(q.buf) || (q.off == q.end && q.off != 0) {
		invariants.Check(false, "input off %d end %d of %d", q.off, q.end, len(q.buf))
	}
}
