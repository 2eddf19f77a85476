package reactor

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// acceptBudget is how many connections are accepted per turn.
const acceptBudget = 64

// acceptor is the listening socket, in the loop that accepts.
type acceptor struct {
	fd    int
	path  string // of a unix socket, removed at the end
	local string // our address when it is the same for every connection, else empty
	loops []*loop
	deaf  bool // accepting has failed for lack of something; tried again at the next tick
}

// listen takes the listening socket over from the net package, whose own event loop must not see it, and registers it
// with l, which will spread connections over loops.
func (l *loop) listen(ln net.Listener, loops []*loop) error {
	raw, err := ln.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	fd := -1
	if cerr := raw.Control(func(old uintptr) {
		fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0)
	}); cerr != nil {
		return cerr
	}
	if err != nil {
		return err
	}
	l.listener = acceptor{fd: fd, loops: loops}
	switch addr := ln.Addr().(type) {
	case *net.UnixAddr:
		ln.(*net.UnixListener).SetUnlinkOnClose(false)
		l.listener.path = addr.Name
		l.listener.local = addr.Name + ":0"
	case *net.TCPAddr:
		if !addr.IP.IsUnspecified() {
			l.listener.local = addr.String()
		}
		tune(fd, l.server.opt.KeepAlive)
	}
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: listenSlot}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return err
	}
	return ln.Close()
}

// tune sets on a listening TCP socket what its connections inherit, so that accepting one costs no further calls.
// Failures are ignored: the server works without.
func tune(fd int, keepAlive time.Duration) {
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if keepAlive < 0 {
		return
	}
	seconds := int(max(keepAlive/time.Second, 1))
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, seconds)
	// Three unanswered questions within the same time again, as Redis does it.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, max(seconds/3, 1))
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3)
}

// close stops listening.
func (a *acceptor) close() {
	if a.fd < 0 {
		return
	}
	_ = unix.Close(a.fd)
	if a.path != "" {
		_ = unix.Unlink(a.path)
	}
	a.fd, a.deaf = -1, false
}

// accept takes in waiting connections and gives each to the loop that has the fewest.
func (l *loop) accept() {
	a := &l.listener
	for range acceptBudget {
		if a.fd < 0 {
			return
		}
		fd, sa, err := unix.Accept4(a.fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case err == nil:
			l.welcome(int32(fd), sa)
		case errors.Is(err, unix.EAGAIN):
			return
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.ENOMEM):
			// The connection stays in the backlog and would be reported without end: do not listen until the next tick.
			l.server.complain(err)
			a.mute(l, true)
			return
		default:
			// That one connection failed before it was taken (ECONNABORTED and the network errors of accept(2)).
		}
	}
}

// mute switches reports about the listening socket off or on.
func (a *acceptor) mute(l *loop, deaf bool) {
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: listenSlot}
	if deaf {
		ev.Events = 0
	}
	a.deaf = deaf
	_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_MOD, a.fd, &ev)
}

// retry listens again after a failure.
func (a *acceptor) retry(l *loop) {
	if a.deaf && a.fd >= 0 {
		a.mute(l, false)
	}
}

// welcome hands a new connection to a loop, or turns it away when there are too many.
func (l *loop) welcome(fd int32, sa unix.Sockaddr) {
	s := l.server
	if s.clients.Add(1) > s.maxClients.Load() {
		s.clients.Add(-1)
		s.rejected.Add(1)
		refuse(fd)
		return
	}
	a := &l.listener
	local := a.local
	if local == "" {
		if own, err := unix.Getsockname(int(fd)); err == nil {
			local = addrString(own)
		}
	}
	remote := local
	if a.path == "" {
		remote = addrString(sa)
	}
	c := s.newConn(remote, local)
	to := a.loops[0]
	for _, other := range a.loops[1:] {
		if other.share.Load() < to.share.Load() {
			to = other
		}
	}
	to.share.Add(1)
	if to == l {
		l.adopt(c, fd)
		return
	}
	if !to.add(post{fn: func() { to.adopt(c, fd) }}) {
		_ = unix.Close(int(fd))
		to.share.Add(-1)
		s.clients.Add(-1)
	}
}

// refuse tells a connection that there are too many and closes it. What it has sent already is read, because closing
// over unread bytes would reset the connection and could take the message with it.
func refuse(fd int32) {
	_, _ = send(fd, []byte(RefusalMaxClients))
	_ = unix.Shutdown(int(fd), unix.SHUT_WR)
	var trash [4 << 10]byte
	_, _ = receive(fd, trash[:])
	_ = unix.Close(int(fd))
}

// addrString returns a TCP address as host:port; an IPv4 address on a socket of both kinds is written as IPv4.
func addrString(sa unix.Sockaddr) string {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)).String()
	case *unix.SockaddrInet6:
		ip := netip.AddrFrom16(sa.Addr).Unmap()
		if sa.ZoneId != 0 && ip.Is6() {
			ip = ip.WithZone(strconv.FormatUint(uint64(sa.ZoneId), 10))
		}
		return netip.AddrPortFrom(ip, uint16(sa.Port)).String()
	}
	return ""
}
