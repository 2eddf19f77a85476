//go:build !unix

package main

// fileLimit says that this system has no limit to ask for.
func fileLimit() (uint64, bool) { return 0, false }
