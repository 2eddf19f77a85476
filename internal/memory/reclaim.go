package memory

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Reclaim says how memory goes back to the system. See DefaultReclaim.
type Reclaim struct {
	KeepPerClass int           // drained slots that a class keeps while the arena is busy
	Quiet        time.Duration // time without a slot being handed out, after which reclaiming begins
	CoolOff      time.Duration // time for which a group was wholly free before it is given back
	KeepAll      bool          // groups are not given back
	Floor        int64         // bytes that stay, once they were taken
	MaxPerTick   int64         // most bytes given back in one tick; 0 = an eighth of the limit
}

// DefaultReclaim is what suits most.
var DefaultReclaim = Reclaim{KeepPerClass: 1, Quiet: 5 * time.Second, CoolOff: 10 * time.Second}

// WithDefaults returns r with the values of DefaultReclaim for zeros; KeepPerClass -1 stays none.
func (r Reclaim) WithDefaults() Reclaim {
	if r.KeepPerClass == 0 {
		r.KeepPerClass = DefaultReclaim.KeepPerClass
	}
	if r.Quiet == 0 {
		r.Quiet = DefaultReclaim.Quiet
	}
	if r.CoolOff == 0 {
		r.CoolOff = DefaultReclaim.CoolOff
	}
	return r
}

const (
	tickEvery = time.Second
	// backlogEvery is the time between ticks that give as much back as they may.
	backlogEvery = 250 * time.Millisecond

	// Emptying magazines that pin slots is repeated at this interval, which doubles while it does not help.
	flushFirst = time.Second
	flushMost  = 600 * time.Second
	// flushAgain is the growth of slack in bytes that makes it worth another try at once.
	flushAgain = GroupSize

	// longestRun is the most groups that one call gives back: nobody who waits for a group waits for more.
	longestRun = 16
)

// reclaim is the state of the policy. Tick is its only user, but for what is atomic.
type reclaim struct {
	Reclaim

	sleeping atomic.Bool // cells that come back must call wake
	wake     func()

	mu       sync.Mutex
	looked   int64  // ms: when the system's pool of huge pages was looked at
	carves   uint64 // as of the last tick
	carved   int64  // ms: when they changed
	puts     uint64 // as of the last look at the classes, with those of flushing
	own      uint64 // puts of the running tick's flushing
	flushed  int64  // ms: when magazines were emptied
	interval time.Duration
	slack    int64 // bytes, after the last flush that did not help
	victims  []int // slots that are being emptied

	// Read by statistics, which must not wait for a tick.
	retired, evacuated atomic.Uint64 // slots
	released           atomic.Uint64 // bytes
	ticks, flushes     atomic.Uint64
	calls, refused     atomic.Uint64 // to give back
}

// SetWake names what is called when there is work for Tick and Tick said to sleep. It must not block and takes no lock of
// this package: it is called with locks held. To be called before the arena is used.
func (a *Arena) SetWake(f func()) { a.reclaim.wake = f }

// note is called when cells came back.
func (r *reclaim) note() {
	if r.sleeping.Load() && r.sleeping.CompareAndSwap(true, false) && r.wake != nil {
		r.wake()
	}
}

// Forever as the result of Tick says that nothing is left to do until the arena wakes its user.
const Forever = time.Duration(math.MaxInt64)

// Tick does what is due at now, in ms on any clock that only grows, and returns when to call it again. With evacuate the
// caller must move the cells for which Sparse is true, or some of them, before it calls EndEvacuation.
func (a *Arena) Tick(now int64) (again time.Duration, evacuate bool) {
	r := &a.reclaim
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ticks.Add(1)
	a.verify(now)
	r.own = 0
	puts, slack := a.sumClasses()
	p := &a.pool
	p.mu.Lock()
	carves, whole := p.carves, p.whole.n
	p.mu.Unlock()
	if carves != r.carves || r.carved == 0 {
		r.carves, r.carved = carves, now
	}
	rest := r.Quiet - time.Duration(now-r.carved)*time.Millisecond
	if rest > 0 && (puts != r.puts || whole > 0) {
		return min(rest, tickEvery), false
	}
	again = Forever
	if puts != r.puts {
		if slack > r.slack+flushAgain {
			r.interval = 0
		}
		rest = r.interval - time.Duration(now-r.flushed)*time.Millisecond
		if rest > 0 {
			again = max(rest, tickEvery)
		} else {
			r.puts = puts
			helped := a.dropDrained()
			helped += a.flushMagazines()
			r.flushed = now
			if r.victims = a.choose(); len(r.victims) > 0 {
				return 0, true
			}
			a.helped(helped > 0)
		}
	}
	if rest := a.giveBackDue(now); rest >= 0 {
		again = min(again, max(rest, backlogEvery))
	}
	if again > tickEvery {
		// What comes back from here on wakes; what came back since the start of the tick is seen now.
		r.sleeping.Store(true)
		p.mu.Lock()
		fresh := len(p.fresh)
		p.mu.Unlock()
		if now, _ := a.sumClasses(); now != puts+r.own || fresh > 0 {
			r.sleeping.Store(false)
			again = tickEvery
		}
	}
	return again, false
}

