package index

import (
	"strconv"
	"sync/atomic"
	"testing"
)

// laneWithKeys makes a table and stores n keys that all belong to its first lane.
func laneWithKeys(t *testing.T, n int) (*Table, *lane, []string) {
	t.Helper()
	tab, _ := newTable(t, 64<<20)
	ln := &tab.lanes[0]
	var keys []string
	for i := 0; len(keys) < n; i++ {
		if k := "key:" + strconv.Itoa(i); tab.laneOf(tab.Hash([]byte(k))) == ln {
			keys = append(keys, k)
			if err := tab.set(k, "v", 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	return tab, ln, keys
}

// afterSplits splits the lane 32 times and calls fn after each with every key that moved, and the route before.
func afterSplits(t *testing.T, tab *Table, ln *lane, keys []string, fn func(old, h uint64, key []byte)) {
	t.Helper()
	moved := 0
	for range segmentBuckets {
		old := ln.route.Load()
		ln.mu.Lock()
		if !tab.split(ln) {
			t.Fatal("no split")
		}
		ln.mu.Unlock()
		for _, k := range keys {
			kb := []byte(k)
			if h := tab.Hash(kb); bucketOf(h, buckets(old)) != bucketOf(h, buckets(ln.route.Load())) {
				moved++
				fn(old, h, kb)
			}
		}
	}
	if moved == 0 {
		t.Fatal("no record moved")
	}
}

// TestMissWithAnOldRouteIsNotBelieved plays the schedule that a stress test hardly meets: a reader takes the route, then
// a split moves its record away and completes, then the reader looks at version and bucket.
func TestMissWithAnOldRouteIsNotBelieved(t *testing.T) {
	tab, ln, keys := laneWithKeys(t, 150)
	afterSplits(t, tab, ln, keys, func(old, h uint64, key []byte) {
		home := tab.bucketAt(old, bucketOf(h, buckets(old)))
		r := reading{grow: true}
		if st, ok := tab.attempt(ln, home, atomic.LoadUint32(&home.version), old, h, key, &r); ok {
			t.Fatalf("%s: a reader with an old route believes %v", key, st)
		}
		if _, ok := tab.get(string(key)); !ok {
			t.Fatalf("%s is gone", key)
		}
	})
}

// TestChangeUnderAReaderIsNoticed plays a change between a reader's first and second look at the version, for every kind
// of change.
func TestChangeUnderAReaderIsNoticed(t *testing.T) {
	tab, _ := newTable(t, 64<<20)
	k := []byte("key")
	h := tab.Hash(k)
	ln := tab.laneOf(h)
	changes := map[string]func(){
		"overwrite in place":  func() { _ = tab.set("key", "other", 0) },
		"overwrite elsewhere": func() { _ = tab.set("key", string(make([]byte, 900)), 0) },
		"delete":              func() { tab.Delete(h, k) },
		"insert":              func() { tab.Delete(h, k); _ = tab.set("key", "again", 0) },
		"count":               func() { _ = tab.set("key", "1", 0); _, _ = tab.Add(h, k, 1, 0, false) },
		"expire":              func() { x := tab.Lock(h, k); _ = x.SetExpire(birth + 1000); x.Unlock() },
		"persist":             func() { x := tab.Lock(h, k); _ = x.SetExpire(0); x.Unlock() },
		"write a part":        func() { x := tab.Lock(h, k); _ = x.WriteAt(1, []byte("xx")); x.Unlock() },
		"grow a large value": func() {
			_ = tab.set("key", string(make([]byte, 100_000)), 0)
			x := tab.Lock(h, k)
			_ = x.WriteAt(100_000, make([]byte, 300_000))
			x.Unlock()
		},
		"flush": func() { tab.Flush() },
	}
	for name, change := range changes {
		_ = tab.set("key", "value", birth+5000)
		route := ln.route.Load()
		home := tab.bucketAt(route, bucketOf(h, buckets(route)))
		v := atomic.LoadUint32(&home.version)
		change()
		r := reading{grow: true}
		if st, ok := tab.attempt(ln, home, v, route, h, k, &r); ok {
			t.Errorf("%s: a reader that began before believes %v", name, st)
		}
	}
}
