//go:build !linux

package reactor

import "net"

// epollConn is empty on systems without epoll.
type epollConn struct{}

// newNative is the portable implementation on systems without epoll.
func newNative(s *Server, ln net.Listener) (backend, error) { return newPortable(s, ln), nil }
