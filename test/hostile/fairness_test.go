package hostile

import (
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
	// slowReaderBound is the memory that a client which never reads may hold, of
	// output and of what its socket buffers took.
	slowReaderBound = 400 * mib
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

// TestASlowReaderIsCut: a client asks for 8 GiB and reads nothing. It must be
// cut, with nobody else hurt, nothing evicted, and its memory given back.
func TestASlowReaderIsCut(t *testing.T) {
	if server.UnderTestIsRedis() {
		t.Skip("redis-server has no output limit for normal clients; LARDER_TEST_SERVER puts it in larder's place")
	}
	t.Parallel()
	p := server.Start(t)
	by := watch(t, p)
	by.c.Want(`+"OK"`, "SET", "big", strings.Repeat("x", mib))
	by.before = p.Resident(t)
	slow := raw.Dial(t, p.Addr)
	var asks []byte
	for range 64 {
		asks = raw.Append(asks, "GET", "big")
	}
	cut := make(chan struct{})
	go func() {
		defer close(cut)
		for range 128 {
			if slow.TrySend(asks) != nil {
				return
			}
		}
		// All was taken: the cut shows as the end of the stream.
		for {
			if slow.TrySend(raw.Append(nil, "GET", "big")) != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	deadline := time.After(raw.Patience)
	highest := int64(0)
	for open := true; open; {
		select {
		case <-cut:
			open = false
		case <-deadline:
			t.Fatal("the client that never reads was not cut")
		default:
			by.c.Want(`+"PONG"`, "PING")
			highest = max(highest, p.Resident(t)-by.before)
		}
	}
	if highest > slowReaderBound {
		t.Errorf("a client that never reads held %d MiB", highest/mib)
	}
	by.c.Want(":\"2\"", "DBSIZE")
	eventually(t, "the memory of the client that was cut comes back", func() bool {
		return p.Resident(t)-by.before < 64*mib
	})
	by.unharmed(64 * mib)
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
