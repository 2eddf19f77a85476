package process

import (
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/larder-cache/larder/test/internal/raw"
	"github.com/larder-cache/larder/test/internal/server"
)

// TestSignalsUnderLoadEndTheServerInOrder: clients are writing and reading when
// the signal comes; each sees whole replies and then the end.
func TestSignalsUnderLoadEndTheServerInOrder(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			p := server.Start(t)
			var clients sync.WaitGroup
			warm := make(chan struct{}, 8)
			for range cap(warm) {
				c := raw.Dial(t, p.Addr)
				clients.Go(func() {
					for round := 0; ; round++ {
						if c.TrySend(raw.Append(nil, "INCR", "n")) != nil {
							return
						}
						r, err := c.TryReceive()
						if err != nil {
							return
						}
						if r.Kind != ':' {
							t.Errorf("INCR while the server ends: %s", r)
							return
						}
						if round == 100 {
							warm <- struct{}{}
						}
					}
				})
			}
			for range cap(warm) {
				<-warm
			}
			start := time.Now()
			if code, err := p.Stop(sig); err != nil || code != 0 {
				t.Errorf("exit code %d (%v), want 0", code, err)
			}
			t.Logf("ended %v after the signal", time.Since(start).Round(time.Millisecond))
			clients.Wait()
			if log := p.Log(); strings.Contains(log, "panic") || strings.Contains(log, "goroutine ") {
				t.Errorf("the log shows a crash:\n%s", log)
			}
		})
	}
}

// TestIdleConnectionsDoNotDelayTheEnd: clients that say nothing, and one within
// a command, are not waited for.
func TestIdleConnectionsDoNotDelayTheEnd(t *testing.T) {
	t.Parallel()
	p := server.Start(t)
	for range 20 {
		raw.Dial(t, p.Addr).Want(`+"PONG"`, "PING")
	}
	raw.Dial(t, p.Addr).Send([]byte("*3\r\n$3\r\nSET\r\n"))
	start := time.Now()
	if code, err := p.Stop(syscall.SIGTERM); err != nil || code != 0 {
		t.Errorf("exit code %d (%v), want 0", code, err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the end took %v", took)
	}
}

// TestDebugSleepPausesOnlyItsClient, other clients and its own later commands
// aside.
func TestDebugSleepPausesOnlyItsClient(t *testing.T) {
	t.Parallel()
	if server.UnderTestIsRedis() {
		t.Skip("redis-server pauses everybody; LARDER_TEST_SERVER puts it in larder's place")
	}
	p := server.Start(t, "--loops", "1")
	sleeper, other := raw.Dial(t, p.Addr), raw.Dial(t, p.Addr)
	other.Want(`+"PONG"`, "PING")
	const nap = 1500 * time.Millisecond
	start := time.Now()
	sleeper.Send(append(raw.Append(nil, "DEBUG", "SLEEP", "1.5"), raw.Append(nil, "ECHO", "after")...))
	for time.Since(start) < nap/2 {
		asked := time.Now()
		other.Want(`+"PONG"`, "PING")
		if took := time.Since(asked); took > nap/2 {
			t.Errorf("PING of another client took %v", took)
		}
	}
	if r := sleeper.Receive(); r.Text != "OK" || time.Since(start) < nap {
		t.Errorf("DEBUG SLEEP 1.5 answered %s after %v", r, time.Since(start))
	}
	if r := sleeper.Receive(); r.Text != "after" {
		t.Errorf("the command behind DEBUG SLEEP answered %s", r)
	}
}
