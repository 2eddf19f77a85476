package netbuf

import (
	"sync"
	"unsafe"

	"github.com/larder-cache/larder/internal/invariants"
)

// poison fills a free block in builds with invariants: a late reader sees it, a late writer is found at the next Get.
const poison = 0xdb

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
	block := unsafe.Slice(p, size)
	for i := range block {
		block[i] = poison
	}
}

// taken notes that a block is in use again and panics when somebody wrote to it meanwhile.
func (g *guard) taken(p *byte, size int) {
	g.mu.Lock()
	delete(g.free, p)
	g.mu.Unlock()
	for i, v := range unsafe.Slice(p, size) {
		invariants.Check(v == poison, "free block %p was written to at %d", p, i)
	}
}
