//go:build !race && unix

package memory

// HeapBacked says that the arena is one Go allocation.
const HeapBacked = false
