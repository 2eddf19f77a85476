package command

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/larder-cache/larder/internal/invariants"
	"github.com/larder-cache/larder/internal/wire"
)

// pipeline encodes commands written as in testdata, one behind the other.
func pipeline(t testing.TB, lines ...string) []byte {
	var out []byte
	for _, line := range lines {
		out = append(out, encode(splitCommand(t, line))...)
	}
	return out
}

// streams are pipelines in which the end of one command decides about the next.
func streams(t testing.TB) map[string][]byte {
	return map[string][]byte{
		"plain":  pipeline(t, "SET a 1", "GET a", "MGET a b", "INCR a", "SET b \"x\\r\\ny\" EX 100", "GET b", "DEL a b", "FOO", "GET"),
		"select": pipeline(t, "SET k 0", "SELECT 1", "GET k", "SET k 1", "SELECT 0", "GET k", "SELECT 1", "GET k", "SELECT 99", "GET k"),
		"inline": []byte("PING\r\n\r\nSET a \"b\\x41 c\"\nGET a\r\n*1\r\n$4\r\nPING\r\n  ECHO 'x y'  \r\n*0\r\nGET \"a\"\r\n"),
		"sleep":  []byte("SET a 1\r\nDEBUG SLEEP 0.001\r\nSET a \"q\\\"\\x41\"\r\nGET a\r\nDEBUG SLEEP 0.001\r\nPING\r\n"),
		"quit":   pipeline(t, "SET a 1", "QUIT", "SET a 2", "PING"),
		"broken": append(pipeline(t, "SET a 1", "GET a"), "*1\r\n$x\r\nPING\r\n"...),
		"quotes": []byte("PING\r\nGET \"a\r\nPING\r\n"),
		"reply": pipeline(t, "CLIENT REPLY SKIP", "PING a", "PING b", "CLIENT REPLY OFF", "PING c", "FOO", "CLIENT REPLY SKIP",
			"PING d", "CLIENT REPLY ON", "PING e", "CLIENT REPLY SKIP", "CLIENT REPLY SKIP", "PING f", "PING g", "CLIENT REPLY SKIP", "FOO",
			"PING h"),
		"hello":   pipeline(t, "HELLO 3 SETNAME me", "GET nope", "CONFIG GET save", "RESET", "GET nope", "CLIENT GETNAME"),
		"browser": []byte("SET a 1\r\nPOST / HTTP/1.1\r\nHost: x\r\n\r\nSET a 2\r\n"),
		"many":    bytes.Repeat(pipeline(t, "INCR n", "GET n"), 100),
		"wide":    append(pipeline(t, "MSET"+strings.Repeat(" k v", 300)), pipeline(t, "MGET"+strings.Repeat(" k", 300), "PING")...),
	}
}

func TestEveryStreamGivesTheSameRepliesHoweverItIsSplit(t *testing.T) {
	server := newRigServer(t, Options{})
	run := func(pieces ...[]byte) string {
		for _, db := range server.store.Collections() {
			db.Flush()
		}
		r := dial(t, server)
		defer server.disconnect(r.client)
		var reply []byte
		for _, p := range pieces {
			reply = append(reply, r.send(p)...)
		}
		// The number in the reply of HELLO is the connection's.
		text := strings.ReplaceAll(show(reply), fmt.Sprintf(`"id": :%d,`, r.peer.id), `"id": :ID,`)
		return fmt.Sprintf("%s; ended %v %v", text, r.peer.closed, r.peer.flushing)
	}
	for name, stream := range streams(t) {
		t.Run(name, func(t *testing.T) {
			want := run(stream)
			if strings.Contains(want, "malformed") || strings.Contains(want, "cut short") {
				t.Fatal(want)
			}
			cuts := max(1, len(stream)/600)
			for at := 0; at <= len(stream); at += cuts {
				if got := run(stream[:at], stream[at:]); got != want {
					t.Fatalf("cut at %d of %q\n\tgot  %s\n\twant %s", at, stream, got, want)
				}
			}
			var bytewise [][]byte
			for i := range stream {
				bytewise = append(bytewise, stream[i:i+1])
			}
			if got := run(bytewise...); got != want {
				t.Fatalf("byte by byte\n\tgot  %s\n\twant %s", got, want)
			}
		})
	}
}

