//go:build linux && !race

package memory

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const noReserve = unix.MAP_NORESERVE

func adviseHuge(b []byte) bool {
	return unix.Madvise(b, unix.MADV_HUGEPAGE) == nil && hugePagesOn()
}

// hugePagesOn reads whether the kernel gives transparent huge pages to who asks.
func hugePagesOn() bool {
	b, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	return err == nil && !strings.Contains(string(b), "[never]")
}
