package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/larder-cache/larder/internal/clock"
	"github.com/larder-cache/larder/internal/invariants"
	"github.com/larder-cache/larder/internal/memory"
	"github.com/larder-cache/larder/internal/store"
)

// quiet are pipelines that must leave nothing to the garbage collector.
var quiet = []string{
	"GET k", "GET nope", "SET k v", "SET k v EX 100", "SET k v PX 100000", "SET k v XX", "SET k v NX", "SET k v GET", "SET k v KEEPTTL",
	"SETEX k 100 v", "SETNX k v", "GETSET k v", "GETEX k", "GETEX k EX 100", "GETEX k PERSIST", "MGET a b c d e f nope", "MSET a 1",
	"MSET a 1 b 2 c 3 d 4 e 5 f 6", "MSETNX a 1 b 2", "STRLEN k", "GETRANGE k 0 -1", "SETRANGE k 0 w", "INCR n", "DECR n", "INCRBY n 10",
	"DECRBY n 10", "SET x v | DEL x", "DEL nope nope2", "EXISTS a b c nope", "TOUCH a b", "TYPE k", "TTL k", "PTTL k", "EXPIRE k 100",
	"EXPIRE k 200 GT", "PEXPIREAT k 33177117420000", "PERSIST k", "EXPIRETIME k", "SET x v | RENAME x y", "COPY k z REPLACE", "RANDOMKEY",
	"KEYS k", "KEYS *", "SCAN 0", "SCAN 0 MATCH k*[a-z] COUNT 100", "OBJECT ENCODING k", "OBJECT IDLETIME k", "MEMORY USAGE k",
}

func TestCommandsMakeNoGarbage(t *testing.T) {
	if memory.HeapBacked || invariants.Enabled {
		t.Skip("not measured here: in a race build sync.Pool drops at random, and the checks of invariants allocate")
	}
	conn := newTestConn(t, clock.NewManual(1_700_000_000_000))
	conn.ask(t, "MSET k v a 1 b 2 c 3 d 4 e 5 f 6")
	conn.ask(t, "INCR n")
	for _, pipeline := range quiet {
		var in []byte
		for _, command := range strings.Split(pipeline, " | ") {
			in = conn.encode(in, splitCommand(t, command)...)
		}
		if n := testing.AllocsPerRun(200, func() { conn.feed(in) }); n != 0 {
			t.Errorf("%s: %v allocations", pipeline, n)
		}
	}
}

func TestRefusedStoreNamesTheLimitAndLosesNoOtherKey(t *testing.T) {
	conn := connect(t, store.Options{MaxMemory: store.MinMaxMemory, MaxValue: 1 << 20, Clock: clock.NewManual(1_700_000_000_000)}, 1)[0]
	value := strings.Repeat("v", 1000)
	stored := 0
	for ; ; stored++ {
		reply := conn.ask(t, "SET key:%d %s", stored, value)
		if reply == "+OK" {
			continue
		}
		if reply != "-"+errOOM {
			t.Fatal(reply)
		}
		break
	}
	if stored < 1000 {
		t.Fatalf("only %d keys fit", stored)
	}
	for _, call := range []string{"SET new %s", "SETNX new %s", "APPEND new %s", "SETRANGE new 10 %s", "SETEX new 100 %s", "GETSET new %s", "SET new %s GET"} {
		if got := conn.ask(t, call, value); got != "-"+errOOM {
			t.Errorf("%s: %s", call, got)
		}
	}
	long := strings.Repeat("w", 900_000)
	for _, call := range []string{
		"MSETNX one 1 two " + long, "SET key:1 " + long, "SETRANGE key:2 500000 x", "APPEND key:3 " + long, "SET key:4 " + long + " GET",
	} {
		if got := conn.ask(t, "%s", call); got != "-"+errOOM {
			t.Errorf("%.20s: %.60s", call, got)
		}
	}
	if got := conn.ask(t, "EXISTS new one two"); got != ":0" {
		t.Error("a refused key exists:", got)
	}
	for i := range stored {
		if got := conn.ask(t, "GET key:%d", i); got != `"`+value+`"` {
			t.Fatalf("key:%d is %.40s", i, got)
		}
	}
	too := strings.Repeat("x", 1<<20+1)
	for _, call := range []string{"SET key:1 " + too, "APPEND key:1 " + too, "SETRANGE key:1 1048576 x", "SETRANGE new 1048576 x", "MSET key:1 " + too + " a b"} {
		if got := conn.ask(t, "%s", call); got != "-"+errTooLong {
			t.Errorf("%.20s: %.60s", call, got)
		}
	}
	if got := conn.ask(t, "SET %s v", strings.Repeat("k", store.MaxKeyBytes+1)); got != "-"+errKeyTooLong {
		t.Errorf("a key above the limit: %s", got)
	}
	if got := conn.ask(t, "STRLEN key:1"); got != fmt.Sprintf(":%d", len(value)) {
		t.Error("the old value is gone:", got)
	}
	for i := range stored / 2 {
		conn.ask(t, "DEL key:%d", i)
	}
	if got := conn.ask(t, "SET new %s", value); got != "+OK" {
		t.Error("after removing half of the keys:", got)
	}
}

