package index

import "github.com/larder-cache/larder/internal/memory"

// An undo says how to take one write of PutAll back without needing memory.
type undo struct {
	kind  undoKind
	ref   memory.Ref // of the record that was replaced, kept until the end
	hdr   uint64
	saved int // where the bytes of a record begin that was written over
}

type undoKind uint8

const (
	undoInsert undoKind = iota
	undoReplace
	undoOverwrite
)

// PutAll stores values[i*step] under the i-th key of the Guard, for all keys or, with an error, for none. It is called
// between Lock and Unlock. Of a key that was added twice the later value stays.
func (g *Guard) PutAll(values [][]byte, step int) error {
	for i, k := range g.keys {
		switch {
		case k.t.closed.Load():
			return ErrClosed
		case len(k.key) > k.t.maxKey:
			return ErrKeyTooLarge
		case len(values[i*step]) > k.t.maxValue:
			return ErrValueTooLarge
		}
	}
	defer func() {
		clear(g.undos)
		g.undos = g.undos[:0]
		if cap(g.saved) > keptGathering {
			g.saved = nil
		}
		g.saved = g.saved[:0]
	}()
	for i := range g.keys {
		if err := g.put(i, values[i*step]); err != nil {
			for n := len(g.undos) - 1; n >= 0; n-- {
				g.undo(n)
			}
			return err
		}
	}
	for i, u := range g.undos {
		if u.kind == undoReplace {
			k := &g.keys[i]
			k.t.freeRecord(k.t.laneOf(k.h), u.ref, u.hdr)
		}
	}
	return nil
}

// put stores one value and notes how to take that back.
func (g *Guard) put(i int, value []byte) error {
	x := g.Txn(i)
	t, ln, s := x.t, x.ln, &x.s
	hdr := headerOf(x.key, value, 0, 0)
	var u undo
	if s.rec != nil && !s.expired {
		u = undo{kind: undoReplace, ref: s.ref, hdr: s.hdr}
		// Only a small record is copied to be kept.
		if (s.hdr|hdr)&recLarge == 0 && fitsOver(s.hdr, hdr) {
			u.kind, u.saved = undoOverwrite, len(g.saved)
			g.saved = append(g.saved, bytesAt(s.rec, 0, prefix(s.hdr)+payloadLen(s.hdr))...)
		}
	}
	if u.kind != undoReplace {
		if err := t.put(ln, s, x.h, x.key, value, 0, 0); err != nil {
			return err
		}
	} else {
		ref := t.build(ln, hdr, x.key, value, 0)
		if ref == 0 {
			return ErrFull
		}
		t.replace(ln, s, ref, hdr, 0)
		t.verify(ln, s.home)
	}
	g.undos = append(g.undos, u)
	return nil
}

// undo takes the write of key i back. Those after it are taken back already.
func (g *Guard) undo(i int) {
	x, u := g.Txn(i), g.undos[i]
	t, ln, s := x.t, x.ln, &x.s
	switch u.kind {
	case undoInsert:
		t.remove(ln, s)
	case undoReplace:
		t.replace(ln, s, u.ref, u.hdr, expiryAt(t.arena.At(u.ref), u.hdr))
		t.freeRecord(ln, s.ref, s.hdr)
	case undoOverwrite:
		old := g.saved[u.saved : u.saved+prefix(u.hdr)+payloadLen(u.hdr)]
		s.home.begin()
		copy(bytesAt(s.rec, 0, len(old)), old)
		t.account(ln, s.home, 0, expiryAt(s.rec, u.hdr), 0)
		s.home.end()
	}
	t.verify(ln, s.home)
}
