package store

import (
	"time"

	"github.com/larder-cache/larder/internal/index"
	"github.com/larder-cache/larder/internal/memory"
)

// auditRounds is how often suspicions are looked at again: what is alive and merely moved is hardly suspected twice.
const auditRounds = 4

// An AuditReport says whether all memory that is in use belongs to somebody, and all that belongs to somebody is in use.
type AuditReport struct {
	Collections int
	Records     int64    // without those of busy lanes
	Cells       int64    // that records and indexes name, without those of busy lanes
	LostCells   int      // in use, and named by nobody
	LostBytes   int64    // of them
	Faults      []string // references to cells that are free, counts that do not fit; at most a hundred
	BusyLanes   int      // parts of collections that changed too often for their counts to be compared
	Rounds      int      // looks that were taken
	Took        time.Duration
}

// Healthy reports whether nothing is wrong.
func (r AuditReport) Healthy() bool { return r.LostCells == 0 && len(r.Faults) == 0 }

// Audit walks over all indexes and all memory while others work. What looks lost is looked at again before it is reported.
func (s *Store) Audit() (AuditReport, error) {
	begin := time.Now()
	pace := s.pacer()
	var (
		report AuditReport
		lost   map[memory.Ref]int
	)
	for report.Rounds < auditRounds {
		var sum index.Audited
		u := s.arena.NewAudit()
		// The list is taken after the notes of the audit: a collection whose cells are noted is in it.
		tables := s.tables()
		for _, t := range tables {
			if !t.Audit(u, pace, &sum) {
				return AuditReport{}, index.ErrClosed
			}
		}
		suspects := u.Unnamed()
		for r := range lost {
			if _, again := suspects[r]; !again {
				delete(lost, r)
			}
		}
		if report.Rounds == 0 {
			lost = suspects
		}
		report.Rounds++
		report.Records, report.Cells, report.BusyLanes = sum.Records, sum.Cells, sum.Busy
		report.Faults = sum.Faults
		report.Collections = len(tables) - s.unlistedCount()
		if len(lost) == 0 {
			break
		}
	}
	report.Faults = append(report.Faults, s.arena.CheckCounts()...)
	report.LostCells = len(lost)
	for _, n := range lost {
		report.LostBytes += int64(n)
	}
	report.Took = time.Since(begin)
	return report, nil
}

// tables returns those of all collections, the unlisted ones included.
func (s *Store) tables() []*index.Table {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := append([]*index.Table(nil), s.unlisted...)
	for _, c := range s.collections {
		list = append(list, c.Table)
	}
	return list
}

func (s *Store) unlistedCount() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.unlisted)
}
