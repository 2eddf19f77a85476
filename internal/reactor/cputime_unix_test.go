//go:build unix

package reactor

import "syscall"

// processTime returns the CPU time of this process in nanoseconds.
func processTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
