//go:build unix && !linux && !race

package memory

const noReserve = 0

// adviseHuge does nothing: transparent huge pages are asked for on Linux only.
func adviseHuge([]byte) bool { return false }
