package store

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/larder-cache/larder/internal/memory"
)

// StartLeakCheck remembers where one of rate pieces of memory is allocated from now on; see memory.Arena.
func (s *Store) StartLeakCheck(rate int) { s.arena.StartLeakCheck(rate) }

// StopLeakCheck forgets what the check knew.
func (s *Store) StopLeakCheck() { s.arena.StopLeakCheck() }

// Leaks returns what was allocated since the check was switched on and is still in use.
func (s *Store) Leaks() memory.LeakReport { return s.arena.Leaks() }

// MemoryMap describes each 2 MiB of memory that was ever used.
func (s *Store) MemoryMap() []memory.GroupMap { return s.arena.Map() }

// LeakText writes a report for people, with at most most places.
func LeakText(r memory.LeakReport, most int) string {
	var b strings.Builder
	if !r.On {
		return "the leak check is off"
	}
	fmt.Fprintf(&b, "%d cells, %d bytes in use that were allocated since the check was switched on; one cell of %d was looked at", r.Cells, r.Bytes, r.Rate)
	for i, site := range r.Sites {
		if i == most {
			fmt.Fprintf(&b, "\n\nand %d places more", len(r.Sites)-most)
			break
		}
		fmt.Fprintf(&b, "\n\n%d cells, %d bytes in use of %d cells allocated at", site.Cells, site.Bytes, site.Total)
		frames := runtime.CallersFrames(site.Stack)
		for {
			f, more := frames.Next()
			if f.Function != "" {
				fmt.Fprintf(&b, "\n    %s\n        %s:%d", f.Function, f.File, f.Line)
			}
			if !more {
				break
			}
		}
	}
	return b.String()
}
