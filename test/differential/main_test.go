// Package differential sends the same commands to the server under test and to
// Debian's redis-server and compares the replies byte for byte, in RESP2 and in
// RESP3.
//
// The commands come from the text files under testdata, which cover every
// command with its options and errors one by one, and from seeded random
// streams, which mix them. A reply may differ only by a rule of rules_test.go or
// differences_test.go: the first kind names replies that depend on time or
// chance, the second kind is the list of what Larder does differently on
// purpose.
package differential

import (
	"fmt"
	"os"
	"testing"

	"github.com/larder-cache/larder/test/internal/raw"
	"github.com/larder-cache/larder/test/internal/server"
)

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// pair is one connection to each server, in the same protocol.
type pair struct {
	larder, redis *raw.Conn
}

// servers starts one of each.
func servers(t *testing.T) (larder, redis *server.Process) {
	t.Helper()
	return server.Start(t), server.Redis(t, "--enable-debug-command", "yes")
}

// connect opens a pair in the given protocol version.
func connect(t *testing.T, larder, redis *server.Process, protocol int) pair {
	t.Helper()
	p := pair{raw.Dial(t, larder.Addr), raw.Dial(t, redis.Addr)}
	if protocol == 3 {
		for _, c := range []*raw.Conn{p.larder, p.redis} {
			if r := c.Do("HELLO", "3"); r.Kind != '%' {
				t.Fatalf("HELLO 3: %v", r)
			}
		}
	}
	return p
}

// forProtocols runs a test in RESP2 and in RESP3, each with servers of its own.
func forProtocols(t *testing.T, test func(t *testing.T, open func(t *testing.T) pair)) {
	t.Helper()
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			t.Parallel()
			larder, redis := servers(t)
			test(t, func(t *testing.T) pair { return connect(t, larder, redis, protocol) })
		})
	}
}

// do sends one command to both and returns both replies.
func (p pair) do(args ...string) (larder, redis raw.Reply) {
	command := raw.Append(nil, args...)
	p.larder.Send(command)
	p.redis.Send(command)
	return p.larder.Receive(), p.redis.Receive()
}
