package capacity

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/larder-cache/larder/test/internal/raw"
	"github.com/larder-cache/larder/test/internal/server"
)

const (
	// crowd records end at one instant.
	crowd = 100_000
	// goneWithin bounds the time from the deadline until DBSIZE says so.
	goneWithin = 5 * time.Second
	// expiryPing bounds the 99th percentile of a bystander's PING meanwhile.
	expiryPing = 20 * time.Millisecond
)

// TestACrowdThatEndsAtOneInstantLeavesWithoutReads: nobody reads the records,
// yet they leave the count, and nobody else waits for it.
func TestACrowdThatEndsAtOneInstantLeavesWithoutReads(t *testing.T) {
	p := server.Start(t)
	c := raw.Dial(t, p.Addr)
	c.Want(`+"OK"`, "SET", "stays", "v")
	c.Want(`+"OK"`, "SET", "stays longer", "v", "EX", "1000")
	deadline := time.Now().Add(4 * time.Second).Truncate(time.Millisecond)
	at := strconv.FormatInt(deadline.UnixMilli(), 10)
	pipelined(t, p, crowd,
		func(dst []byte, i int) []byte { return raw.Append(dst, "SET", key(i), value(1, i), "PXAT", at) },
		func(i int, r raw.Reply) {
			if r.Text != "OK" {
				t.Fatalf("SET %s: %s", key(i), r)
			}
		})
	if time.Now().After(deadline) {
		t.Fatal("loading took longer than the records' life; the machine is too slow for this test")
	}
	c.Want(":\""+strconv.Itoa(crowd+2)+"\"", "DBSIZE")
	var times []time.Duration
	for {
		start := time.Now()
		c.Want(`+"PONG"`, "PING")
		times = append(times, time.Since(start))
		n := c.Do("DBSIZE").Int()
		if time.Now().Before(deadline) && n != crowd+2 {
			t.Fatalf("DBSIZE says %d, %v before the deadline", n, time.Until(deadline))
		}
		if n == 2 {
			break
		}
		if time.Since(deadline) > goneWithin {
			t.Fatalf("%d records are counted %v after their deadline", n-2, goneWithin)
		}
	}
	t.Logf("gone from DBSIZE %v after the deadline", time.Since(deadline).Round(time.Millisecond))
	slices.Sort(times)
	if p99 := times[len(times)*99/100]; p99 > expiryPing {
		t.Errorf("PING took %v at the 99th percentile", p99)
	}
	for _, command := range [][]string{{"GET", key(1)}, {"TTL", key(1)}, {"TYPE", key(1)}, {"PERSIST", key(1)}} {
		if r := c.Do(command...); !r.Null && r.Int() != -2 && r.Int() != 0 && r.Text != "none" {
			t.Errorf("%q after the deadline: %s", command, r)
		}
	}
	c.Want(`$"v"`, "GET", "stays")
	c.Want(`$"v"`, "GET", "stays longer")
}

// TestAnExpiredRecordIsAbsentToEveryCommand asks right after the deadline, when
// nothing can have swept the record yet.
func TestAnExpiredRecordIsAbsentToEveryCommand(t *testing.T) {
	t.Parallel()
	p := server.Start(t)
	c := raw.Dial(t, p.Addr)
	for _, test := range []struct {
		command []string
		reply   string
	}{
		{[]string{"GET", "k"}, "$null"},
		{[]string{"MGET", "k"}, "*[$null]"},
		{[]string{"GETDEL", "k"}, "$null"},
		{[]string{"GETEX", "k", "PERSIST"}, "$null"},
		{[]string{"GETSET", "k", "new"}, "$null"},
		{[]string{"GETRANGE", "k", "0", "-1"}, `$""`},
		{[]string{"STRLEN", "k"}, `:"0"`},
		{[]string{"EXISTS", "k"}, `:"0"`},
		{[]string{"TYPE", "k"}, `+"none"`},
		{[]string{"TTL", "k"}, `:"-2"`},
		{[]string{"PTTL", "k"}, `:"-2"`},
		{[]string{"EXPIRETIME", "k"}, `:"-2"`},
		{[]string{"EXPIRE", "k", "100"}, `:"0"`},
		{[]string{"PERSIST", "k"}, `:"0"`},
		{[]string{"TOUCH", "k"}, `:"0"`},
		{[]string{"DEL", "k"}, `:"0"`},
		{[]string{"COPY", "k", "l"}, `:"0"`},
		{[]string{"RENAME", "k", "l"}, `-"ERR no such key"`},
		{[]string{"SET", "k", "v", "XX"}, "$null"},
		{[]string{"SET", "k", "v", "NX"}, `+"OK"`},
		{[]string{"SETNX", "k", "v"}, `:"1"`},
		{[]string{"MSETNX", "k", "v"}, `:"1"`},
		{[]string{"APPEND", "k", "v"}, `:"1"`},
		{[]string{"SETRANGE", "k", "1", "v"}, `:"2"`},
		{[]string{"INCR", "k"}, `:"1"`},
		{[]string{"KEYS", "*"}, "*[]"},
		{[]string{"SCAN", "0", "COUNT", "100"}, `*[$"0" *[]]`},
		{[]string{"RANDOMKEY"}, "$null"},
		{[]string{"OBJECT", "ENCODING", "k"}, "$null"},
		{[]string{"MEMORY", "USAGE", "k"}, "$null"},
	} {
		c.Want(`+"OK"`, "FLUSHALL")
		c.Want(`+"OK"`, "SET", "k", "41", "PX", "1")
		// PTTL turns negative in the very millisecond of the deadline.
		for c.Do("PTTL", "k").Int() >= 0 {
		}
		c.Want(test.reply, test.command...)
	}
}
