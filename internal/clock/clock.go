// Package clock is the one source of time of a cache.
//
// Deadlines are absolute milliseconds since the Unix epoch, because that is what travels on the wire and lies in a log.
// The clock that they are compared with is anchored once to the wall clock and then follows the monotonic clock, so a
// wall clock that is set back while the process runs never lengthens a time to live.
//
// Nothing here ticks: a record without a deadline never asks for the time, and a record with one pays a single
// monotonic read (about 20 ns, no system call, no allocation). An idle cache therefore causes no wake-up.
//
// Tests inject a manual clock, which stands still until it is advanced.
package clock

import (
	"sync/atomic"
	"time"
)

// A Clock tells milliseconds. It is safe for concurrent use.
type Clock struct {
	anchor time.Time // carries the monotonic reading taken at wall
	wall   int64     // ms since the epoch at anchor
	manual *atomic.Int64
}

// System returns a clock that follows the machine's time.
func System() *Clock {
	now := time.Now()
	return &Clock{anchor: now, wall: now.UnixMilli()}
}

// NewManual returns a clock that stands at ms (milliseconds since the Unix epoch) until Advance moves it.
func NewManual(ms int64) *Clock {
	c := &Clock{manual: new(atomic.Int64)}
	c.manual.Store(ms)
	return c
}

// Now returns milliseconds since the Unix epoch.
func (c *Clock) Now() int64 {
	if c.manual != nil {
		return c.manual.Load()
	}
	return c.wall + int64(time.Since(c.anchor)/time.Millisecond)
}

// Advance moves a manual clock; a system clock cannot be moved and panics.
func (c *Clock) Advance(d time.Duration) {
	if c.manual == nil {
		panic("clock: a system clock cannot be advanced")
	}
	c.manual.Add(int64(d / time.Millisecond))
}

// IsManual reports whether the clock is moved by hand.
func (c *Clock) IsManual() bool { return c.manual != nil }
