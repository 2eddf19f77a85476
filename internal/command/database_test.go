package command

import (
	"strconv"
	"testing"

	"github.com/larder-cache/larder/internal/clock"
	"github.com/larder-cache/larder/internal/store"
)

func TestSelectingACollectionCostsNothing(t *testing.T) {
	server := newRigServer(t, Options{Databases: 16})
	r := dial(t, server)
	before := server.store.Stats()
	for i := range 2 * store.MaxCollections {
		r.expect("SELECT name"+strconv.Itoa(i), "+OK")
		r.expect("GET k", "nil")
		r.expect("DBSIZE", ":0")
		r.expect("DEL k", ":0")
	}
	for i := range 16 {
		r.expect("SELECT "+strconv.Itoa(i), "+OK")
		r.expect("EXISTS k", ":0")
	}
	r.expect("SELECT 16", "-ERR DB index is out of range")
	if after := server.store.Stats(); after.Collections != before.Collections || after.Committed != before.Committed {
		t.Fatalf("before %+v, after %+v", before, after)
	}
}

func TestACollectionComesWithItsFirstWriteForAllWhoWait(t *testing.T) {
	server := newRigServer(t, Options{Databases: 16})
	a, b := dial(t, server), dial(t, server)
	for _, r := range []*rig{a, b} {
		r.expect("SELECT later", "+OK")
		r.expect("GET k", "nil")
		r.expect("RANDOMKEY", "nil")
		r.expect("EXPIRE k 10", ":0")
		r.expect("FLUSHDB", "+OK")
	}
	a.expect("SET k v", "+OK")
	b.expect("GET k", "\"v\"")
	b.expect("INCR n", ":1")
	a.expect("DBSIZE", ":2")
	// In one window: what was hashed for the empty collection is hashed again.
	c := dial(t, server)
	got := string(c.send(pipeline(t, "SELECT fresh", "SET k 1", "GET k", "SELECT later", "GET k")))
	if want := "+OK\r\n+OK\r\n$1\r\n1\r\n+OK\r\n$1\r\nv\r\n"; got != want {
		t.Errorf("one window: %q, want %q", got, want)
	}
	// COPY and MOVE make the target only when there is something to put there.
	b.expect("COPY nothing k DB 7", ":0")
	b.expect("MOVE nothing 8", ":0")
	b.expect("COPY k k DB 9", ":1")
	b.expect("MOVE n 9", ":1")
	b.expect("SELECT 9", "+OK")
	b.expect("DBSIZE", ":2")
	for _, name := range []string{"7", "8"} {
		if _, ok := server.store.Lookup(name); ok {
			t.Errorf("collection %s was made for nothing", name)
		}
	}
}

func TestARefusedMsetChangesNothing(t *testing.T) {
	small, err := store.Open(store.Options{MaxMemory: store.MinMaxMemory, Clock: clock.System()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = small.Close() }()
	server := newRigServer(t, Options{Store: small})
	r := dial(t, server)
	r.expect("SET a old", "+OK")
	huge := make([]byte, 20<<20)
	reply := r.send(encode([][]byte{[]byte("MSET"), []byte("a"), []byte("new"), []byte("b"), huge, []byte("c"), []byte("z")}))
	if string(reply) != "-OOM command not allowed when used memory > 'maxmemory'.\r\n" {
		t.Fatalf("%.80q", reply)
	}
	r.expect("MGET a b c", `["old", nil, nil]`)
	r.expect("DBSIZE", ":1")
}
