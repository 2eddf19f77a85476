package hostile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-cache/larder/test/internal/raw"
	"github.com/larder-cache/larder/test/internal/server"
)

const (
	// pingBound is the bystander's 99th percentile while one client floods. The
	// design asks for 10 ms on an idle machine of two cores.
	pingBound = 20 * time.Millisecond
	// slowReaderBound is the memory that a client which never reads may hold.
	slowReaderBound = 48 * mib
	// slowReaderCut bounds the time until that client is cut: a minute without a
	// byte taken, and the sweep that notices it.
	slowReaderCut = 80 * time.Second
	// replyBound is the memory that one enormous reply may hold before its client
	// is cut: the hard output limit of 1 GiB and the last piece.
	replyBound = 1100 * mib
)

// pings asks until done is closed and returns the 99th percentile of the times.
func (b *bystander) pings(done <-chan struct{}) time.Duration {
	var times []time.Duration
	for {
		start := time.Now()
		b.c.Want(`+"PONG"`, "PING")
		times = append(times, time.Since(start))
		select {
		case <-done:
			slices.Sort(times)
			return times[len(times)*99/100]
		default:
		}
	}
}

// TestAFloodLeavesTheOthersTheirTurn: one client pipelines a million commands.
func TestAFloodLeavesTheOthersTheirTurn(t *testing.T) {
	p := server.Start(t)
	by := watch(t, p)
	const commands, perWrite = 1_000_000, 10_000
	var batch []byte
	for range perWrite {
		batch = raw.Append(batch, "INCR", "flood")
	}
	flood := raw.Dial(t, p.Addr)
	done := make(chan struct{})
	go func() {
		for range commands / perWrite {
			if err := flood.TrySend(batch); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	go func() {
		defer close(done)
		for range commands {
			if r, err := flood.TryReceive(); err != nil || r.Kind != ':' {
				t.Errorf("INCR in the flood: %s, %v", r, err)
				return
			}
		}
	}()
	if p99 := by.pings(done); p99 > pingBound {
		t.Errorf("PING took %v at the 99th percentile during the flood, allowed are %v", p99, pingBound)
	}
	by.c.Want(`$"1000000"`, "GET", "flood")
	by.unharmed(64 * mib)
}

// TestASlowReaderIsCut: a client asks for 8 GiB and reads nothing. Meanwhile it
// holds little, nobody else is hurt and nothing is evicted; in the end it is cut.
func TestASlowReaderIsCut(t *testing.T) {
	if server.UnderTestIsRedis() {
		t.Skip("redis-server has no output limit for normal clients; LARDER_TEST_SERVER puts it in larder's place")
	}
	for name, flags := range map[string][]string{"epoll": nil, "portable": {"--reactor", "portable"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slowReader(t, server.Start(t, flags...))
		})
	}
}

func slowReader(t *testing.T, p *server.Process) {
	by := watch(t, p)
	by.c.Want(`+"OK"`, "SET", "big", strings.Repeat("x", mib))
	by.before = p.Resident(t)
	slow := raw.Dial(t, p.Addr)
	var asks []byte
	for range 8192 {
		asks = raw.Append(asks, "GET", "big")
	}
	slow.Send(asks)
	// More requests keep coming, so that the client is not silent: only its not
	// reading can be the reason for the cut.
	cut := make(chan struct{})
	go func() {
		defer close(cut)
		for range time.Tick(100 * time.Millisecond) {
			if slow.TrySend(raw.Append(nil, "PING")) != nil {
				return
			}
		}
	}()
	deadline := time.After(slowReaderCut)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for open := true; open; {
		select {
		case <-cut:
			open = false
		case <-deadline:
			t.Fatalf("a client that never reads is not cut within %v", slowReaderCut)
		case <-tick.C:
			by.unharmed(slowReaderBound)
		}
	}
	by.c.Want(":\"2\"", "DBSIZE")
	by.unharmed(slowReaderBound)
}

// TestAnEnormousReplyIsCut: one command asks for more than 1 GiB, of values or of
// names. The client is cut at the hard limit and the memory comes back.
func TestAnEnormousReplyIsCut(t *testing.T) {
	if server.UnderTestIsRedis() {
		t.Skip("redis-server has no output limit for normal clients; LARDER_TEST_SERVER puts it in larder's place")
	}
	big := strings.Repeat("x", mib)
	t.Run("MGET", func(t *testing.T) {
		by := watch(t, server.Start(t))
		by.c.Want(`+"OK"`, "SET", "big", big)
		enormousReply(by, append([]string{"MGET"}, slices.Repeat([]string{"big"}, 2048)...)...)
	})
	t.Run("KEYS", func(t *testing.T) {
		by := watch(t, server.Start(t, "--max-memory", "3gb"))
		const keys, perWrite = 80_000, 100
		for i := 0; i < keys; i += perWrite {
			var fill []byte
			for k := range perWrite {
				fill = raw.Append(fill, "SET", fmt.Sprintf("%d%s", i+k, big[:16<<10]), "")
			}
			by.c.Send(fill)
			for range perWrite {
				if r := by.c.Receive(); r.Text != "OK" {
					t.Fatalf("SET of a long name: %s", r)
				}
			}
		}
		enormousReply(by, "KEYS", "*")
	})
}

func enormousReply(by *bystander, command ...string) {
	t, p := by.t, by.p
	by.before = p.Resident(t)
	greedy := raw.Dial(t, p.Addr)
	greedy.Send(raw.Append(nil, command...))
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The socket buffers take a part of the reply; the rest must not follow.
		<-time.After(100 * time.Millisecond)
		if n := len(greedy.Closed()); n > 1100*mib {
			t.Errorf("%d MiB of the reply were sent", n/mib)
		}
	}()
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
			by.unharmed(replyBound)
			open = !t.Failed()
		}
	}
	eventually(t, "the memory of the client that was cut comes back", func() bool {
		return p.Resident(t)-by.before < slowReaderBound
	})
	by.unharmed(slowReaderBound)
}

