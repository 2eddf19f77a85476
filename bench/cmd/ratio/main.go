// Command ratio times Larder against the other caches alternately in one
// process and prints medians and ratios.
//
// All contenders stay loaded; in each round each of them, beginning with another
// one every time, does the same operations. On a machine that others use too the
// ratio of two medians of one run means something where nanoseconds do not.
//
//	go run ./cmd/ratio -size 100 -g 2 -check
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/larder-cache/larder/bench/internal/contender"
	"github.com/larder-cache/larder/bench/internal/workload"
)

// rivals are the caches that copy values off the heap as Larder does; the bounds
// are against the best of them.
var rivals = []string{"fastcache", "freecache", "bigcache"}

// A bound is what Larder promises against the best rival: so many times its
// rate, without allocations.
type bound struct {
	op      contender.Op
	atLeast float64
}

var bounds = []bound{{contender.GetHit, 1.4}, {contender.SetOver, 1.2}}

func main() {
	var s settings
	flag.IntVar(&s.rounds, "rounds", 15, "rounds; the medians are over these")
	flag.IntVar(&s.n, "n", 1_000_000, "operations of one contender in one round")
	flag.IntVar(&s.keys, "keys", 500_000, "keys, each loaded before the first round")
	flag.IntVar(&s.size, "size", 100, "bytes of a value")
	flag.IntVar(&s.goroutines, "g", 2, "goroutines that operate at once")
	flag.StringVar(&s.contenders, "contenders", "larder,"+strings.Join(rivals, ","), "caches to run")
	flag.StringVar(&s.ops, "ops", "get-hit,get-miss,set,mixed95", "operations to time")
	check := flag.Bool("check", false, "exit with 1 when a bound does not hold")
	flag.Parse()
	held, err := s.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ratio:", err)
		os.Exit(2)
	}
	if *check && !held {
		os.Exit(1)
	}
}

type settings struct {
	rounds, n, keys, size, goroutines int
	contenders, ops                   string
}

// A column holds what one contender did in one operation.
type column struct {
	nanos  []float64 // per operation, one for each round
	cpu    []float64 // nanoseconds on processors per operation, collector included
	allocs []float64
	hits   float64
}

func (s settings) run() (held bool, err error) {
	kinds, err := contender.Named(s.contenders)
	if err != nil {
		return false, err
	}
	fmt.Printf("%d keys of %d B, values of %d B, Zipf %v, %d goroutines, %d rounds of %d operations, %s %s/%s, %d CPUs\n\n",
		s.keys, workload.KeyBytes, s.size, workload.Exponent, s.goroutines, s.rounds, s.n,
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	w := workload.New(s.keys, s.size)
	caches := make([]contender.Cache, len(kinds))
	for i, kind := range kinds {
		if caches[i], _, err = kind.Load(w); err != nil {
			return false, err
		}
	}
	fmt.Println("| operation | contender | ns per operation | larder's rate against it | CPU ns per operation | allocations | hits |")
	fmt.Println("|---|---|---:|---:|---:|---:|---:|")
	held = true
	var verdicts []string
	for name := range strings.SplitSeq(s.ops, ",") {
		op := contender.Op(name)
		if !slices.Contains(contender.Ops, op) {
			return false, fmt.Errorf("no operation named %q", name)
		}
		columns, err := s.alternate(op, w, kinds, caches)
		if err != nil {
			return false, err
		}
		show(op, kinds, columns)
		for _, b := range bounds {
			if verdict, ok := b.judge(op, kinds, columns); verdict != "" {
				verdicts = append(verdicts, verdict)
				held = held && ok
			}
		}
	}
	for i, kind := range kinds {
		if _, err := kind.Verify(w, caches[i]); err != nil {
			return false, err
		}
		if err := caches[i].Close(); err != nil {
			return false, err
		}
	}
	fmt.Println("\nEvery value was right before and after.")
	for _, v := range verdicts {
		fmt.Println(v)
	}
	return held, nil
}

// alternate times one operation on every contender, round by round.
func (s settings) alternate(op contender.Op, w *workload.Set, kinds []contender.Kind, caches []contender.Cache) ([]column, error) {
	columns := make([]column, len(kinds))
	// Round -1 warms up and is not counted.
	for round := -1; round < s.rounds; round++ {
		for k := range kinds {
			i := (k + round + 1) % len(kinds)
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			busy := processorTime()
			start := time.Now()
			// Each round goes on in the order where the last one ended.
			hits, err := contender.Run(op, caches[i], w, (round+1)*s.n/s.goroutines, s.n, s.goroutines)
			took := time.Since(start)
			busy = processorTime() - busy
			runtime.ReadMemStats(&after)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", kinds[i].Name, op, err)
			}
			caches[i].Settle()
			if round < 0 {
				continue
			}
			c := &columns[i]
			c.nanos = append(c.nanos, float64(took.Nanoseconds())/float64(s.n))
			c.cpu = append(c.cpu, float64(busy.Nanoseconds())/float64(s.n))
			c.allocs = append(c.allocs, float64(after.Mallocs-before.Mallocs)/float64(s.n))
			c.hits = hits
		}
	}
	return columns, nil
}

// show prints the rows of one operation.
func show(op contender.Op, kinds []contender.Kind, columns []column) {
	for i, kind := range kinds {
		ratio := "1"
		if i > 0 {
			ratio = fmt.Sprintf("%.2f", median(columns[i].nanos)/median(columns[0].nanos))
		}
		// A goroutine costs a few allocations in each round, which are not the
		// cache's.
		fmt.Printf("| %s | %s | %.1f | %s | %.1f | %.2f | %.1f %% |\n", op, kind.Name, median(columns[i].nanos), ratio,
			median(columns[i].cpu), median(columns[i].allocs), 100*columns[i].hits)
	}
}

// judge says whether the bound holds; "" when it is about another operation or
// the contenders it needs are missing.
func (b bound) judge(op contender.Op, kinds []contender.Kind, columns []column) (verdict string, ok bool) {
	if op != b.op || kinds[0].Name != "larder" {
		return "", true
	}
	best := ""
	var fastest float64
	for i, kind := range kinds {
		if m := median(columns[i].nanos); slices.Contains(rivals, kind.Name) && (best == "" || m < fastest) {
			best, fastest = kind.Name, m
		}
	}
	if best == "" {
		return "", true
	}
	ratio := fastest / median(columns[0].nanos)
	allocs := median(columns[0].allocs)
	ok = ratio >= b.atLeast && allocs < 0.005
	word := "holds"
	if !ok {
		word = "MISSED"
	}
	return fmt.Sprintf("%s: %.2f times %s, the best rival, with %.2f allocations; promised are %.1f times and none: %s",
		b.op, ratio, best, allocs, b.atLeast, word), ok
}

// processorTime is what the threads of this process spent on processors.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}
