package reactor

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below are the hot ones. Sockets are non-blocking, so receiving and sending return at once and need not tell
// the scheduler; results are errno values, so no error is boxed.

// receive reads into p, which is not empty.
func receive(fd int32, p []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), 0, 0, 0)
		if errno == 0 {
			return int(n), 0
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

// send writes p, which is not empty.
func send(fd int32, p []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_NOSIGNAL, 0, 0)
		if errno == 0 {
			return int(n), 0
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

// sendVector writes the pieces of m. It is writev with the flag that keeps SIGPIPE away.
func sendVector(fd int32, m *unix.Msghdr) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(m)), unix.MSG_NOSIGNAL)
		if errno == 0 {
			return int(n), 0
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

// wait waits for events, at most timeout milliseconds; 0 does not wait, -1 has no limit. Only a call that may block
// goes through the scheduler.
func wait(epoll int, events []unix.EpollEvent, timeout int) (int, syscall.Errno) {
	at, n := uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events))
	var got uintptr
	var errno syscall.Errno
	if timeout == 0 {
		got, _, errno = syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), at, n, 0, 0, 0)
	} else {
		got, _, errno = syscall.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), at, n, uintptr(timeout), 0, 0)
	}
	if errno != 0 {
		return 0, errno
	}
	return int(got), 0
}

// kick makes the event descriptor fd ready once more.
func kick(fd int) {
	one := uint64(1)
	_, _, _ = syscall.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), unsafe.Sizeof(one))
}

// pendingError returns the error that waits on a socket, or nil.
func pendingError(fd int32) error {
	n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return err
	}
	if n != 0 {
		return syscall.Errno(n)
	}
	return nil
}
