package server

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Resident returns the resident memory of the process in bytes: VmRSS, plus
// huge pages of its own, which VmRSS leaves out.
func (p *Process) Resident(tb testing.TB) int64 {
	tb.Helper()
	rss := procField(tb, fmt.Sprintf("/proc/%d/status", p.PID()), "VmRSS:")
	huge := procField(tb, fmt.Sprintf("/proc/%d/smaps_rollup", p.PID()), "Private_Hugetlb:")
	return rss + huge
}

// procField reads a "Name: 123 kB" line of a /proc file as bytes.
func procField(tb testing.TB, path, name string) int64 {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == name {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				tb.Fatalf("%s: %v", path, err)
			}
			return kib << 10
		}
	}
	tb.Fatalf("%s has no line %s", path, name)
	return 0
}
