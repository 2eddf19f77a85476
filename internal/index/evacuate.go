package index

import (
	"runtime"

	"github.com/larder-cache/larder/internal/memory"
)

const (
	// evacuateStep is how many buckets one lock of a lane covers at most.
	evacuateStep = 64
	// evacuateBytes is what a step moves before it lets others in.
	evacuateBytes = 64 << 10
)

// An Evacuated says what a pass did.
type Evacuated struct {
	Cells int   // cells moved
	Bytes int64 // of them
	Full  bool  // the pass ended early because the memory limit left no cell to move to
}

// Evacuate moves records, and parts of large ones, out of the slots that the arena wants to empty (memory.Arena.Sparse).
// Readers go on: what they copied from the old cell is worth nothing when the version has changed, and the cell is freed
// after that. A lane is locked for at most evacuateStep buckets or about evacuateBytes at a time; pace, if not nil, is
// called between steps without a lock and ends the pass by returning false.
//
// Each lane gives its free cells back before its records are moved, so no lane can hand out a cell of such a slot behind
// the pass. What a split moves meanwhile goes to a bucket that the pass has not reached.
func (t *Table) Evacuate(pace func() bool) (out Evacuated) {
	defer runtime.KeepAlive(t)
	for i := range t.lanes {
		ln := &t.lanes[i]
		ln.mu.Lock()
		ln.magazines.Flush(t.arena)
		for b := uint32(0); !t.closed.Load() && !out.Full && b < buckets(ln.route.Load()); {
			b = t.evacuateBuckets(ln, b, &out)
			ln.mu.Unlock()
			if pace != nil && !pace() {
				return out
			}
			ln.mu.Lock()
		}
		ln.mu.Unlock()
	}
	return out
}

// evacuateBuckets does one step from bucket first on and returns the bucket to go on with.
func (t *Table) evacuateBuckets(ln *lane, first uint32, out *Evacuated) uint32 {
	route := ln.route.Load()
	until := out.Bytes + evacuateBytes
	i := first
	for ; i < min(first+evacuateStep, buckets(route)) && out.Bytes < until && !out.Full; i++ {
		t.evacuateChain(ln, t.bucketAt(route, i), out)
	}
	return i
}

// evacuateChain looks at the references of a chain only, until one of them is to be moved: the lane's lock keeps them as
// they are.
func (t *Table) evacuateChain(ln *lane, home *bucket, out *Evacuated) {
	for b := home; b != nil; b = t.nextOf(b) {
		for i, tag := range b.tags {
			if tag == 0 {
				continue
			}
			if t.arena.Sparse(b.ref(i)) {
				t.moveRecord(ln, home, entry{b, i}, out)
			}
			if t.arena.ClassOf(b.ref(i)).IsHead() {
				t.moveChunks(ln, home, b.ref(i), out)
			}
		}
	}
}

// moveRecord gives the record at e, or the head of a large one, another cell.
func (t *Table) moveRecord(ln *lane, home *bucket, e entry, out *Evacuated) {
	home.own()
	defer home.disown()
	old := e.b.ref(e.i)
	rec := t.arena.At(old)
	hdr := headerAt(rec)
	n := prefix(hdr) + payloadLen(hdr)
	class := memory.ClassFor(n)
	if hdr&recLarge != 0 {
		n = chunkingOf(payloadLen(hdr)).headSize()
		class = memory.HeadClassFor(n)
	}
	ref := t.move(ln, class, old, n, out)
	if ref == 0 {
		return
	}
	home.begin()
	e.set(e.b.tags[e.i], ref)
	home.end()
	t.free(ln, old)
	t.verify(ln, home)
}

// moveChunks gives other cells to the chunks of a large record that are to be moved.
func (t *Table) moveChunks(ln *lane, home *bucket, head memory.Ref, out *Evacuated) {
	rec := t.arena.At(head)
	c := chunkingOf(payloadLen(headerAt(rec)))
	for i := range c.count() {
		old := memory.Ref(*chunkSlot(rec, i))
		if !t.arena.Sparse(old) {
			continue
		}
		home.own()
		if ref := t.move(ln, memory.ClassFor(c.size(i)), old, c.size(i), out); ref != 0 {
			home.begin()
			*chunkSlot(rec, i) = uint32(ref)
			home.end()
			t.free(ln, old)
		}
		home.disown()
	}
}

// move copies n bytes of a cell to a new one and returns that, 0 at the memory limit. The chain is owned, so nobody
// writes to the old one.
func (t *Table) move(ln *lane, c memory.Class, old memory.Ref, n int, out *Evacuated) memory.Ref {
	ref := ln.magazines.AllocSpare(t.arena, c)
	if ref == 0 {
		out.Full = true
		return 0
	}
	copy(bytesAt(t.arena.At(ref), 0, n), bytesAt(t.arena.At(old), 0, n))
	t.arena.Moved(old, ref)
	out.Cells++
	out.Bytes += int64(n)
	return ref
}
