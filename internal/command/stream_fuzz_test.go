package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/larder-cache/larder/internal/clock"
	"github.com/larder-cache/larder/internal/store"
)

// unsteady are parts of streams whose replies differ from run to run or that would outlast the run: clock, counters,
// numbers of connections, the order of keys, sleeping, and settings of the server.
var unsteady = []string{"debug", "time", "info", "client", "hello", "random", "scan", "keys", "memory", "config"}

// fuzzRuns is after how many runs the store is a new one: streams make collections.
const fuzzRuns = 500

// FuzzStreamSplits runs a stream of commands at once and in pieces: the replies are the same.
func FuzzStreamSplits(f *testing.F) {
	for _, stream := range streams(f) {
		f.Add(stream, uint16(7), uint16(20), false)
		f.Add(append([]byte("AUTH secret\r\n"), stream...), uint16(7), uint16(20), true)
	}
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var stream []byte
		for _, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, ">") && len(stream) < 1<<10 {
				stream = append(stream, pipeline(f, strings.TrimLeft(line, ">! "))...)
			}
		}
		f.Add(stream, uint16(100), uint16(100), false)
	}
	var server *Server
	runs := 0
	fresh := func(t *testing.T) {
		if server != nil {
			if err := server.store.Close(); err != nil {
				t.Fatal(err)
			}
		}
		s, err := store.Open(store.Options{MaxMemory: 256 << 20, Clock: clock.NewManual(1_700_000_000_000)})
		if err != nil {
			t.Fatal(err)
		}
		if server, err = New(Options{Store: s}); err != nil {
			t.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, a, b uint16, locked bool) {
		if len(stream) > 4<<10 {
			return
		}
		lower := bytes.ToLower(stream)
		for _, part := range unsteady {
			if bytes.Contains(lower, []byte(part)) {
				return
			}
		}
		if runs%fuzzRuns == 0 {
			fresh(t)
		}
		runs++
		server.setPassword("")
		if locked {
			server.setPassword("secret")
		}
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
			if r.ended() {
				reply = append(reply, "+closed\r\n"...)
			}
			return show(reply)
		}
		want := run(stream)
		if strings.Contains(want, "malformed") || strings.Contains(want, "cut short") {
			t.Fatalf("%q: %s", stream, want)
		}
		i := int(a) % (len(stream) + 1)
		k := i + int(b)%(len(stream)-i+1)
		if got := run(stream[:i], stream[i:k], stream[k:]); got != want {
			t.Fatalf("%q cut at %d and %d\n\tgot  %s\n\twant %s", stream, i, k, got, want)
		}
		if len(stream) > 200 {
			return
		}
		pieces := make([][]byte, len(stream))
		for n := range stream {
			pieces[n] = stream[n : n+1]
		}
		if got := run(pieces...); got != want {
			t.Fatalf("%q byte by byte\n\tgot  %s\n\twant %s", stream, got, want)
		}
	})
}
