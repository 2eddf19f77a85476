// Package hostile sends what no honest client sends, and sends honest commands
// in dishonest ways: lengths that announce more than arrives, garbage, pieces of
// one byte, readers that never read, connections that end in the middle.
//
// Every test watches from a second connection: whatever happens to the first,
// the bystander is answered and the server's memory stays bounded.
package hostile

import (
	"os"
	"testing"

	"github.com/larder-cache/larder/test/internal/raw"
	"github.com/larder-cache/larder/test/internal/server"
)

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

const mib = 1 << 20

// bystander is an honest client of a server under attack.
type bystander struct {
	t *testing.T
	p *server.Process
	c *raw.Conn
	// before is the resident memory when the attack began.
	before int64
}

// watch connects a bystander and notes the server's memory.
func watch(t *testing.T, p *server.Process) *bystander {
	t.Helper()
	b := &bystander{t: t, p: p, c: raw.Dial(t, p.Addr)}
	b.c.Want(`+"OK"`, "SET", "bystander", "unharmed")
	b.before = p.Resident(t)
	return b
}

// unharmed fails the test when the bystander is not served as before, or the
// server's memory grew by more than bound bytes.
func (b *bystander) unharmed(bound int64) {
	b.t.Helper()
	b.c.Want(`+"PONG"`, "PING")
	b.c.Want(`$"unharmed"`, "GET", "bystander")
	if grown := b.p.Resident(b.t) - b.before; grown > bound {
		b.t.Errorf("resident memory grew by %d MiB, allowed are %d MiB", grown/mib, bound/mib)
	}
}
