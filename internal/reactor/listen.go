package reactor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
)

// unixPrefix marks the address of a unix socket.
const unixPrefix = "unix:"

// listen opens the listening socket of an address. The error wraps the system's, for instance syscall.EADDRINUSE.
func listen(addr string) (net.Listener, error) {
	config := net.ListenConfig{KeepAlive: -1} // set on the listener or the connection, see tune
	path, unix := strings.CutPrefix(addr, unixPrefix)
	if !unix {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, fmt.Errorf("%w: %q", ErrAddress, addr)
		}
		return config.Listen(context.Background(), Network(addr), addr)
	}
	if path == "" {
		return nil, fmt.Errorf("%w: %q", ErrAddress, addr)
	}
	l, err := config.Listen(context.Background(), "unix", path)
	if errors.Is(err, syscall.EADDRINUSE) && abandoned(path) {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
		l, err = config.Listen(context.Background(), "unix", path)
	}
	return l, err
}

// Network returns the network on which to listen at HOST:PORT: "tcp4" for an IPv4 address, because "tcp" takes 0.0.0.0 for
// every address of either kind.
func Network(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err == nil {
		if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
			return "tcp4"
		}
	}
	return "tcp"
}

// abandoned reports whether path is a unix socket on which nobody listens, as a killed server leaves it.
func abandoned(path string) bool {
	st, err := os.Lstat(path)
	if err != nil || st.Mode()&fs.ModeSocket == 0 {
		return false
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		_ = c.Close()
		return false
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
