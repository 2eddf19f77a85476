// Package invariants switches expensive checks on.
//
// Code asks `if invariants.Enabled { ... }`. Without the build tag `invariants` that is a constant false and costs
// nothing; with it, freed memory is poisoned, structures are verified after each change, and a violation panics with
// what was expected. The checks are those that no test could make from outside.
package invariants

import "fmt"

// Poison fills memory that was freed, in builds with the tag: who still reads it sees nonsense, and who writes it is found.
const Poison = 0xDB

// Check panics with the formatted message when ok is false. Call it only under Enabled, so that its arguments cost
// nothing in ordinary builds.
func Check(ok bool, format string, args ...any) {
	if !ok {
		panic(fmt.Sprintf("invariant violated: "+format, args...))
	}
}
