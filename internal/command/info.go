package command

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/larder-cache/larder/internal/store"
)

// redisVersion is the version whose behaviour clients may expect.
const redisVersion = "7.0.15"

// section is a part of INFO.
type section struct {
	name  string
	title string
	usual bool // also without being asked for
	write func(w *infoWriter, s *Server)
}

var sections = []section{
	{"server", "Server", true, infoServer},
	{"clients", "Clients", true, infoClients},
	{"memory", "Memory", true, infoMemory},
	{"persistence", "Persistence", true, infoPersistence},
	{"stats", "Stats", true, infoStats},
	{"replication", "Replication", true, infoReplication},
	{"cpu", "CPU", true, infoCPU},
	{"modules", "Modules", true, func(*infoWriter, *Server) {}},
	{"commandstats", "Commandstats", false, infoCommandstats},
	{"errorstats", "Errorstats", true, infoErrorstats},
	{"cluster", "Cluster", true, infoCluster},
	{"keyspace", "Keyspace", true, infoKeyspace},
	{"larder", "Larder", true, infoLarder},
}

// infoWriter gathers lines of the form name:value.
type infoWriter struct{ text []byte }

func (w *infoWriter) line(name string, value any) {
	w.text = append(append(w.text, name...), ':')
	switch v := value.(type) {
	case string:
		w.text = append(w.text, v...)
	case int:
		w.text = strconv.AppendInt(w.text, int64(v), 10)
	case int64:
		w.text = strconv.AppendInt(w.text, v, 10)
	case uint64:
		w.text = strconv.AppendUint(w.text, v, 10)
	default:
		w.text = fmt.Append(w.text, v)
	}
	w.text = append(w.text, '\r', '\n')
}

// bytes writes an amount as a number and in a form for people.
func (w *infoWriter) bytes(name string, n int64) {
	w.line(name, n)
	w.line(name+"_human", human(n))
}

// human prints an amount as Redis does: two decimals and one letter.
func human(n int64) string {
	v, unit := float64(n), 0
	for v >= 1024 && unit < len("BKMGTP")-1 {
		v /= 1024
		unit++
	}
	if unit == 0 {
		return strconv.FormatInt(n, 10) + "B"
	}
	return strconv.FormatFloat(v, 'f', 2, 64) + string("BKMGTP"[unit])
}

// infoCommand is INFO [section ...]. Sections come in the order of the table, each once; unknown names give nothing.
func infoCommand(c *Client, args [][]byte) {
	var w infoWriter
	for i := range sections {
		sec := &sections[i]
		if !sec.wanted(args[1:]) {
			continue
		}
		if len(w.text) > 0 {
			w.text = append(w.text, '\r', '\n')
		}
		w.text = append(append(append(w.text, "# "...), sec.title...), '\r', '\n')
		sec.write(&w, c.server)
	}
	c.verbatim(w.text)
}

func (sec *section) wanted(names [][]byte) bool {
	if len(names) == 0 {
		return sec.usual
	}
	for _, name := range names {
		switch {
		case isWord(name, "ALL"), isWord(name, "EVERYTHING"), equalFold(name, sec.name):
			return true
		case isWord(name, "DEFAULT") && sec.usual:
			return true
		}
	}
	return false
}

func infoServer(w *infoWriter, s *Server) {
	now := time.Now()
	up := int64(now.Sub(s.start) / time.Second)
	w.line("redis_version", redisVersion)
	w.line("redis_git_sha1", "00000000")
	w.line("redis_git_dirty", 0)
	w.line("redis_mode", "standalone")
	w.line("larder_version", s.o.Version)
	w.line("os", runtime.GOOS+" "+runtime.GOARCH)
	w.line("arch_bits", strconv.IntSize)
	w.line("go_version", runtime.Version())
	w.line("process_id", os.Getpid())
	w.line("run_id", s.runID)
	w.line("tcp_port", s.o.TCPPort)
	w.line("server_time_usec", now.UnixMicro())
	w.line("uptime_in_seconds", up)
	w.line("uptime_in_days", up/86400)
	w.line("hz", 10)
	w.line("config_file", oneLine(s.o.ConfigFile))
	w.line("io_threads_active", btoi(s.o.Loops > 1))
}

func infoClients(w *infoWriter, s *Server) {
	st := s.Stats()
	w.line("connected_clients", st.Clients)
	w.line("maxclients", st.MaxClients)
	w.line("peak_clients", st.PeakClients)
	w.line("blocked_clients", 0)
	w.line("tracking_clients", 0)
}

func infoMemory(w *infoWriter, s *Server) {
	st := s.store.Stats()
	heap := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(heap)
	w.bytes("used_memory", st.Used)
	w.bytes("used_memory_rss", residentBytes())
	w.bytes("used_memory_peak", s.notePeak(st.Used))
	w.line("used_memory_overhead", st.Used-st.RecordBytes)
	w.line("used_memory_dataset", st.RecordBytes)
	w.bytes("maxmemory", st.MaxMemory)
	w.line("maxmemory_policy", "noeviction")
	w.line("mem_fragmentation_ratio", ratio(st.Committed, st.Used))
	w.line("mem_allocator", "larder-slots")
	w.line("committed_memory", st.Committed)
	w.line("index_memory", st.IndexBytes)
	w.line("page_tier", st.PageTier)
	w.line("go_heap_memory", heap[0].Value.Uint64())
	w.line("go_runtime_memory", heap[1].Value.Uint64()-heap[2].Value.Uint64())
}