// TestHostilePatternsTakeBoundedTime: patterns that make a backtracking matcher
// take for ever, against a key that almost matches.
func TestHostilePatternsTakeBoundedTime(t *testing.T) {
	t.Parallel()
	if server.UnderTestIsRedis() {
		t.Skip("redis-server backtracks; LARDER_TEST_SERVER puts it in larder's place")
	}
	p := server.Start(t)
	by := watch(t, p)
	by.c.Want(`+"OK"`, "SET", strings.Repeat("a", 4096), "v")
	for _, pattern := range []string{
		strings.Repeat("a*", 2048) + "b",
		strings.Repeat("*a", 2048) + "b",
		strings.Repeat("*?", 2048) + "b",
		strings.Repeat("*[a-z]", 600) + "b",
		strings.Repeat("*", 4096) + "b",
		"[" + strings.Repeat("a", 4095),
		strings.Repeat("[", 4096),
		strings.Repeat("\\", 4095),
	} {
		for _, command := range [][]string{{"KEYS", pattern}, {"SCAN", "0", "MATCH", pattern, "COUNT", "100"}} {
			start := time.Now()
			if r := by.c.Do(command...); r.Error() {
				t.Errorf("%s %.20q...: %s", command[0], pattern, r)
			}
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("%s %.20q... took %v", command[0], pattern, took)
			}
		}
	}
	by.unharmed(16 * mib)
}

// TestHalfOpenConnectionsAreCheap: five hundred clients stop in the middle.
func TestHalfOpenConnectionsAreCheap(t *testing.T) {
	t.Parallel()
	p := server.Start(t)
	by := watch(t, p)
	for range 500 {
		raw.Dial(t, p.Addr).Send([]byte("*3\r\n$3\r\nSET\r\n$4\r\nhalf\r\n$1000\r\nonly a few"))
	}
	by.c.Want(":\"0\"", "EXISTS", "half")
	by.unharmed(32 * mib)
}

// eventually fails the test when a condition does not come true in time.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(raw.Patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Errorf("not within %v: %s", raw.Patience, what)
			return
		case <-tick.C:
		}
	}
}
