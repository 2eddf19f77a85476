//go:build amd64 || arm64

package index

import "unsafe"

// prefetch asks for the cache line at p and does not wait for it, as a load would before the next locked instruction. It
// never faults.
//
//go:noescape
func prefetch(p unsafe.Pointer)