func ratio(a, b int64) string {
	if b == 0 {
		return "1.00"
	}
	return strconv.FormatFloat(float64(a)/float64(b), 'f', 2, 64)
}

func infoPersistence(w *infoWriter, s *Server) {
	w.line("loading", 0)
	w.line("async_loading", 0)
	w.line("rdb_changes_since_last_save", 0)
	w.line("rdb_bgsave_in_progress", 0)
	w.line("rdb_last_save_time", s.start.Unix())
	w.line("rdb_last_bgsave_status", "ok")
	w.line("aof_enabled", 0)
	w.line("aof_rewrite_in_progress", 0)
	w.line("aof_rewrite_scheduled", 0)
	w.line("aof_last_write_status", "ok")
}

func infoStats(w *infoWriter, s *Server) {
	st, data := s.Stats(), s.store.Stats()
	w.line("total_connections_received", st.Accepted)
	w.line("total_commands_processed", st.Commands)
	w.line("rejected_connections", st.RefusedClients)
	w.line("expired_keys", data.Expired)
	w.line("evicted_keys", 0)
	w.line("evicted_clients", 0)
	w.line("keyspace_hits", data.Hits)
	w.line("keyspace_misses", data.Misses)
	w.line("refused_writes", data.Refused)
	w.line("pubsub_channels", 0)
	w.line("pubsub_patterns", 0)
	w.line("latest_fork_usec", 0)
	w.line("total_forks", 0)
	w.line("total_error_replies", st.Errors)
	w.line("protocol_errors", st.ProtocolErrors)
	w.line("failed_logins", st.BadLogins)
	w.line("idle_closed_connections", st.IdleClosed)
}

func infoReplication(w *infoWriter, s *Server) {
	w.line("role", "master")
	w.line("connected_slaves", 0)
	w.line("master_failover_state", "no-failover")
	w.line("master_replid", s.runID)
	w.line("master_replid2", strings.Repeat("0", 40))
	w.line("master_repl_offset", 0)
	w.line("second_repl_offset", -1)
	w.line("repl_backlog_active", 0)
}

func infoCPU(w *infoWriter, _ *Server) {
	user, system := processTimes()
	w.line("used_cpu_sys", strconv.FormatFloat(system.Seconds(), 'f', 6, 64))
	w.line("used_cpu_user", strconv.FormatFloat(user.Seconds(), 'f', 6, 64))
	w.line("used_cpu_sys_children", "0.000000")
	w.line("used_cpu_user_children", "0.000000")
}

// infoCommandstats has no times: two clock reads would cost more than most commands.
func infoCommandstats(w *infoWriter, s *Server) {
	for _, n := range s.Stats().ByCommand {
		w.line("cmdstat_"+n.Name, fmt.Sprintf("calls=%d,usec=0,usec_per_call=0.00,rejected_calls=%d,failed_calls=%d",
			n.Calls, n.Rejected, n.Failed))
	}
}

func infoErrorstats(w *infoWriter, s *Server) {
	if n := s.Stats().Errors; n > 0 {
		w.line("errorstat_ERR", fmt.Sprintf("count=%d", n))
	}
}

func infoCluster(w *infoWriter, _ *Server) { w.line("cluster_enabled", 0) }

// infoKeyspace has a line for each numbered database with keys.
func infoKeyspace(w *infoWriter, s *Server) {
	for _, db := range s.store.Collections() {
		if numeric([]byte(db.Name())) && db.Len() > 0 {
			w.line("db"+db.Name(), keyspaceOf(db))
		}
	}
}

func keyspaceOf(db *store.Collection) string {
	st := db.Stats()
	return fmt.Sprintf("keys=%d,expires=%d,avg_ttl=0", st.Records, st.Expiring)
}

// infoLarder has what Redis has no word for.
func infoLarder(w *infoWriter, s *Server) {
	st := s.store.Stats()
	w.line("larder_version", s.o.Version)
	w.line("collections", st.Collections)
	w.line("records", st.Records)
	w.line("records_expiring", st.Expiring)
	w.line("index_buckets", st.Buckets)
	w.line("index_overflow_buckets", st.OverflowBuckets)
	w.line("index_splits", st.Splits)
	w.line("reaper_passes", st.ReaperPasses)
	w.line("reaper_visits", st.ReaperVisits)
	w.line("bad_frees", st.BadFrees)
	w.line("loops", max(1, s.o.Loops))
	for _, db := range s.store.Collections() {
		if !numeric([]byte(db.Name())) {
			w.line("collection_"+quoteName(db.Name()), keyspaceOf(db))
		}
	}
}

// oneLine keeps a text from starting a line of its own.
func oneLine(s string) string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
}

func btoi(v bool) int {
	if v {
		return 1
	}
	return 0
}