// helped sets the time until magazines are emptied, and slots chosen, the next time: at once when that freed something, or
// else later and later.
func (a *Arena) helped(yes bool) {
	r := &a.reclaim
	if yes {
		r.interval, r.slack = 0, 0
		return
	}
	r.interval = min(max(2*r.interval, flushFirst), flushMost)
	_, r.slack = a.sumClasses()
}

// sumClasses returns how often cells came back to classes, and the bytes in slots of classes that are no handed out cells.
func (a *Arena) sumClasses() (puts uint64, slack int64) {
	for c := range a.classes {
		k := &a.classes[c]
		k.mu.Lock()
		puts += k.puts
		slack += int64(k.slots)*SlotSize - k.out*int64(a.shapes[c].size)
		k.mu.Unlock()
	}
	return puts, slack
}

// flushMagazines empties the magazines of all owners, one after the other, and returns how many slots that retired.
func (a *Arena) flushMagazines() int {
	r := &a.reclaim
	before := r.retired.Load()
	r.flushes.Add(1)
	a.relief.mu.Lock()
	owners := a.relief.owners
	a.relief.mu.Unlock()
	for _, o := range owners {
		o.Lock()
		_, calls := o.Magazines().Flush(a)
		o.Unlock()
		r.own += uint64(calls)
		r.puts += uint64(calls)
	}
	a.dropDrained()
	return int(r.retired.Load() - before)
}

// giveBackDue gives groups back that were free for long enough, and returns the time until there are more, negative when
// none is free.
func (a *Arena) giveBackDue(now int64) time.Duration {
	r, p := &a.reclaim, &a.pool
	if r.KeepAll {
		return -1
	}
	budget := r.MaxPerTick
	if budget == 0 {
		budget = max(a.limit/8, GroupSize)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	next := time.Duration(-1)
	if p.whole.n == 0 {
		return next
	}
	soon := func(d time.Duration) {
		if next < 0 || d < next {
			next = d
		}
	}
	due := func(g int) bool {
		group := &p.groups[g]
		if group.state != warm || group.free != allFree {
			return false
		}
		if group.since == 0 {
			group.since = now
			if group.pinned {
				group.since += pinnedRest.Milliseconds() - r.CoolOff.Milliseconds()
			}
		}
		rest := r.CoolOff - time.Duration(now-group.since)*time.Millisecond
		if rest > 0 {
			soon(rest)
			return false
		}
		return true
	}
	var run []int
	// From the top: what stays is low.
	for g := p.touched - 1; g >= 0; g-- {
		if p.held()-int64(len(run)+1)*GroupSize < r.Floor {
			break
		}
		taken := due(g)
		if taken && budget < GroupSize {
			soon(backlogEvery)
			break
		}
		if taken {
			run = append(run, g)
			budget -= GroupSize
		}
		if len(run) > 0 && (!taken || len(run) == longestRun || g == 0) {
			a.releaseDown(run)
			run = run[:0]
		}
	}
	if len(run) > 0 {
		a.releaseDown(run)
	}
	return next
}

// pinnedRest is how long a group is left alone that the system refused to take.
const pinnedRest = 10 * time.Minute

// releaseDown gives groups back that lie one below the other. The pool is locked.
func (a *Arena) releaseDown(down []int) {
	up := slices.Clone(down)
	slices.Reverse(up)
	a.release(up)
}
