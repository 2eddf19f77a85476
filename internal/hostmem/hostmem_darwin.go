package hostmem

import "golang.org/x/sys/unix"

// Get returns the memory of the machine.
func Get() (Limit, error) {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil || n == 0 {
		return Limit{}, ErrUnknown
	}
	return Limit{int64(n), "machine"}, nil
}
