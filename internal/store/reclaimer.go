package store

import (
	"time"

	"github.com/larder-cache/larder/internal/index"
	"github.com/larder-cache/larder/internal/memory"
)

const (
	// reclaimRest is the least time between a wake-up and the work.
	reclaimRest = time.Second
	// evacuateWork is how long records are moved at a time; the pause after it is reapRest times as long.
	evacuateWork = time.Millisecond
)

// wakeReclaimer is called by the arena, with locks held, when cells come back after it had nothing to do.
func (s *Store) wakeReclaimer() {
	select {
	case s.reclaimWake <- struct{}{}:
	default:
	}
}

// reclaimLoop gives memory back. It sleeps for ever when there is nothing to give.
func (s *Store) reclaimLoop() {
	defer close(s.reclaimerStopped)
	start := time.Now()
	timer := time.NewTimer(reclaimRest)
	defer timer.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-s.reclaimWake:
			timer.Reset(reclaimRest)
			continue
		case <-timer.C:
		}
		if again := s.reclaim(time.Since(start).Milliseconds()+1, s.pacer()); again != memory.Forever {
			timer.Reset(again)
		}
	}
}

// pacer returns a function that is called between small steps of work: it rests often enough that others hardly notice,
// and returns false when the store closes.
func (s *Store) pacer() func() bool {
	begin := time.Now()
	return func() bool {
		work := time.Since(begin)
		if work < evacuateWork {
			return true
		}
		timer := time.NewTimer(time.Duration(reapRest * float64(work)))
		defer timer.Stop()
		select {
		case <-s.stop:
			return false
		case <-timer.C:
		}
		begin = time.Now()
		return true
	}
}

// reclaim does what is due at now and returns when to come again.
func (s *Store) reclaim(now int64, pace func() bool) time.Duration {
	for {
		again, evacuate := s.arena.Tick(now)
		if !evacuate {
			return again
		}
		var sum index.Evacuated
		for _, c := range s.Collections() {
			e := c.Evacuate(pace)
			sum.Cells += e.Cells
			if sum.Full = e.Full; sum.Full {
				break
			}
		}
		s.moved.Add(uint64(sum.Cells))
		emptied := s.arena.EndEvacuation()
		if emptied == 0 || s.Closed() {
			return reclaimRest
		}
	}
}

// Reclaim does now what the reclaimer would do at that moment of the store's clock: for stores with a manual one, which
// have no goroutine for it. It returns when to come again.
func (s *Store) Reclaim() time.Duration { return s.reclaim(s.clk.Now(), nil) }