func TestStreamsReplyAsTheyShould(t *testing.T) {
	all := streams(t)
	for name, want := range map[string]string{
		"select":  `+OK | +OK | nil | +OK | +OK | "0" | +OK | "1" | -ERR DB index is out of range | "1"`,
		"inline":  `+PONG | +OK | "bA c" | +PONG | "x y" | "bA c"`,
		"sleep":   `+OK | +OK | +OK | "q\x22A" | +OK | +PONG`,
		"quit":    `+OK | +OK`,
		"broken":  `+OK | "1" | -ERR Protocol error: invalid bulk length`,
		"quotes":  `+PONG | -ERR Protocol error: unbalanced quotes in request`,
		"reply":   `"b" | +OK | "e" | "g" | "h"`,
		"browser": `+OK`,
	} {
		server := newRigServer(t, Options{})
		r := dial(t, server)
		if got := show(r.send(all[name])); got != want {
			t.Errorf("%s\n\tgot  %s\n\twant %s", name, got, want)
		}
		if ends := name == "quit" || name == "broken" || name == "quotes" || name == "browser"; r.ended() != ends {
			t.Errorf("%s: ended is %v", name, r.ended())
		}
		if name == "quit" || name == "browser" {
			dial(t, server).expect("GET a", `"1"`)
		}
	}
}

func TestGetAndSetAllocateNothing(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the checks of an invariants build allocate: nothing to count")
	}
	server := newRigServer(t, Options{})
	r := dial(t, server)
	for _, line := range []string{
		"SET key:000000000001 " + strings.Repeat("v", 256), "GET key:000000000001", "GET nope", "PING", "SET k v EX 100", "SET n 1",
		"INCR n", "DEL nope", "EXISTS k", "EXPIRE k 100", "TTL k", "MGET k n nope k", "MSET k v n 1", "STRLEN k", "ECHO x", "SELECT 0",
	} {
		in := bytes.Repeat(pipeline(t, line), 40)
		feed := func() {
			used, more := r.client.data(in)
			if used != len(in) || more {
				t.Fatal(used, more)
			}
			for r.out.Len() > 0 {
				r.out.Consume(len(r.out.First()))
			}
		}
		feed()
		if n := testing.AllocsPerRun(50, feed); n != 0 {
			t.Errorf("%.30s: %v allocations for 40 commands", line, n)
		}
	}
}

func TestSleepingClientHoldsUpNobodyElse(t *testing.T) {
	server := newRigServer(t, Options{})
	sleeper, other := dial(t, server), dial(t, server)
	in := pipeline(t, "SET a 1", "DEBUG SLEEP 0.05", "SET a 2", "GET a")
	used, more := sleeper.client.data(in)
	if more || !sleeper.peer.paused || used != len(pipeline(t, "SET a 1", "DEBUG SLEEP 0.05")) {
		t.Fatalf("used %d of %d, more %v, paused %v", used, len(in), more, sleeper.peer.paused)
	}
	other.expect("GET a", `"1"`)
	// What comes meanwhile waits.
	sleeper.in = in[used:]
	if got := show(sleeper.send(pipeline(t, "PING"))); got != `+OK | +OK | +OK | "2" | +PONG` {
		t.Error(got)
	}
}

func TestClosedClientGetsNoLateReply(t *testing.T) {
	server := newRigServer(t, Options{})
	r := dial(t, server)
	r.client.later(func() {}, r.client.ok)
	server.disconnect(r.client)
	r.post()
	if r.out.Len() != 0 {
		t.Error("a reply to a closed connection")
	}
	if used, _ := r.client.data(pipeline(t, "SET late 1")); used != 0 {
		t.Error("a closed client ran a command")
	}
	dial(t, server).expect("EXISTS late", ":0")
}

func TestKilledClientRunsNoFurtherCommand(t *testing.T) {
	server := newRigServer(t, Options{})
	r := dial(t, server)
	// It kills itself in the middle of its pipeline: the reply comes, what follows does not run.
	got := show(r.send(pipeline(t, fmt.Sprintf("CLIENT KILL ID %d SKIPME no", r.peer.id), "SET after 1")))
	if got != ":1" || !r.peer.flushing {
		t.Error(got, r.peer.flushing)
	}
	victim, killer := dial(t, server), dial(t, server)
	killer.expect(fmt.Sprintf("CLIENT KILL %s", victim.peer.RemoteAddr()), "+OK")
	victim.posted()
	if !victim.peer.closed {
		t.Error("the victim is still there")
	}
	_, _ = victim.client.data(pipeline(t, "SET after 1"))
	killer.expect("EXISTS after", ":0")
	server.disconnect(victim.client)
	server.disconnect(r.client)
	other := dial(t, server)
	killer.expect("CLIENT KILL TYPE normal", ":1")
	other.posted()
	if !other.peer.closed || killer.ended() {
		t.Error("the caller is spared unless it says SKIPME no, nobody else is")
	}
}

