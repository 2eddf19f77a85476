//go:build unix

package main

import "syscall"

// fileLimit returns how many files this process may have open. The Go runtime has already raised the soft limit to the
// hard one.
func fileLimit() (uint64, bool) {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0, false
	}
	return uint64(max(r.Cur, 0)), true // signed on some systems
}
