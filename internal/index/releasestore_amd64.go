package index

// releaseStore stores v so that everything stored before is seen before it. The processor keeps stores in order, so a plain
// one does, which must only be kept from the compiler: sync/atomic would use an exchange and wait for all earlier stores.
//
//go:noescape
func releaseStore(p *uint32, v uint32)
