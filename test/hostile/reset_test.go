package hostile

import (
	"net"
	"testing"

	"github.com/larder-cache/larder/test/internal/raw"
)

// resetOnClose makes Close cut the connection instead of ending it in order.
func resetOnClose(t *testing.T, c *raw.Conn) {
	t.Helper()
	tcp, ok := c.Conn.(*net.TCPConn)
	if !ok {
		t.Fatal("not a TCP connection")
	}
	if err := tcp.SetLinger(0); err != nil {
		t.Fatal(err)
	}
}
