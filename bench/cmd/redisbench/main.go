// Command redisbench compares the server with redis-server under the same
// redis-benchmark in one run.
//
// Both servers stay up and hold the same keys. In each round each of them,
// beginning with the other one every time, takes the same load: SET, then GET,
// at each pipeline depth. The medians of all rounds are printed as a Markdown
// table with requests per second, the 50th and 99th percentile of the latency,
// and the server's own CPU time per request.
//
// The CPU time is the figure to look at: redis-benchmark has one thread and is
// often itself the limit, and the rates of a shared machine swing. It is the time
// that all threads of the server process were on a processor between the start
// and the end of one redis-benchmark, from /proc/PID/task/*/schedstat, and
// beside it utime + stime from /proc/PID/stat, which counts in ticks of 10 ms.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

func main() {
	var s settings
	flag.IntVar(&s.rounds, "rounds", 5, "rounds; the medians are over these")
	flag.IntVar(&s.clients, "clients", 50, "connections of redis-benchmark")
	flag.IntVar(&s.size, "size", 256, "bytes of a value")
	flag.IntVar(&s.keys, "keys", 1_000_000, "keys, all loaded before the first round; accesses are uniform over them")
	flag.Float64Var(&s.scale, "scale", 1, "multiplies the requests of every step")
	pipelines := flag.String("pipelines", "1,16,128", "pipeline depths, separated by commas")
	flag.StringVar(&s.ops, "ops", "set,get", "tests of redis-benchmark, separated by commas")
	flag.BoolVar(&s.pin, "cpu", false, "pin the server to core 0 and redis-benchmark to core 1, for both servers")
	flag.StringVar(&s.binary, "larder", "", "larder binary; built from the enclosing repository when empty")
	flag.StringVar(&s.larderFlags, "larder-flags", "", "more flags of larder serve, separated by blanks")
	flag.StringVar(&s.redisFlags, "redis-flags", "", "more arguments of redis-server, separated by blanks")
	check := flag.Bool("check", false, "exit with 1 when a bound on the CPU time does not hold")
	flag.Parse()
	var err error
	if s.pipelines, err = depths(*pipelines); err == nil {
		var held bool
		if held, err = s.run(); err == nil && !held && *check {
			os.Exit(1)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "redisbench:", err)
		os.Exit(2)
	}
}

type settings struct {
	rounds, clients, size, keys int
	scale                       float64
	pipelines                   []int
	ops                         string
	pin                         bool
	binary                      string
	larderFlags, redisFlags     string
}

// requests of one step by pipeline depth: enough for seconds of work, so that
// start and end weigh nothing.
func (s settings) requests(pipeline int) int {
	n := 1_000_000
	switch {
	case pipeline == 1:
		n = 200_000
	case pipeline >= 64:
		n = 2_000_000
	}
	return max(int(float64(n)*s.scale), 1000)
}

func depths(list string) ([]int, error) {
	var out []int
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("pipeline depth %q is no number above 0", word)
		}
		out = append(out, n)
	}
	return out, nil
}

// A step is one combination of operation and pipeline depth.
type step struct {
	op       string
	pipeline int
}

func (s settings) run() (held bool, err error) {
	dir, err := os.MkdirTemp("", "larder-redisbench-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	servers, err := s.start(dir)
	defer func() {
		for _, srv := range servers {
			err = errors.Join(err, srv.stop())
		}
	}()
	if err != nil {
		return false, err
	}
	for _, srv := range servers {
		if err := srv.load(s.keys, s.size); err != nil {
			return false, fmt.Errorf("loading %s: %w", srv.name, err)
		}
	}
	var steps []step
	for _, pipeline := range s.pipelines {
		for op := range strings.SplitSeq(s.ops, ",") {
			steps = append(steps, step{op, pipeline})
		}
	}
	figures := map[step][2][]figure{}
	for round := range s.rounds {
		for _, st := range steps {
			f := figures[st]
			for k := range servers {
				i := (round + k) % len(servers)
				got, err := s.measure(servers[i], st)
				if err != nil {
					return false, fmt.Errorf("round %d, %s, %s at pipeline %d: %w", round, servers[i].name, st.op, st.pipeline, err)
				}
				f[i] = append(f[i], got)
			}
			figures[st] = f
		}
		fmt.Fprintf(os.Stderr, "round %d of %d done\n", round+1, s.rounds)
	}
	for _, srv := range servers {
		if err := srv.alive(s.keys); err != nil {
			return false, fmt.Errorf("%s after the last round: %w", srv.name, err)
		}
	}
	text, held := s.report(servers, steps, figures)
	fmt.Print(text)
	return held, nil
}

// start builds larder when needed and starts both servers; larder comes first.
func (s settings) start(dir string) ([]*process, error) {
	binary := s.binary
	if binary == "" {
		binary = dir + "/larder"
		root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/larder-cache/larder").Output()
		if err != nil {
			return nil, fmt.Errorf("finding the repository: %w", err)
		}
		build := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./cmd/larder")
		build.Dir = strings.TrimSpace(string(root))
		if text, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build ./cmd/larder: %w\n%s", err, text)
		}
	}
	larder := append([]string{binary, "serve", "--dir", dir, "--listen", "127.0.0.1:{port}"}, strings.Fields(s.larderFlags)...)
	redis := append([]string{
		"redis-server", "--dir", dir, "--bind", "127.0.0.1", "--port", "{port}", "--save", "", "--appendonly", "no",
	}, strings.Fields(s.redisFlags)...)
	var servers []*process
	for _, srv := range []struct {
		name string
		args []string
	}{{"larder", larder}, {"redis-server", redis}} {
		p, err := launch(srv.name, s.pinned(0, srv.args))
		if err != nil {
			return servers, fmt.Errorf("starting %s: %w", srv.name, err)
		}
		servers = append(servers, p)
	}
	return servers, nil
}

// pinned puts a command on one core when that is asked for.
func (s settings) pinned(core int, args []string) []string {
	if !s.pin {
		return args
	}
	return append([]string{"taskset", "--cpu-list", strconv.Itoa(core)}, args...)
}

// machine says where the figures come from.
func machine() string {
	model := "unknown processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	kernel := ""
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		kernel = strings.TrimSpace(string(text))
	}
	return fmt.Sprintf("%d CPUs (%s), Linux %s, %s", runtime.NumCPU(), model, kernel, runtime.Version())
}
