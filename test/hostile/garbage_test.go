package hostile

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/larder-cache/larder/test/internal/raw"
	"github.com/larder-cache/larder/test/internal/server"
)

// attackWithin bounds how long one garbage connection waits for an answer that
// may never come.
const attackWithin = 20 * time.Millisecond

// TestGarbageHarmsNobody throws seeded random bytes, and honest streams with
// random bytes changed, at the server.
func TestGarbageHarmsNobody(t *testing.T) {
	t.Parallel()
	p := server.Start(t)
	by := watch(t, p)
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var stream []byte
		if seed%2 == 0 {
			stream = make([]byte, 1+rng.IntN(5000))
			for i := range stream {
				stream[i] = byte(rng.UintN(256))
			}
		} else {
			// SHUTDOWN and FLUSHALL cannot arise from a few changed bytes of these.
			for range 50 {
				stream = raw.Append(stream, "SET", "garbage", "value")
				stream = raw.Append(stream, "GET", "garbage")
				stream = raw.Append(stream, "MGET", "garbage", "a", "b")
			}
			for range 1 + rng.IntN(4) {
				stream[rng.IntN(len(stream))] = "\x00\r\n*$-+:0129 \"'\xff"[rng.IntN(16)]
			}
		}
		c := raw.Dial(t, p.Addr)
		_ = c.TrySend(stream)
		drain(t, c)
		c.Close()
		if seed%20 == 0 {
			by.unharmed(32 * mib)
		}
	}
	by.unharmed(32 * mib)
}

// drain reads what comes until the connection closes or stays silent.
func drain(t *testing.T, c *raw.Conn) {
	t.Helper()
	part := make([]byte, 16<<10)
	for {
		if err := c.SetReadDeadline(time.Now().Add(attackWithin)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(part); err != nil {
			return
		}
	}
}