func TestProtocolErrorClosesOneConnection(t *testing.T) {
	server := newRigServer(t, Options{})
	for _, bytes := range []string{
		"*1\r\n$9223372036854775807\r\n", "*1\r\n$18446744073709551620\r\n", "*2147483648\r\n", "*1\r\n$-2\r\n", "*1\r\n$-1\r\n",
		"*1\r\n$+5\r\n", "*1\r\n$ 5\r\n", "*1\r\n$4\r\nPINGxx", "*1\r\n$4\nPING\r\n", "*1\r\n#4\r\n",
	} {
		r, other := dial(t, server), dial(t, server)
		got := show(r.send([]byte(bytes)))
		if !strings.HasPrefix(got, "-ERR Protocol error: ") || !r.peer.flushing {
			t.Errorf("%q: %s, closing %v", bytes, got, r.peer.flushing)
		}
		other.expect("PING", "+PONG")
	}
	if n := server.Stats().ProtocolErrors; n != 10 {
		t.Errorf("%d protocol errors counted", n)
	}
}

func TestStrangerMaySendLittleUntilAuth(t *testing.T) {
	server := newRigServer(t, Options{Password: "secret"})
	wide := "MSET" + strings.Repeat(" k v", 10)
	long := "SET k " + strings.Repeat("v", wire.StrangerMaxBulk+1)
	for line, want := range map[string]string{
		wide: "-ERR Protocol error: unauthenticated multibulk length",
		long: "-ERR Protocol error: unauthenticated bulk length",
	} {
		r := dial(t, server)
		if got := r.do(line); got != want || !r.peer.flushing {
			t.Errorf("%.20s: %s, closing %v", line, got, r.peer.flushing)
		}
		// AUTH in the same pipeline counts for what follows it, however the bytes come.
		for _, auth := range []string{"AUTH secret", "HELLO 2 AUTH default secret"} {
			in := pipeline(t, auth, line, "PING")
			for _, cut := range []int{0, 10, len(in) / 2} {
				r := dial(t, server)
				reply := append([]byte(nil), r.send(in[:cut])...)
				reply = append(reply, r.send(in[cut:])...)
				if got := show(reply); !strings.HasSuffix(got, " | +OK | +PONG") && got != "+OK | +OK | +PONG" {
					t.Errorf("%s, %.20s: %s", auth, line, got)
				}
			}
		}
	}
}

func TestLongPipelineEndsItsTurn(t *testing.T) {
	server := newRigServer(t, Options{})
	r := dial(t, server)
	in := bytes.Repeat([]byte("PING\r\n"), 100_000)
	used, more := r.client.data(in)
	if ran := used / len("PING\r\n"); !more || ran < maxTurnCommands || ran > maxTurnCommands+windowCommands {
		t.Errorf("%d commands in one turn, more %v", ran, more)
	}
	r.drain()
	if got := r.send(in[used:]); len(got) != (len(in)-used)/6*7 {
		t.Errorf("%d bytes of replies", len(got))
	}
}

func TestUnreadRepliesStopTheirPipeline(t *testing.T) {
	server := newRigServer(t, Options{})
	r := dial(t, server)
	r.expect("SET big "+strings.Repeat("v", 256<<10), "+OK")
	in := bytes.Repeat(pipeline(t, "GET big"), windowCommands)
	used, more := r.client.data(in)
	if n := r.out.Len(); !more || n > maxTurnReply+(257<<10) || used == 0 {
		t.Errorf("%d bytes of replies wait, more %v", n, more)
	}
	r.drain()
	for want := 257 << 10; len(in) > used; {
		n, _ := r.client.data(in[used:])
		used += n
		if r.out.Len() > maxTurnReply+want {
			t.Fatal(r.out.Len())
		}
		r.drain()
	}
	if want := windowCommands * (256<<10 + len("$262144\r\n\r\n")); len(r.reply)-len("+OK\r\n") != want {
		t.Errorf("%d bytes, want %d", len(r.reply), want)
	}
}

func TestValuesOfEveryLengthComeBackWhole(t *testing.T) {
	server := newRigServer(t, Options{})
	r := dial(t, server)
	for _, n := range []int{0, 1, 9, 10, 100, replyRoom - 20, replyRoom, 1000, 4095, 4096, 16<<10 - 30, 16 << 10, 32 << 10, 64<<10 + 1, 1 << 20, 5 << 20} {
		value := bytes.Repeat([]byte("0123456789abcdef"), n/16+1)[:n]
		// The replies before it leave the output block at different places.
		for before := range 3 {
			in := append(encode([][]byte{[]byte("SET"), []byte("k"), value}), bytes.Repeat(pipeline(t, "ECHO "+strings.Repeat("e", 700)), before*20)...)
			in = append(in, pipeline(t, "GET k", "PING")...)
			got := r.send(in)
			if !bytes.HasSuffix(got, fmt.Appendf(nil, "$%d\r\n%s\r\n+PONG\r\n", n, value)) {
				t.Errorf("value of %d bytes after %d replies", n, before*20)
			}
		}
	}
}

