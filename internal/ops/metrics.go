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

	"github.com/larder-cache/larder/internal/index"
	"github.com/larder-cache/larder/internal/store"
)

// scrapeTimeout is how long one scrape may take; a store answers in microseconds, so only a stuck process reaches it.
const scrapeTimeout = 10 * time.Second

// Sources are what the pages read. Functions are called on the goroutines of requests, several at one time.
type Sources struct {
	Store   *store.Store // required
	Version string
	Ready   func() error // nil error: commands are served; nil function: always
	Extra   []prometheus.Collector
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
		NewCollector(storeRows, o.Sources.Store.Stats),
		collections{o.Sources.Store},
	)
	registry.MustRegister(o.Sources.Extra...)
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

// A Row is one metric read out of a snapshot of type T. The name ends in _total for what only grows.
type Row[T any] struct {
	Name, Help string
	Counter    bool
	Value      func(T) float64
}

// kind returns the type that Prometheus shows.
func (r Row[T]) kind() prometheus.ValueType {
	if r.Counter {
		return prometheus.CounterValue
	}
	return prometheus.GaugeValue
}

// rowCollector shows all rows of one snapshot, so that metrics of one scrape belong to one moment.
type rowCollector[T any] struct {
	rows  []Row[T]
	descs []*prometheus.Desc
	read  func() T
}

// NewCollector makes a collector of rows whose values come from one call of read for each scrape.
func NewCollector[T any](rows []Row[T], read func() T) prometheus.Collector {
	return &rowCollector[T]{rows: rows, descs: describe(rows), read: read}
}

func describe[T any](rows []Row[T], labels ...string) []*prometheus.Desc {
	out := make([]*prometheus.Desc, len(rows))
	for i, r := range rows {
		out[i] = prometheus.NewDesc(r.Name, r.Help, labels, nil)
	}
	return out
}

// Describe implements prometheus.Collector.
func (c *rowCollector[T]) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *rowCollector[T]) Collect(ch chan<- prometheus.Metric) {
	snapshot := c.read()
	for i, r := range c.rows {
		ch <- prometheus.MustNewConstMetric(c.descs[i], r.kind(), r.Value(snapshot))
	}
}

var storeRows = []Row[store.Stats]{
	{"larder_memory_limit_bytes", "Ceiling for records, index and all that belongs to them.", false, func(s store.Stats) float64 { return float64(s.MaxMemory) }},
	{"larder_memory_committed_bytes", "Memory taken from the machine.", false, func(s store.Stats) float64 { return float64(s.Committed) }},
	{"larder_memory_used_bytes", "Of the committed memory, what is in use.", false, func(s store.Stats) float64 { return float64(s.Used) }},
	{"larder_memory_record_bytes", "Of the used memory, what records take.", false, func(s store.Stats) float64 { return float64(s.RecordBytes) }},
	{"larder_memory_index_bytes", "Of the used memory, what indexes take.", false, func(s store.Stats) float64 { return float64(s.IndexBytes) }},
	{"larder_bad_frees_total", "Frees of memory that was not in use: above zero is a defect.", true, func(s store.Stats) float64 { return float64(s.BadFrees) }},
	{"larder_collections", "Collections.", false, func(s store.Stats) float64 { return float64(s.Collections) }},
	{"larder_reaper_passes_total", "Rounds of the removal of expired records.", true, func(s store.Stats) float64 { return float64(s.ReaperPasses) }},
	{"larder_reaper_buckets_total", "Buckets that the removal of expired records looked at.", true, func(s store.Stats) float64 { return float64(s.ReaperVisits) }},
}

// tableRows are shown for each collection. Sums over the label give the whole store.
var tableRows = []Row[index.TableStats]{
	{"larder_records", "Records, those included that expired and were not removed yet.", false, func(s index.TableStats) float64 { return float64(s.Records) }},
	{"larder_expiring_records", "Records with a time to live.", false, func(s index.TableStats) float64 { return float64(s.Expiring) }},
	{"larder_record_bytes", "Memory of the records.", false, func(s index.TableStats) float64 { return float64(s.Bytes) }},
	{"larder_index_bytes", "Memory of the index.", false, func(s index.TableStats) float64 { return float64(s.IndexBytes) }},
	{"larder_buckets", "Buckets of the index.", false, func(s index.TableStats) float64 { return float64(s.Buckets) }},
	{"larder_overflow_buckets", "Buckets beyond their place in the index; many mean slow reads.", false, func(s index.TableStats) float64 { return float64(s.OverflowBuckets) }},
	{"larder_hits_total", "Reads that found their key.", true, func(s index.TableStats) float64 { return float64(s.Hits) }},
	{"larder_misses_total", "Reads that did not.", true, func(s index.TableStats) float64 { return float64(s.Misses) }},
	{"larder_expired_total", "Records removed because their time to live ended.", true, func(s index.TableStats) float64 { return float64(s.Expired) }},
	{"larder_refused_total", "Writes refused: memory limit, size of key or value.", true, func(s index.TableStats) float64 { return float64(s.Refused) }},
	{"larder_splits_total", "Buckets split while the index grew.", true, func(s index.TableStats) float64 { return float64(s.Splits) }},
}

// collections shows tableRows with the label collection.
type collections struct{ store *store.Store }

var tableDescs = describe(tableRows, "collection")

// Describe implements prometheus.Collector.
func (c collections) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range tableDescs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c collections) Collect(ch chan<- prometheus.Metric) {
	for _, col := range c.store.Collections() {
		snapshot, name := col.Stats(), labelValue(col.Name())
		for i, r := range tableRows {
			ch <- prometheus.MustNewConstMetric(tableDescs[i], r.kind(), r.Value(snapshot), name)
		}
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
