package index

import (
	"fmt"
	"math/bits"

	"github.com/larder-cache/larder/internal/invariants"
)

// Check verifies every bucket and count of the table and returns the first contradiction. Nobody may write meanwhile.
func (t *Table) Check() error {
	for i := range t.lanes {
		ln := &t.lanes[i]
		ln.mu.Lock()
		_, err := t.checkLane(ln)
		ln.mu.Unlock()
		if err != nil {
			return fmt.Errorf("lane %d: %w", i, err)
		}
	}
	return nil
}

func (t *Table) checkLane(ln *lane) (int64, error) {
	route := ln.route.Load()
	var records, expiring, overflow, bytes int64
	for i := range buckets(route) {
		home := t.bucketAt(route, i)
		if home.version&(writing|owned) != 0 {
			return 0, fmt.Errorf("bucket %d is left at version %d", i, home.version)
		}
		earliest := int64(0)
		for b := home; b != nil; b = t.nextOf(b) {
			if b != home {
				overflow++
			}
			for k, tag := range b.tags {
				if (tag == 0) != (b.refs[k] == 0) {
					return 0, fmt.Errorf("bucket %d entry %d: tag %d, reference %d", i, k, tag, b.refs[k])
				}
				if tag == 0 {
					continue
				}
				rec := t.arena.At(b.ref(k))
				hdr := headerAt(rec)
				h := t.hashRecord(rec)
				if tagOf(h) != tag || t.laneOf(h) != ln || bucketOf(h, buckets(route)) != i {
					return 0, fmt.Errorf("bucket %d entry %d: a record that does not belong there", i, k)
				}
				if no, _ := interval(positionOf(h), buckets(route)); no != i && bits.Len32(buckets(route)) <= positionBits {
					return 0, fmt.Errorf("bucket %d entry %d: a walk finds it in bucket %d", i, k, no)
				}
				records++
				bytes += t.cellBytes(hdr)
				if at := expiryAt(rec, hdr); at != 0 {
					expiring++
					if earliest == 0 || at < earliest {
						earliest = at
					}
				}
			}
		}
		if earliest != 0 && (home.hint == 0 || home.hint > t.hintOf(earliest) || ln.earliest == 0 || ln.earliest > earliest) {
			return 0, fmt.Errorf("bucket %d: earliest expiry %d, hint %d, lane says %d", i, earliest, home.hint, ln.earliest)
		}
	}
	if records != ln.records || expiring != ln.expiring || overflow != ln.overflow || bytes != ln.bytes {
		return 0, fmt.Errorf("counted %d records, %d expiring, %d overflow, %d bytes; the lane says %d, %d, %d, %d",
			records, expiring, overflow, bytes, ln.records, ln.expiring, ln.overflow, ln.bytes)
	}
	return records, nil
}

// checkChain panics when a chain contradicts itself. The lane is locked.
func (t *Table) checkChain(ln *lane, home *bucket) {
	invariants.Check(home.version&(writing|owned) == owned, "version %d after a change", home.version)
	for b := home; b != nil; b = t.nextOf(b) {
		used := 0
		for k, tag := range b.tags {
			invariants.Check((tag == 0) == (b.refs[k] == 0), "entry %d: tag %d, reference %d", k, tag, b.refs[k])
			if tag == 0 {
				continue
			}
			used++
			h := t.hashRecord(t.arena.At(b.ref(k)))
			invariants.Check(tagOf(h) == tag && t.laneOf(h) == ln && t.home(ln, h) == home, "entry %d does not belong here", k)
		}
		invariants.Check(b == home || used > 0, "an empty overflow bucket is linked")
	}
}