func TestAnArgumentIsWaitedForAsAWhole(t *testing.T) {
	server := newRigServer(t, Options{})
	r := dial(t, server)
	head := "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000000\r\n"
	r.send([]byte("PING\r\n" + head + "vvv"))
	if want := len(head) + 1000002; r.peer.need != want {
		t.Errorf("need %d, want %d", r.peer.need, want)
	}
	if got := show(r.send(append(bytes.Repeat([]byte("v"), 1000000-3), "\r\n"...))); got != "+OK" {
		t.Error(got)
	}
}

func TestIdleClientIsClosedAndAWaitingOneIsNot(t *testing.T) {
	server, clk := newManualServer(t)
	server.idle.Store(10)
	idle, busy, waiting := dial(t, server), dial(t, server), dial(t, server)
	_, _ = waiting.client.data(pipeline(t, "DEBUG SLEEP 3600"))
	clk.Advance(9 * time.Second)
	busy.expect("PING", "+PONG")
	server.sweep()
	clk.Advance(time.Second)
	server.sweep()
	for _, r := range []*rig{idle, busy, waiting} {
		r.posted()
	}
	if !idle.peer.closed || busy.peer.closed || waiting.peer.closed {
		t.Errorf("closed: idle %v, busy %v, waiting %v", idle.peer.closed, busy.peer.closed, waiting.peer.closed)
	}
	if n := server.Stats().IdleClosed; n != 1 {
		t.Errorf("%d counted", n)
	}
}

func TestClientWithBytesUnderWayIsNotIdle(t *testing.T) {
	server, clk := newManualServer(t)
	server.idle.Store(10)
	sends, reads, stuck := dial(t, server), dial(t, server), dial(t, server)
	stuck.peer.input = 100
	for round := range 5 {
		// One is in the middle of a long value, one takes a long reply slowly, one stopped in the middle.
		sends.peer.input += 1000
		reads.peer.output = 1_000_000 - 1000*round
		clk.Advance(11 * time.Second)
		server.sweep()
		for _, r := range []*rig{sends, reads, stuck} {
			r.posted()
		}
		if sends.peer.closed || reads.peer.closed {
			t.Fatalf("round %d: closed while sending %v, while reading %v", round, sends.peer.closed, reads.peer.closed)
		}
	}
	if !stuck.peer.closed {
		t.Error("half a command keeps a connection for ever")
	}
}

func TestClientsOverTheLimitAreRefused(t *testing.T) {
	server := newRigServer(t, Options{MaxClients: 2})
	a, b := dial(t, server), dial(t, server)
	refused := dial(t, server)
	refused.drain()
	if got := show(refused.reply); got != "-ERR max number of clients reached" || !refused.peer.flushing {
		t.Error(got)
	}
	server.disconnect(refused.client)
	a.expect("CONFIG SET maxclients 3", "+OK")
	dial(t, server).expect("PING", "+PONG")
	server.disconnect(b.client)
	st := server.Stats()
	if st.Clients != 2 || st.PeakClients != 3 || st.RefusedClients != 1 || st.Accepted != 3 {
		t.Errorf("%+v", st)
	}
}

func TestLargeFlushKeepsTheLoopFree(t *testing.T) {
	server := newRigServer(t, Options{})
	r, other := dial(t, server), dial(t, server)
	var fill []byte
	for i := range flushInline + 100 {
		fill = append(fill, pipeline(t, fmt.Sprintf("SET k%d v", i))...)
	}
	r.send(fill)
	used, _ := r.client.data(pipeline(t, "FLUSHALL", "DBSIZE"))
	if !r.peer.paused {
		t.Fatal("the loop did the work itself")
	}
	other.expect("PING", "+PONG")
	r.in = pipeline(t, "FLUSHALL", "DBSIZE")[used:]
	if got := show(r.send(nil)); got != "+OK | :0" {
		t.Error(got)
	}
}

func TestShutdownIsAskedForOnce(t *testing.T) {
	asked := make(chan bool, 8)
	server := newRigServer(t, Options{Shutdown: func() { asked <- true }})
	for range 2 {
		r := dial(t, server)
		if got := show(r.send(pipeline(t, "SET a 1", "SHUTDOWN NOSAVE", "SET a 2"))); got != "+OK" || !r.peer.flushing {
			t.Error(got, r.peer.flushing)
		}
	}
	<-asked
	time.Sleep(10 * time.Millisecond)
	if len(asked) != 0 {
		t.Error("asked twice")
	}
	dial(t, newRigServer(t, Options{})).expect("SHUTDOWN", errorText(errCannotStop))
}

func errorText(s string) string { return "-" + s }
