package store

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-cache/larder/internal/clock"
	"github.com/larder-cache/larder/internal/index"
	"github.com/larder-cache/larder/internal/memory"
)

func open(t *testing.T, o Options) *Store {
	t.Helper()
	if o.MaxMemory == 0 {
		o.MaxMemory = 32 << 20
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestEveryProblemOfOptionsIsReportedAtOnce(t *testing.T) {
	_, err := Open(Options{MaxMemory: 1, MaxValue: -1, HugePages: "always"})
	if !errors.Is(err, ErrOptions) {
		t.Fatal(err)
	}
	if n := len(err.(interface{ Unwrap() []error }).Unwrap()); n != 3 {
		t.Fatalf("%d problems reported, want 3: %v", n, err)
	}
}

func TestCollectionLookupIsExact(t *testing.T) {
	s := open(t, Options{})
	a, err := s.Collection("th")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Lookup("th2"); ok {
		t.Fatal("th2 was found")
	}
	if _, ok := s.Lookup("t"); ok {
		t.Fatal("t was found")
	}
	if b, _ := s.Collection("th"); b != a {
		t.Fatal("the same name gives two collections")
	}
	if _, err := s.Create("th", 0); !errors.Is(err, ErrExists) {
		t.Fatal(err)
	}
	for _, n := range []string{"", string(make([]byte, 256))} {
		if _, err := s.Collection(n); !errors.Is(err, ErrName) {
			t.Fatal(err)
		}
	}
}

func TestManyMakeTheSameCollectionAtOnce(t *testing.T) {
	s := open(t, Options{})
	var wg sync.WaitGroup
	got := make([]*Collection, 8)
	for i := range got {
		wg.Go(func() { got[i], _ = s.Collection("one") })
	}
	wg.Wait()
	for _, c := range got {
		if c == nil || c != got[0] {
			t.Fatal("two collections of one name")
		}
	}
}

func TestReaperRemovesExpiredRecordsWithoutReads(t *testing.T) {
	s := open(t, Options{})
	c, _ := s.Collection("0")
	now := s.Clock().Now()
	for i := range 1000 {
		k := strconv.AppendInt(nil, int64(i), 10)
		if err := c.Set(c.Hash(k), k, k, now+int64(i%200), 0); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.Set(c.Hash([]byte("stays")), []byte("stays"), nil, 0, 0)
	deadline := time.Now().Add(20 * time.Second)
	for c.Len() != 1 {
		if time.Now().After(deadline) {
			t.Fatalf("%d records left", c.Len())
		}
		time.Sleep(5 * time.Millisecond)
	}
	if st := s.Stats(); st.Expired != 1000 || st.Expiring != 0 || st.Records != 1 {
		t.Fatalf("%+v", st)
	}
}

func TestCollectionMadeWhileTheReaperSleepsIsReaped(t *testing.T) {
	s := open(t, Options{})
	_, _ = s.Collection("a")
	time.Sleep(10 * time.Millisecond) // the reaper sleeps, or not: both must work
	c, _ := s.Collection("b")
	k := []byte("k")
	_ = c.Set(c.Hash(k), k, k, s.Clock().Now()+20, 0)
	for begin := time.Now(); c.Len() != 0; time.Sleep(time.Millisecond) {
		if time.Since(begin) > 20*time.Second {
			t.Fatal("not reaped")
		}
	}
}

func TestReaperVisitsNothingWhenNothingIsDue(t *testing.T) {
	clk := clock.NewManual(1_000_000)
	s := open(t, Options{Clock: clk})
	c, _ := s.Collection("0")
	k := []byte("k")
	_ = c.Set(c.Hash(k), k, k, 1_010_000, 0)
	for range 5 {
		s.Reap()
	}
	if st := s.Stats(); st.ReaperVisits != 0 || st.ReaperPasses != 5 {
		t.Fatalf("%d visits in %d passes", st.ReaperVisits, st.ReaperPasses)
	}
	clk.Advance(11 * time.Second)
	if r := s.Reap(); r.Lanes != 1 || r.Records != 1 {
		t.Fatalf("one lane of 64 has something: %+v", r)
	}
}

func TestClosedStoreRefusesByName(t *testing.T) {
	s, err := Open(Options{MaxMemory: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := s.Collection("0")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); !errors.Is(err, index.ErrClosed) {
		t.Fatal(err)
	}
	if _, err := s.Collection("1"); !errors.Is(err, index.ErrClosed) {
		t.Fatal(err)
	}
	if err := c.Set(1, []byte("k"), nil, 0, 0); !errors.Is(err, index.ErrClosed) {
		t.Fatal(err)
	}
}

func TestMemoryGoesBackWithoutCalls(t *testing.T) {
	clk := clock.NewManual(1_000_000)
	s := open(t, Options{Clock: clk, MaxMemory: 64 << 20})
	a, _ := s.Collection("a")
	b, _ := s.Collection("b")
	value := make([]byte, 900)
	n := 0
	for ; n < 50_000; n++ {
		k := strconv.AppendInt(nil, int64(n), 10)
		c := a
		if n%2 == 0 {
			c = b
		}
		if c.Set(c.Hash(k), k, value, clk.Now()+1000, 0) != nil {
			break
		}
	}
	k := []byte("stays")
	_ = a.Set(a.Hash(k), k, value, 0, 0)
	peak := s.Stats().Committed
	clk.Advance(2 * time.Second)
	s.Reap()
	began := clk.Now()
	for again := s.Reclaim(); again != memory.Forever; again = s.Reclaim() {
		clk.Advance(again)
	}
	if st := s.Stats(); st.Records != 1 || st.Committed > peak/5 || clk.Now()-began > 20_000 {
		t.Fatalf("%d bytes of %d are left after %d ms", st.Committed, peak, clk.Now()-began)
	}
	if v, _, ok := a.Get(a.Hash(k), nil, k); !ok || len(v) != len(value) {
		t.Fatal("the record that stays is gone")
	}
}

func TestReclaimerWorksByItselfAndThenSleeps(t *testing.T) {
	s, err := Open(Options{MaxMemory: 64 << 20, Reclaim: memory.Reclaim{Quiet: time.Millisecond, CoolOff: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	c, _ := s.Collection("0")
	value := make([]byte, 3000)
	for round := range 2 {
		for i := range 10_000 {
			k := strconv.AppendInt(nil, int64(i), 10)
			if err := c.Set(c.Hash(k), k, value, 0, 0); err != nil {
				t.Fatal(err)
			}
		}
		peak := s.Stats().Committed
		c.Flush()
		for begin := time.Now(); s.Stats().Committed > peak/4; time.Sleep(10 * time.Millisecond) {
			if time.Since(begin) > 30*time.Second {
				t.Fatalf("round %d: %d bytes of %d stay", round, s.Stats().Committed, peak)
			}
		}
	}
	// It comes to rest: the number of ticks stands still.
	still := 0
	for begin, last := time.Now(), uint64(0); still < 25; time.Sleep(100 * time.Millisecond) {
		if ticks := s.Stats().ReclaimTicks; ticks == last {
			still++
		} else {
			still, last = 0, ticks
		}
		if time.Since(begin) > 60*time.Second {
			t.Fatal("the reclaimer never sleeps")
		}
	}
}

// lines counts the lines of a log.
type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, string(p))
	return len(p), nil
}

func (l *lines) matching(part string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.text {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

func TestRefusedWritesAreLoggedAtOnceAndThenSeldom(t *testing.T) {
	log := new(lines)
	s := open(t, Options{MaxMemory: MinMaxMemory, Clock: clock.NewManual(1), Logger: slog.New(slog.NewTextHandler(log, nil))})
	c, _ := s.Collection("0")
	refuse := func() {
		k := []byte("too much")
		if err := c.Set(c.Hash(k), k, make([]byte, 10<<20), 0, 0); !errors.Is(err, index.ErrFull) {
			t.Fatal(err)
		}
	}
	const line = "memory limit reached"
	if again := s.report(time.Minute); again != memory.Forever || log.matching(line) != 0 {
		t.Fatal("nothing happened yet")
	}
	refuse()
	if s.report(time.Minute); log.matching(line) != 1 {
		t.Fatal("the first refusal is not logged")
	}
	for i := range 9 {
		refuse()
		if again := s.report(time.Minute + time.Duration(i)*time.Second); again > 10*time.Second || log.matching(line) != 1 {
			t.Fatalf("%d lines after %d s, the next look in %s", log.matching(line), i, again)
		}
	}
	if s.report(time.Minute + 10*time.Second); log.matching(line) != 2 {
		t.Fatalf("%d lines after ten seconds", log.matching(line))
	}
	if again := s.report(2 * time.Minute); again != memory.Forever || log.matching(line) != 2 {
		t.Fatal("logged again without a refusal")
	}
}

func TestTheFirstRefusalWakesTheReclaimerToLogIt(t *testing.T) {
	log := new(lines)
	s := open(t, Options{MaxMemory: MinMaxMemory, Logger: slog.New(slog.NewTextHandler(log, nil)), Reclaim: memory.Reclaim{Quiet: time.Millisecond}})
	c, _ := s.Collection("0")
	k := []byte("too much")
	_ = c.Set(c.Hash(k), k, make([]byte, 10<<20), 0, 0)
	for begin := time.Now(); log.matching("writes refused") == 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > 20*time.Second {
			t.Fatal("not logged")
		}
	}
}

func TestAuditBesideWritersFindsNothing(t *testing.T) {
	s := open(t, Options{MaxMemory: 64 << 20, Reclaim: memory.Reclaim{Quiet: time.Millisecond, CoolOff: time.Millisecond}})
	a, _ := s.Collection("a")
	b, _ := s.Collection("b")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 5))
			value := make([]byte, 100_000)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				c := a
				if i%2 == 0 {
					c = b
				}
				k := strconv.AppendInt(nil, int64(rng.IntN(3000)), 10)
				n := rng.IntN(4000)
				if i%100 == 0 {
					n = rng.IntN(len(value))
				}
				if i/5000%2 == 0 {
					_ = c.Set(c.Hash(k), k, value[:n], 0, 0)
				} else {
					c.Delete(c.Hash(k), k)
				}
				if i%1000 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		r, err := s.Audit()
		if err != nil || !r.Healthy() || r.Collections != 2 {
			t.Fatalf("%v: %+v", err, r)
		}
	}
	close(stop)
	wg.Wait()
	r, err := s.Audit()
	if err != nil || !r.Healthy() || r.BusyLanes != 0 || r.Rounds != 1 || r.Records != int64(a.Len()+b.Len()) {
		t.Fatalf("%v: %+v", err, r)
	}
	// A cell that nobody owns is found, in as many rounds as it takes to be sure.
	var g memory.Magazines
	g.Alloc(s.arena, memory.ClassFor(1000))
	r, err = s.Audit()
	if err != nil || r.Healthy() || r.LostCells != 1 || r.LostBytes < 1000 || r.Rounds != auditRounds {
		t.Fatalf("%v: %+v", err, r)
	}
}

func TestAuditOfAClosedStoreIsRefused(t *testing.T) {
	s, _ := Open(Options{MaxMemory: 16 << 20})
	_, _ = s.Collection("a")
	_ = s.Close()
	if _, err := s.Audit(); !errors.Is(err, index.ErrClosed) {
		t.Fatal(err)
	}
}
