//go:build !amd64 && !arm64

package index

import "unsafe"

// prefetch does nothing where it is not known how.
func prefetch(unsafe.Pointer) {}
