package index

import (
	"fmt"
	"runtime"

	"github.com/larder-cache/larder/internal/memory"
)

// An Audited says what an audit of tables saw.
type Audited struct {
	Records int64    // of lanes that were counted
	Cells   int64    // that records and indexes of these lanes name
	Busy    int      // lanes that changed too often to be counted
	Faults  []string // references to free cells, counts that are wrong; at most maxFaults
}

// maxFaults bounds a report: a hundred faults say what more would say.
const maxFaults = 100

func (r *Audited) complain(format string, args ...any) {
	if len(r.Faults) < maxFaults {
		r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
	}
}

// Audit names every cell of the table to u, and compares the counts of each lane with what is there. A lane is locked for
// evacuateStep buckets at a time; pace, if not nil, is called between steps without a lock and ends the audit by returning
// false.
func (t *Table) Audit(u *memory.Audit, pace func() bool, out *Audited) bool {
	defer runtime.KeepAlive(t)
	for i := range t.lanes {
		counted := false
		for try := 0; try < 3 && !counted; try++ {
			var ok bool
			if counted, ok = t.auditLane(u, &t.lanes[i], pace, out); !ok {
				return false
			}
		}
		if !counted {
			out.Busy++
		}
	}
	return true
}

// auditLane walks over one lane. It reports whether the lane stood still, so that its counts could be compared, and whether
// to go on.
func (t *Table) auditLane(u *memory.Audit, ln *lane, pace func() bool, out *Audited) (still, goOn bool) {
	cells := int64(0)
	name := func(r memory.Ref, n int, what string) bool {
		cells++
		err := u.Name(r, n)
		if err != nil {
			out.complain("lane %d: %s: %v", ln.number, what, err)
		}
		return err == nil
	}
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if t.closed.Load() {
		return true, false
	}
	changes := ln.changes
	var sum laneSum
	t.auditIndex(ln, name)
	for b := uint32(0); b < buckets(ln.route.Load()); b += evacuateStep {
		route := ln.route.Load()
		for i := b; i < min(b+evacuateStep, buckets(route)); i++ {
			t.auditChain(t.bucketAt(route, i), name, &sum)
		}
		ln.mu.Unlock()
		ok := pace == nil || pace()
		ln.mu.Lock()
		if !ok || t.closed.Load() {
			return true, false
		}
	}
	if changes != ln.changes {
		return false, true
	}
	out.Records += sum.records
	out.Cells += cells
	if sum != (laneSum{ln.records, ln.overflow}) {
		out.complain("lane %d: %d records and %d overflow buckets, its counts say %d and %d",
			ln.number, sum.records, sum.overflow, ln.records, ln.overflow)
	}
	return true, true
}

type laneSum struct{ records, overflow int64 }

// auditIndex names directories and segments.
func (t *Table) auditIndex(ln *lane, name func(memory.Ref, int, string) bool) {
	size := firstDirectory * 4
	for _, dir := range ln.directories {
		if dir != 0 {
			name(dir, size, "directory")
			size *= directoryStep
		}
	}
	dir := memory.Ref(ln.route.Load() >> 32)
	for s := range ln.segments {
		name(t.segment(dir, s), segmentSize, "segment")
	}
}

// auditChain names the cells of a chain.
func (t *Table) auditChain(home *bucket, name func(memory.Ref, int, string) bool, sum *laneSum) {
	home.own()
	defer home.disown()
	for b := home; b != nil; b = t.nextOf(b) {
		if r := b.next(); r != 0 {
			name(r, bucketSize, "overflow bucket")
			sum.overflow++
		}
		for i, tag := range b.tags {
			if tag == 0 {
				continue
			}
			sum.records++
			r := b.ref(i)
			if !t.arena.Valid(r) {
				name(r, 0, "record")
				continue
			}
			rec := t.arena.At(r)
			hdr := headerAt(rec)
			if hdr&recLarge == 0 {
				name(r, prefix(hdr)+payloadLen(hdr), "record")
				continue
			}
			c := chunkingOf(payloadLen(hdr))
			if !name(r, c.headSize(), "head") {
				continue // what would be its chunks is nonsense
			}
			for i := range c.count() {
				name(memory.Ref(*chunkSlot(rec, i)), c.size(i), "chunk")
			}
		}
	}
}
