package store

import (
	"time"

	"github.com/larder-cache/larder/internal/index"
)

// longestSleep is how long the reaper sleeps at most while some record has a deadline.
const longestSleep = 24 * time.Hour

// wakeReaper is called by tables when a deadline comes nearer than what the reaper waits for.
func (s *Store) wakeReaper() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Store) reapLoop() {
	defer close(s.stopped)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		next := s.schedule()
		if next != 0 {
			// A deadline may lie farther away than a Duration reaches.
			wait := min(max(next-s.clk.Now(), 0), longestSleep.Milliseconds())
			timer.Reset(time.Duration(wait) * time.Millisecond)
		} else {
			timer.Stop()
		}
		select {
		case <-s.stop:
			return
		case <-s.wake:
			continue // look again which deadline is the nearest
		case <-timer.C:
		}
		begin := time.Now()
		s.reap(func() bool {
			select {
			case <-s.stop:
				return false
			default:
				return true
			}
		})
		rest := max(reapEvery, time.Duration(reapRest*float64(time.Since(begin))))
		timer.Reset(rest)
		select {
		case <-s.stop:
			return
		case <-timer.C:
		}
	}
}

// schedule finds the nearest deadline of all tables, in ms, and tells the tables that earlier ones must be announced.
func (s *Store) schedule() int64 {
	list := s.Collections()
	nearest := int64(0)
	for _, c := range list {
		// From here on a deadline that comes in wakes the reaper; one that came in before is seen by Nearest.
		c.SetWakeAt(0)
		if at := c.Nearest(); at != 0 && (nearest == 0 || at < nearest) {
			nearest = at
		}
	}
	for _, c := range list {
		c.SetWakeAt(nearest)
	}
	return nearest
}

func (s *Store) reap(pace func() bool) (sum index.Reaped) {
	s.passes.Add(1)
	for _, c := range s.Collections() {
		r := c.Reap(pace)
		sum.Lanes += r.Lanes
		sum.Visited += r.Visited
		sum.Records += r.Records
		if r.Next != 0 && (sum.Next == 0 || r.Next < sum.Next) {
			sum.Next = r.Next
		}
	}
	s.visited.Add(uint64(sum.Visited))
	return sum
}

// Reap runs one pass of the reaper now: for stores with a manual clock, which have no goroutine for it.
func (s *Store) Reap() index.Reaped { return s.reap(nil) }
