package memory

import (
	"errors"
	"fmt"
)

// HugePages says which pages to ask for.
type HugePages uint8

const (
	// HugePagesAuto takes for each group the best that the system gives: see Tier.
	HugePagesAuto HugePages = iota
	// HugePagesOff takes ordinary pages.
	HugePagesOff
	// HugePagesRequire makes New fail when the first group gets ordinary pages. Later groups are as with HugePagesAuto: a
	// cache that is running does better with slower pages than with none.
	HugePagesRequire
)

// ErrHugePages is returned by New when huge pages are required and not to be had.
var ErrHugePages = errors.New("no huge pages")

// ErrLock is returned by New when memory is to be locked and the system refuses that.
var ErrLock = errors.New("memory cannot be locked")

// A Tier is the kind of pages behind a group, from the best to the plainest.
type Tier uint8

const (
	// TierHugetlb is a page of the system's reserved pool (vm.nr_hugepages, vm.nr_overcommit_hugepages).
	TierHugetlb Tier = iota
	// TierTHP is a transparent huge page, given by the first access.
	TierTHP
	// TierCollapsed is a transparent huge page, made of ordinary ones afterwards (MADV_COLLAPSE, Linux 6.1).
	TierCollapsed
	// Tier4K is ordinary pages.
	Tier4K
	// TierHeap is the Go heap, in builds that have no mapping.
	TierHeap
	// Tiers is their number.
	Tiers = 5
)

var tierNames = [Tiers]string{"hugetlb", "thp", "collapse", "4k", "heap"}

// String returns the name that is shown to users.
func (t Tier) String() string { return tierNames[t] }

// lookEvery is how often, in ms, the system's pool of huge pages is looked at again when it had nothing for us.
const lookEvery = 10_000

// verify tries to make huge pages of the groups that came since the last call and did not bring them along.
func (a *Arena) verify(now int64) {
	p := &a.pool
	p.mu.Lock()
	list := p.fresh
	p.fresh = nil
	p.mu.Unlock()
	if len(list) == 0 {
		return
	}
	if now-a.reclaim.looked >= lookEvery || a.reclaim.looked == 0 {
		a.reclaim.looked = now
		a.mapping.lookForPool()
	}
	for _, g := range list {
		p.mu.Lock()
		group := &p.groups[g]
		if group.state == warm && group.tier != TierHugetlb {
			p.collapsing = g
			p.mu.Unlock()
			tier := a.mapping.collapse(g)
			p.mu.Lock()
			p.collapsing = -1
			p.arrived.Broadcast()
			group.tier, p.latest = tier, tier
			if tier == Tier4K {
				p.degraded++
			}
		}
		p.mu.Unlock()
	}
}

// first brings the first group, so that what the options ask for and the system refuses is known at once.
func (a *Arena) first(o Options) error {
	p := &a.pool
	p.mu.Lock()
	p.bring()
	p.mu.Unlock()
	if err := a.mapping.lockError(); err != nil {
		return fmt.Errorf("%w: %w (see ulimit -l)", ErrLock, err)
	}
	a.verify(0)
	a.reclaim.looked = 0
	if tier := a.Tier(); o.HugePages == HugePagesRequire && tier == Tier4K {
		return fmt.Errorf("%w: the pool has none free and the system makes none (vm.nr_hugepages, transparent_hugepage)", ErrHugePages)
	}
	return nil
}

// Tier returns the tier that most of the groups in use have, that of the last one when none is in use.
func (a *Arena) Tier() Tier {
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	return a.pool.mostTier()
}

func (p *pool) mostTier() Tier {
	counts, most := p.tiers(), p.latest
	for t, n := range counts {
		if n > counts[most] {
			most = Tier(t)
		}
	}
	return most
}

// tiers counts the warm groups of each tier.
func (p *pool) tiers() (n [Tiers]int64) {
	for g := range p.touched {
		if p.groups[g].state == warm {
			n[p.groups[g].tier]++
		}
	}
	return n
}
