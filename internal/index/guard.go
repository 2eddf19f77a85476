package index

import (
	"slices"
)

// A Guard locks several keys, of one or more tables, at once: for changes that must be seen by other writers as one. The
// zero value is ready; a Guard can be used again after Unlock and then allocates nothing.
//
// Lanes are locked in the order of table and lane number, whatever the order of Add, so two Guards never wait for each
// other.
type Guard struct {
	keys  []guarded
	lanes []*lane
	undos []undo
	saved []byte
}

type guarded struct {
	t    *Table
	h    uint64
	key  []byte
	home *bucket // owned since Txn; nil before, or when the table is closed
}

// Add names one more key. It must stay as it is until Unlock.
func (g *Guard) Add(t *Table, h uint64, key []byte) {
	g.keys = append(g.keys, guarded{t: t, h: h, key: key})
}

// Lock takes the lanes of all keys. Txn takes their chains; what holds a chain without its lane waits for nobody.
func (g *Guard) Lock() {
	for _, k := range g.keys {
		g.lanes = append(g.lanes, k.t.laneOf(k.h))
	}
	slices.SortFunc(g.lanes, func(a, b *lane) int {
		if a.table.id != b.table.id {
			if a.table.id < b.table.id {
				return -1
			}
			return 1
		}
		return int(a.number) - int(b.number)
	})
	g.lanes = slices.Compact(g.lanes)
	for _, ln := range g.lanes {
		ln.mu.Lock()
	}
}

// Txn returns access to the i-th key. It is valid until the next call of Txn or Unlock; its own Unlock is not called.
func (g *Guard) Txn(i int) *Txn {
	k := &g.keys[i]
	ln := k.t.laneOf(k.h)
	x := &ln.txn
	*x = Txn{t: k.t, ln: ln, h: k.h, key: k.key, closed: k.t.closed.Load()}
	if !x.closed {
		x.s = k.t.seek(ln, k.h, k.key)
		k.home = x.s.home
	}
	return x
}

// Unlock releases the lanes and forgets the keys.
func (g *Guard) Unlock() {
	for _, k := range g.keys {
		// Several keys may share a chain.
		if k.home != nil && k.home.isOwned() {
			k.home.disown()
		}
	}
	for _, k := range g.keys {
		if k.home != nil {
			k.t.grow(k.t.laneOf(k.h))
		}
	}
	wake := false
	for _, ln := range g.lanes {
		ln.txn = Txn{}
		wake, ln.wake = wake || ln.wake, false
		ln.mu.Unlock()
	}
	if wake {
		// Waking twice does no harm: which table's deadline came nearer is not kept.
		for _, ln := range g.lanes {
			ln.table.Wake()
		}
	}
	clear(g.lanes)
	clear(g.keys)
	g.keys, g.lanes = g.keys[:0], g.lanes[:0]
}