func TestLargeValuesRoundTrip(t *testing.T) {
	conn := newTestConn(t, clock.NewManual(1_700_000_000_000))
	for _, size := range []int{100, 4 << 10, 16<<10 - 10, 16 << 10, 64<<10 + 1, 256 << 10, 1<<20 + 17, 5 << 20} {
		value := make([]byte, size)
		for i := range value {
			value[i] = byte(i * 7 >> 3)
		}
		key, want := []byte("k"), quoteBulk(value)
		conn.do([]byte("SET"), key, value)
		for _, call := range []string{"GET k", "GETRANGE k 0 -1", "GETEX k EX 100", "SET k v KEEPTTL GET"} {
			if got := conn.ask(t, "%s", call); got != want {
				t.Errorf("%d bytes: %s gives %d bytes rendered, want %d", size, call, len(got), len(want))
			}
		}
		conn.do([]byte("APPEND"), []byte("k"), value[1:])
		conn.ask(t, "RENAME k l")
		conn.ask(t, "COPY l m REPLACE")
		if got := conn.ask(t, "GETDEL m"); got != quoteBulk(append([]byte("v"), value[1:]...)) {
			t.Errorf("%d bytes: APPEND, RENAME and COPY give %d bytes rendered", size, len(got))
		}
	}
}

func BenchmarkCommands(b *testing.B) {
	const (
		resident = 1 << 16
		depth    = 64
	)
	value := strings.Repeat("v", 256)
	for _, c := range []struct {
		name, command, perKey, end string // perKey with the number of a key
		keys                       int
	}{
		{"get", "GET", " key:%d", "", 1},
		{"set", "SET", " key:%d " + value, "", 1},
		{"set-ex", "SET", " key:%d " + value, " EX 100", 1},
		{"set-xx", "SET", " key:%d " + value, " XX", 1},
		{"incr", "INCR", " n:%d", "", 1},
		{"expire", "EXPIRE", " key:%d", " 100", 1},
		{"del", "DEL", " gone:%d", "", 1},
		{"mget", "MGET", " key:%d", "", 10},
		{"mset", "MSET", " key:%d " + value, "", 10},
	} {
		b.Run(fmt.Sprintf("command=%s/keys=%d", c.name, c.keys), func(b *testing.B) {
			conn := newTestConn(b, clock.NewManual(1_700_000_000_000))
			for i := range resident {
				conn.ask(b, "SET key:%d %s", i, value)
			}
			var pipelines [][]byte
			n := 0
			for range resident / depth / c.keys {
				var in []byte
				for range depth {
					text := c.command
					for range c.keys {
						text += fmt.Sprintf(c.perKey, n*7919%resident)
						n++
					}
					in = conn.encode(in, splitCommand(b, text+c.end)...)
				}
				pipelines = append(pipelines, in)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += depth {
				conn.feed(pipelines[i/depth%len(pipelines)])
			}
		})
	}
}
