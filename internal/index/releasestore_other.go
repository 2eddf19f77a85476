//go:build !amd64

package index

import "sync/atomic"

// releaseStore stores v so that everything stored before is seen before it.
func releaseStore(p *uint32, v uint32) { atomic.StoreUint32(p, v) }
