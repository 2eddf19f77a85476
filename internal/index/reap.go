package index

import "math"

// reapStep is how many buckets one lock of a lane covers.
const reapStep = 64

// A Reaped says what a pass did.
type Reaped struct {
	Lanes   int   // lanes walked
	Visited int   // buckets looked at
	Records int   // records removed
	Next    int64 // lower bound in ms of the next deadline, 0 = nothing expires
}

// Reap removes the records whose time has come. Lanes in which nothing can have expired are not walked, nor are the
// records of buckets whose hint lies in the future. A lane is locked for reapStep buckets at a time. pace, if not nil, is
// called between steps without a lock of a lane and ends the pass by returning false. A second call waits for the first.
func (t *Table) Reap(pace func() bool) Reaped {
	t.reaping.Lock()
	defer t.reaping.Unlock()
	var out Reaped
	for i := range t.lanes {
		ln := &t.lanes[i]
		ln.mu.Lock()
		now := t.clk.Now()
		if t.closed.Load() || ln.earliest == 0 || ln.earliest > now {
			out.next(ln.earliest)
			ln.mu.Unlock()
			continue
		}
		out.Lanes++
		// What is armed from here on lowers earliest again.
		before := ln.earliest
		ln.earliest = 0
		for b := uint32(0); !t.closed.Load() && b < buckets(ln.route.Load()); b += reapStep {
			t.reapBuckets(ln, b, now, &out)
			ln.mu.Unlock()
			stop := pace != nil && !pace()
			ln.mu.Lock()
			if stop {
				ln.lower(before)
				out.next(before)
				ln.mu.Unlock()
				return out
			}
		}
		out.next(ln.earliest)
		ln.mu.Unlock()
	}
	return out
}

func (r *Reaped) next(at int64) {
	if at != 0 && (r.Next == 0 || at < r.Next) {
		r.Next = at
	}
}

func (t *Table) reapBuckets(ln *lane, first uint32, now int64, out *Reaped) {
	route := ln.route.Load()
	due := t.hintOf(now)
	for i := first; i < min(first+reapStep, buckets(route)); i++ {
		out.Visited++
		home := t.bucketAt(route, i)
		if home.hint == 0 {
			continue
		}
		if home.hint > due {
			// A lower bound is enough to know when to come again.
			ln.lower(t.birth + int64(home.hint)<<hintUnitBits)
			continue
		}
		t.reapChain(ln, home, now, out)
	}
}

func (ln *lane) lower(at int64) {
	if ln.earliest == 0 || at < ln.earliest {
		ln.earliest = at
	}
}

// reapChain removes what is due from a chain and makes its hint exact.
func (t *Table) reapChain(ln *lane, home *bucket, now int64, out *Reaped) {
	home.own()
	defer home.disown()
	earliest := int64(math.MaxInt64)
	for b := home; b != nil; {
		removed := false
		for i, tag := range b.tags {
			if tag == 0 {
				continue
			}
			ref := b.ref(i)
			rec := t.arena.At(ref)
			hdr := headerAt(rec)
			at := expiryAt(rec, hdr)
			if at == 0 {
				continue
			}
			if at > now {
				earliest = min(earliest, at)
				continue
			}
			t.remove(ln, &spot{home: home, at: entry{b, i}, ref: ref, rec: rec, hdr: hdr})
			ln.expired++
			out.Records++
			removed = true
			break
		}
		if removed {
			// The chain was compacted: begin again.
			b, earliest = home, math.MaxInt64
			continue
		}
		b = t.nextOf(b)
	}
	home.hint = 0
	if earliest != math.MaxInt64 {
		home.hint = t.hintOf(earliest)
		ln.lower(earliest)
	}
}

// SetWakeAt tells from which deadline on a writer need not call Options.Wake: the time, in ms, when Reap is called anyway;
// 0 = never.
func (t *Table) SetWakeAt(at int64) {
	if at == 0 {
		at = math.MaxInt64
	}
	t.wakeAt.Store(at)
}

// Wake calls Options.Wake.
func (t *Table) Wake() {
	if t.wakeFn != nil {
		t.wakeFn()
	}
}

// Nearest returns a lower bound, in ms, of the table's deadlines; 0 = nothing expires. It waits for a pass of Reap.
func (t *Table) Nearest() int64 {
	t.reaping.Lock()
	defer t.reaping.Unlock()
	var r Reaped
	for i := range t.lanes {
		ln := &t.lanes[i]
		ln.mu.Lock()
		r.next(ln.earliest)
		ln.mu.Unlock()
	}
	return r.Next
}
