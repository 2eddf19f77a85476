package store

import (
	"time"

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
			s.report(time.Since(start))
			timer.Reset(reclaimRest)
			continue
		case <-timer.C:
		}
		again := s.reclaim(time.Since(start).Milliseconds()+1, s.pacer())
		if again = min(again, s.report(time.Since(start))); again != memory.Forever {
			timer.Reset(again)
		}
	}
}

// complaintRest is the least time between two lines of the log about one thing.
const complaintRest = 10 * time.Second

// A complaint is something that happens often when it happens, and is logged at most once per complaintRest.
type complaint struct {
	text  string
	count func(memory.Stats) uint64
	once  bool // logged one time ever

	seen, logged uint64
	at           time.Duration // of the last line
}

func newComplaints() []*complaint {
	return []*complaint{
		{text: "memory limit reached, writes refused", count: func(s memory.Stats) uint64 { return s.Refused }},
		{text: "the system gives no memory although the limit allows it", count: func(s memory.Stats) uint64 { return s.NoMemory }},
		{text: "memory degraded: ordinary pages instead of huge ones", count: func(s memory.Stats) uint64 { return s.Degraded }, once: true},
		{text: "the system's pool of huge pages is empty", count: func(s memory.Stats) uint64 { return s.PoolEmpty }},
		{text: "the system refuses to take memory back", count: func(s memory.Stats) uint64 { return s.Pinned }, once: true},
		{text: "memory freed that was not in use: a defect", count: func(s memory.Stats) uint64 { return s.BadFrees }},
	}
}

// report logs what the arena met since the last time. It returns when to look again, at the latest: memory.Forever when
// nothing waits to be logged.
func (s *Store) report(now time.Duration) time.Duration {
	again := memory.Forever
	stats := s.arena.Stats()
	for _, c := range s.complaints {
		c.seen = c.count(stats)
		if c.seen == c.logged || c.once && c.logged > 0 {
			continue
		}
		if rest := complaintRest - (now - c.at); c.logged > 0 && rest > 0 {
			again = min(again, rest)
			continue
		}
		s.log.Warn(c.text, "times", c.seen-c.logged, "held", stats.Held, "limit", stats.Limit)
		c.logged, c.at = c.seen, now
	}
	return again
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
		for _, t := range s.tables() {
			e := t.Evacuate(pace)
			s.moved.Add(uint64(e.Cells))
			if e.Full {
				break
			}
		}
		emptied := s.arena.EndEvacuation()
		if emptied == 0 || s.Closed() {
			return reclaimRest
		}
	}
}

// Reclaim does now what the reclaimer would do at that moment of the store's clock: for stores with a manual one, which
// have no goroutine for it. It returns when to come again.
func (s *Store) Reclaim() time.Duration { return s.reclaim(s.clk.Now(), nil) }
