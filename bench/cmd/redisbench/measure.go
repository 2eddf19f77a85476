package main

import (
	"encoding/csv"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A figure is what one redis-benchmark showed about one server.
type figure struct {
	rate     float64 // requests per second
	p50, p99 float64 // milliseconds
	cpu      float64 // microseconds of the server per request, by schedstat
	user     float64 // of utime and stime, in ticks: microseconds per request
	system   float64
}

// measure runs redis-benchmark once.
func (s settings) measure(p *process, st step) (figure, error) {
	n := s.requests(st.pipeline)
	args := s.pinned(1, []string{
		"redis-benchmark", "-h", "127.0.0.1", "-p", p.port, "-t", st.op, "-d", strconv.Itoa(s.size),
		"-c", strconv.Itoa(s.clients), "-P", strconv.Itoa(st.pipeline), "-r", strconv.Itoa(s.keys),
		"-n", strconv.Itoa(n), "--csv",
	})
	before, err := p.onCPU()
	if err != nil {
		return figure{}, err
	}
	user, system, err := p.ticks()
	if err != nil {
		return figure{}, err
	}
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return figure{}, fmt.Errorf("redis-benchmark: %w\n%s", err, out)
	}
	after, err := p.onCPU()
	if err != nil {
		return figure{}, err
	}
	userAfter, systemAfter, err := p.ticks()
	if err != nil {
		return figure{}, err
	}
	f, err := parse(string(out))
	if err != nil {
		return figure{}, fmt.Errorf("%w in:\n%s", err, out)
	}
	per := func(d time.Duration) float64 { return d.Seconds() * 1e6 / float64(n) }
	f.cpu, f.user, f.system = per(after-before), per(userAfter-user), per(systemAfter-system)
	return f, nil
}

// parse reads the CSV of redis-benchmark: a header and one row.
func parse(text string) (figure, error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return figure{}, err
	}
	if len(rows) != 2 {
		return figure{}, fmt.Errorf("%d rows, want a header and one test", len(rows))
	}
	var f figure
	for name, field := range map[string]*float64{"rps": &f.rate, "p50_latency_ms": &f.p50, "p99_latency_ms": &f.p99} {
		i := slices.Index(rows[0], name)
		if i < 0 {
			return figure{}, fmt.Errorf("no column %s", name)
		}
		if *field, err = strconv.ParseFloat(rows[1][i], 64); err != nil {
			return figure{}, fmt.Errorf("column %s: %w", name, err)
		}
	}
	return f, nil
}

// bounds on larder's CPU time per request against redis-server's, by pipeline
// depth.
var bounds = map[int]float64{1: 1.00, 16: 0.55, 128: 0.35}

// report returns the table and the verdicts as text.
func (s settings) report(servers []*process, steps []step, figures map[step][2][]figure) (text string, held bool) {
	out := &strings.Builder{}
	pinning := "not pinned"
	if s.pin {
		pinning = "server on core 0, client on core 1"
	}
	fmt.Fprintf(out, "%d connections, values of %d B, %d keys of 16 B, medians of %d alternating rounds, %s, %s\n\n",
		s.clients, s.size, s.keys, s.rounds, pinning, machine())
	fmt.Fprintln(out, "| operation | pipeline | server | requests/s | p50 ms | p99 ms | server CPU us/request | of it user / system (ticks) |")
	fmt.Fprintln(out, "|---|---:|---|---:|---:|---:|---:|---:|")
	held = true
	var verdicts []string
	for _, st := range steps {
		var med [2]figure
		for i, srv := range servers {
			m := medians(figures[st][i])
			med[i] = m
			fmt.Fprintf(out, "| %s | %d | %s | %.0f | %.3f | %.3f | %.3f | %.2f / %.2f |\n",
				strings.ToUpper(st.op), st.pipeline, srv.name, m.rate, m.p50, m.p99, m.cpu, m.user, m.system)
		}
		ratio := med[0].cpu / med[1].cpu
		fmt.Fprintf(out, "| %s | %d | **ratio** | %.2f | %.2f | %.2f | **%.2f** | |\n", strings.ToUpper(st.op), st.pipeline,
			med[0].rate/med[1].rate, med[0].p50/med[1].p50, med[0].p99/med[1].p99, ratio)
		if most, ok := bounds[st.pipeline]; ok {
			word := "holds"
			if ratio > most {
				word, held = "MISSED", false
			}
			verdicts = append(verdicts, fmt.Sprintf("%s at pipeline %d: %.2f of redis-server's CPU per request, promised at most %.2f: %s",
				strings.ToUpper(st.op), st.pipeline, ratio, most, word))
		}
	}
	fmt.Fprintf(out, "\n%s\n", strings.Join(verdicts, "\n"))
	return out.String(), held
}

// medians takes the median of each column by itself.
func medians(list []figure) figure {
	median := func(column func(figure) float64) float64 {
		sorted := make([]float64, len(list))
		for i, f := range list {
			sorted[i] = column(f)
		}
		slices.Sort(sorted)
		return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	}
	return figure{
		rate:   median(func(f figure) float64 { return f.rate }),
		p50:    median(func(f figure) float64 { return f.p50 }),
		p99:    median(func(f figure) float64 { return f.p99 }),
		cpu:    median(func(f figure) float64 { return f.cpu }),
		user:   median(func(f figure) float64 { return f.user }),
		system: median(func(f figure) float64 { return f.system }),
	}
}
