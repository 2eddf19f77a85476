package ops

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/larder-cache/larder/internal/command"
	"github.com/larder-cache/larder/internal/reactor"
	"github.com/larder-cache/larder/internal/store"
)

// scrapeTimeout is how long one scrape may take; a store answers in microseconds, so only a stuck process reaches it.
const scrapeTimeout = 10 * time.Second

// Sources are what the pages read. Functions are called on the goroutines of requests, several at one time.
type Sources struct {
	Store   *store.Store         // required
	Command func() command.Stats // nil: not shown
	Reactor func() reactor.Stats // nil: not shown
	Version string
	Ready   func() error // nil error: commands are served; nil function: always
}

func (s Sources) ready() error {
	if s.Ready == nil {
		return nil
	}
	return s.Ready()
}

// metricsHandler answers /metrics.
func metricsHandler(o Options) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		buildInfo(o.Sources.Version),
		single[store.Stats]{storeTable, o.Sources.Store.Stats},
		collections{o.Sources.Store},
	)
	if o.Sources.Command != nil {
		registry.MustRegister(commands{o.Sources.Command})
	}
	if o.Sources.Reactor != nil {
		registry.MustRegister(single[reactor.Stats]{reactorTable, o.Sources.Reactor})
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorHandling:       promhttp.HTTPErrorOnError,
		ErrorLog:            scrapeLog{o},
		MaxRequestsInFlight: maxScrapes,
		Timeout:             scrapeTimeout,
	})
}

type scrapeLog struct{ o Options }

// Println takes the messages of promhttp.
func (l scrapeLog) Println(v ...any) {
	if l.o.Logger != nil {
		l.o.Logger.Error("scrape failed", "error", fmt.Sprint(v...))
	}
}

func buildInfo(version string) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "larder_build_info", Help: "Always 1; the version is the label.", ConstLabels: prometheus.Labels{"version": version},
	})
	g.Set(1)
	return g
}

// A row is one metric read out of a snapshot of type T. Its name ends in _total for what only grows.
type row[T any] struct {
	name, help string
	counter    bool
	value      func(T) float64
}

// kind returns the type that Prometheus shows.
func (r row[T]) kind() prometheus.ValueType {
	if r.counter {
		return prometheus.CounterValue
	}
	return prometheus.GaugeValue
}

// table is rows with their descriptions; labels name what tells snapshots of one kind apart.
type table[T any] struct {
	rows  []row[T]
	descs []*prometheus.Desc
}

func newTable[T any](rows []row[T], labels ...string) table[T] {
	t := table[T]{rows: rows, descs: make([]*prometheus.Desc, len(rows))}
	for i, r := range rows {
		t.descs[i] = prometheus.NewDesc(r.name, r.help, labels, nil)
	}
	return t
}

func (t table[T]) describe(ch chan<- *prometheus.Desc) {
	for _, d := range t.descs {
		ch <- d
	}
}

func (t table[T]) collect(ch chan<- prometheus.Metric, snapshot T, labels ...string) {
	for i, r := range t.rows {
		ch <- prometheus.MustNewConstMetric(t.descs[i], r.kind(), r.value(snapshot), labels...)
	}
}

var (
	storeTable      = newTable(storeRows)
	collectionTable = newTable(collectionRows, "collection")
	commandTable    = newTable(commandRows)
	callTable       = newTable(callRows, "command")
	reactorTable    = newTable(reactorRows)
)

// single shows one snapshot, so that the metrics of a scrape belong to one moment.
type single[T any] struct {
	table table[T]
	read  func() T
}

// Describe implements prometheus.Collector.
func (c single[T]) Describe(ch chan<- *prometheus.Desc) { c.table.describe(ch) }

// Collect implements prometheus.Collector.
func (c single[T]) Collect(ch chan<- prometheus.Metric) { c.table.collect(ch, c.read()) }

// collections shows each collection of a store.
type collections struct{ store *store.Store }

// Describe implements prometheus.Collector.
func (c collections) Describe(ch chan<- *prometheus.Desc) { collectionTable.describe(ch) }

// Collect implements prometheus.Collector.
func (c collections) Collect(ch chan<- prometheus.Metric) {
	for _, col := range c.store.Collections() {
		collectionTable.collect(ch, col.Stats(), labelValue(col.Name()))
	}
}

// commands shows the command server and each command.
type commands struct{ read func() command.Stats }

// Describe implements prometheus.Collector.
func (c commands) Describe(ch chan<- *prometheus.Desc) {
	commandTable.describe(ch)
	callTable.describe(ch)
}

// Collect implements prometheus.Collector.
func (c commands) Collect(ch chan<- prometheus.Metric) {
	snapshot := c.read()
	commandTable.collect(ch, snapshot)
	for _, calls := range snapshot.ByCommand {
		callTable.collect(ch, calls, calls.Name)
	}
}

// labelValue shows a name of any bytes in a label, which must be UTF-8. Names that are not, and names with a backslash,
// are escaped as in Go, so two names never share a label.
func labelValue(name string) string {
	if utf8.ValidString(name) && !strings.Contains(name, `\`) {
		return name
	}
	quoted := strconv.Quote(name)
	return quoted[1 : len(quoted)-1]
}
