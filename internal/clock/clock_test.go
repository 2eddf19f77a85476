package clock

import (
	"testing"
	"time"
)

func TestManualClockMovesOnlyByHand(t *testing.T) {
	c := NewManual(1000)
	if got := c.Now(); got != 1000 {
		t.Fatalf("Now = %d, want 1000", got)
	}
	c.Advance(1500 * time.Millisecond)
	if got := c.Now(); got != 2500 {
		t.Fatalf("Now = %d, want 2500", got)
	}
}

func TestSystemClockAgreesWithTheWall(t *testing.T) {
	c := System()
	before := time.Now().UnixMilli()
	got := c.Now()
	after := time.Now().UnixMilli()
	if got < before-1 || got > after+1 {
		t.Fatalf("Now = %d, want between %d and %d", got, before, after)
	}
}

func TestSystemClockCannotBeAdvanced(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("Advance of a system clock did not panic")
		}
	}()
	System().Advance(time.Second)
}

func TestNowMakesNoGarbage(t *testing.T) {
	c := System()
	if n := testing.AllocsPerRun(100, func() { c.Now() }); n != 0 {
		t.Fatalf("Now allocates %v times", n)
	}
}

func TestSettingTheWallClockBackLengthensNothing(t *testing.T) {
	// As after a start at second one of the epoch, by a wall clock that was set to today since.
	c := &Clock{anchor: time.Now(), wall: 1000}
	if now := c.Now(); now < 1000 || now > 61_000 {
		t.Fatalf("%d ms: the clock follows the wall", now)
	}
}
