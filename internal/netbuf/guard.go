package netbuf

import (
	"bytes"
	"sync"
	"unsafe"

	"github.com/larder-cache/larder/internal/invariants"
)

// poisoned returns what the largest free block looks like.
var poisoned = sync.OnceValue(func() []byte { return bytes.Repeat([]byte{invariants.Poison}, MaxBlock) })

// guard knows the free blocks of a pool. It is used only in builds with invariants.
type guard struct {
	mu   sync.Mutex
	free map[*byte]struct{}
}

// freed notes that a block is free and poisons it.
func (g *guard) freed(p *byte, size int) {
	g.mu.Lock()
	_, twice := g.free[p]
	if g.free == nil {
		g.free = make(map[*byte]struct{})
	}
	g.free[p] = struct{}{}
	g.mu.Unlock()
	invariants.Check(!twice, "block %p given back twice", p)
	copy(unsafe.Slice(p, size), poisoned())
}

// taken notes that a block is in use again and panics when somebody wrote to it meanwhile.
func (g *guard) taken(p *byte, size int) {
	g.mu.Lock()
	delete(g.free, p)
	g.mu.Unlock()
	if !bytes.Equal(unsafe.Slice(p, size), poisoned()[:size]) {
		invariants.Check(false, "free block %p was written to", p)
	}
}
