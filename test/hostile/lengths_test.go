package hostile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/larder-cache/larder/test/internal/raw"
	"github.com/larder-cache/larder/test/internal/server"
)

// broken streams are protocol errors: the connection gets one error line and is
// closed.
var broken = map[string]string{
	"bulk of 2^63-1":          "*2\r\n$3\r\nGET\r\n$9223372036854775807\r\n",
	"bulk beyond 2^64":        "*2\r\n$3\r\nGET\r\n$18446744073709551620\r\n",
	"bulk above the limit":    "*2\r\n$3\r\nGET\r\n$536870913\r\n",
	"array of 2^31":           "*2147483648\r\n",
	"array beyond 2^64":       "*18446744073709551617\r\n",
	"bulk of -2":              "*2\r\n$3\r\nGET\r\n$-2\r\n",
	"bulk of -1":              "*2\r\n$3\r\nGET\r\n$-1\r\n",
	"bulk of +5":              "*2\r\n$3\r\nGET\r\n$+5\r\nhello\r\n",
	"bulk of blank 5":         "*2\r\n$3\r\nGET\r\n$ 5\r\nhello\r\n",
	"no dollar":               "*2\r\n$3\r\nGET\r\nhello\r\n",
	"array length no number":  "*x\r\n",
	"endless array header":    "*" + strings.Repeat("1", 1<<17),
	"endless bulk header":     "*1\r\n$" + strings.Repeat("1", 1<<17),
	"endless inline":          strings.Repeat("x", 1<<17),
	"unbalanced quotes":       "GET \"x\r\n",
	"error after commands":    strings.Repeat("*1\r\n$4\r\nPING\r\n", 3) + "*1\r\n$-7\r\n",
	"minus zero bulk":         "*1\r\n$-0\r\n",
	"hexadecimal bulk length": "*1\r\n$0x4\r\nPING\r\n",
}

func TestBrokenStreamsCloseOnlyTheirConnection(t *testing.T) {
	t.Parallel()
	p := server.Start(t)
	by := watch(t, p)
	for name, stream := range broken {
		c := raw.Dial(t, p.Addr)
		// The server may close before everything is written.
		_ = c.TrySend([]byte(stream))
		answer := string(c.Closed())
		answer = strings.ReplaceAll(answer, "+PONG\r\n", "")
		// A reset may overtake the error line when bytes were left unread.
		if answer != "" && (!strings.HasPrefix(answer, "-ERR Protocol error: ") || strings.Count(answer, "\r\n") != 1) {
			t.Errorf("%s: answered %.200q", name, answer)
		}
		if answer == "" && len(stream) < 1<<10 {
			t.Errorf("%s: closed without an error line", name)
		}
		by.unharmed(16 * mib)
	}
}

// TestMissingLineEndsCloseTheConnection: redis-server waits for a carriage
// return for ever and skips whatever stands behind a bulk.
func TestMissingLineEndsCloseTheConnection(t *testing.T) {
	t.Parallel()
	if server.UnderTestIsRedis() {
		t.Skip("redis-server does not check line ends; LARDER_TEST_SERVER puts it in larder's place")
	}
	p := server.Start(t)
	by := watch(t, p)
	for _, stream := range []string{
		"*1\r\n$4\r\nPINGxx", "*1\r\n$4\r\nPING\n\n", "*1\r\n$4\nPING\r\n", "*1\n$4\r\nPING\r\n", "*1\r\n$4\r\nPING\rx",
		"*\x00\x00\r\n", "*1\r\n$4\rxPING\r\n",
	} {
		c := raw.Dial(t, p.Addr)
		c.Send([]byte(stream))
		if answer := string(c.Closed()); !strings.HasPrefix(answer, "-ERR Protocol error: ") {
			t.Errorf("%q: answered %q", stream, answer)
		}
		by.unharmed(8 * mib)
	}
}

// TestAnnouncedLengthsAllocateNothing: lengths within the limits, announced on
// many connections, and then silence.
func TestAnnouncedLengthsAllocateNothing(t *testing.T) {
	t.Parallel()
	if server.UnderTestIsRedis() {
		t.Skip("redis-server sizes its buffer by the announced length; LARDER_TEST_SERVER puts it in larder's place")
	}
	p := server.Start(t)
	by := watch(t, p)
	for i := range 100 {
		for _, stream := range []string{
			"*1048576\r\n",
			"*1048576\r\n$3\r\nGET\r\n",
			"*2\r\n$3\r\nGET\r\n$536870912\r\n",
			"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$536870912\r\nfirst bytes",
			fmt.Sprintf("*3\r\n$3\r\nSET\r\n$100000000\r\n%d", i),
		} {
			raw.Dial(t, p.Addr).Send([]byte(stream))
		}
	}
	by.unharmed(64 * mib)
}

// TestLimitsBeforeAuthentication: a stranger gets ten arguments of 16 KiB.
func TestLimitsBeforeAuthentication(t *testing.T) {
	t.Parallel()
	p := server.Start(t)
	by := watch(t, p)
	by.c.Want(`+"OK"`, "CONFIG", "SET", "requirepass", "secret")
	for stream, want := range map[string]string{
		"*11\r\n":                            "-ERR Protocol error: unauthenticated multibulk length\r\n",
		"*2\r\n$4\r\nAUTH\r\n$16385\r\n":     "-ERR Protocol error: unauthenticated bulk length\r\n",
		"*2\r\n$4\r\nAUTH\r\n$500000000\r\n": "-ERR Protocol error: unauthenticated bulk length\r\n",
	} {
		c := raw.Dial(t, p.Addr)
		c.Send([]byte(stream))
		if got := string(c.Closed()); got != want {
			t.Errorf("%q: answered %q, want %q", stream, got, want)
		}
	}
	// At the limits the command is read and refused as a command.
	c := raw.Dial(t, p.Addr)
	if r := c.Do("MGET", "1", "2", "3", "4", "5", "6", "7", "8", strings.Repeat("k", 16384)); r.Text != "NOAUTH Authentication required." {
		t.Errorf("MGET of nine keys before AUTH: %s", r)
	}
	if r := c.Do("AUTH", "guess"); !strings.HasPrefix(r.Text, "WRONGPASS ") {
		t.Errorf("AUTH with a wrong password: %s", r)
	}
	c.Want(`+"OK"`, "AUTH", "secret")
	c.Want(`+"OK"`, "SET", "k", strings.Repeat("v", 1<<20))
	if r := c.Do(append([]string{"EXISTS"}, strings.Split(strings.Repeat("k", 100), "")...)...); r.Int() != 100 {
		t.Errorf("EXISTS of a hundred keys after AUTH: %s", r)
	}
	by.unharmed(16 * mib)
}
