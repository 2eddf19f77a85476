package ops

import (
	"github.com/larder-cache/larder/internal/command"
	"github.com/larder-cache/larder/internal/index"
	"github.com/larder-cache/larder/internal/reactor"
	"github.com/larder-cache/larder/internal/store"
)

var storeRows = []row[store.Stats]{
	{"larder_memory_limit_bytes", "Ceiling for records, index and all that belongs to them.", false, func(s store.Stats) float64 { return float64(s.MaxMemory) }},
	{"larder_memory_committed_bytes", "Memory taken from the machine.", false, func(s store.Stats) float64 { return float64(s.Committed) }},
	{"larder_memory_used_bytes", "Of the committed memory, what is in use.", false, func(s store.Stats) float64 { return float64(s.Used) }},
	{"larder_memory_record_bytes", "Of the used memory, what records take.", false, func(s store.Stats) float64 { return float64(s.RecordBytes) }},
	{"larder_memory_index_bytes", "Of the used memory, what indexes take.", false, func(s store.Stats) float64 { return float64(s.IndexBytes) }},
	{"larder_memory_free_bytes", "Of the committed memory, what is free for any size of record.", false, func(s store.Stats) float64 { return float64(s.FreeBytes) }},
	{"larder_memory_cold_bytes", "Memory that was used once and is given back now.", false, func(s store.Stats) float64 { return float64(s.ColdBytes) }},
	{"larder_memory_released_bytes_total", "Memory given back to the machine.", true, func(s store.Stats) float64 { return float64(s.Released) }},
	{"larder_memory_release_refused_total", "Times that the machine did not take memory back.", true, func(s store.Stats) float64 { return float64(s.ReleaseRefused) }},
	{"larder_memory_degraded_groups_total", "Times that 2 MiB got ordinary pages although huge ones were wanted.", true, func(s store.Stats) float64 { return float64(s.Degraded) }},
	{"larder_memory_pool_empty_total", "Times that the system's pool of huge pages had none.", true, func(s store.Stats) float64 { return float64(s.PoolEmpty) }},
	{"larder_memory_shortages_total", "Times that lanes gave up their free cells because the limit was reached.", true, func(s store.Stats) float64 { return float64(s.Shortages) }},
	{"larder_reclaim_evacuated_slots_total", "Pieces of 256 KiB emptied by moving what was in them.", true, func(s store.Stats) float64 { return float64(s.Evacuated) }},
	{"larder_reclaim_moved_cells_total", "Records, or parts of large ones, moved for that.", true, func(s store.Stats) float64 { return float64(s.Moved) }},
	{"larder_reclaim_ticks_total", "Times that the reclaimer looked for memory to give back.", true, func(s store.Stats) float64 { return float64(s.ReclaimTicks) }},
	{"larder_bad_frees_total", "Frees of memory that was not in use: above zero is a defect.", true, func(s store.Stats) float64 { return float64(s.BadFrees) }},
	{"larder_collections", "Collections.", false, func(s store.Stats) float64 { return float64(s.Collections) }},
	{"larder_reaper_passes_total", "Rounds of the removal of expired records.", true, func(s store.Stats) float64 { return float64(s.ReaperPasses) }},
	{"larder_reaper_buckets_total", "Buckets that the removal of expired records looked at.", true, func(s store.Stats) float64 { return float64(s.ReaperVisits) }},
}

// collectionRows are shown for each collection. Sums over the label give the whole store.
var collectionRows = []row[index.TableStats]{
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

// reactorRows show the connections and the work of the event loops.
var reactorRows = []row[reactor.Stats]{
	{"larder_loops", "Event loops.", false, func(s reactor.Stats) float64 { return float64(s.Loops) }},
	{"larder_connections", "Open connections.", false, func(s reactor.Stats) float64 { return float64(s.Clients) }},
	{"larder_connections_accepted_total", "Connections accepted.", true, func(s reactor.Stats) float64 { return float64(s.Accepted) }},
	{"larder_connections_rejected_total", "Connections beyond the reactor's ceiling.", true, func(s reactor.Stats) float64 { return float64(s.Rejected) }},
	{"larder_accept_failures_total", "Times that accepting stopped for lack of descriptors or memory.", true, func(s reactor.Stats) float64 { return float64(s.AcceptFails) }},
	{"larder_connections_closed_total", "Connections closed, for any reason.", true, func(s reactor.Stats) float64 { return float64(s.Closed) }},
	{"larder_connections_cut_output_total", "Connections cut because their output grew beyond its limit.", true, func(s reactor.Stats) float64 { return float64(s.OutputCut) }},
	{"larder_connections_cut_stalled_total", "Connections cut because they took no output for too long.", true, func(s reactor.Stats) float64 { return float64(s.Stalled) }},
	{"larder_connections_cut_input_total", "Connections cut because of a command beyond the input limit.", true, func(s reactor.Stats) float64 { return float64(s.InputCut) }},
	{"larder_turns_total", "Turns of the event loops.", true, func(s reactor.Stats) float64 { return float64(s.Turns) }},
	{"larder_reads_total", "Receive calls.", true, func(s reactor.Stats) float64 { return float64(s.Reads) }},
	{"larder_writes_total", "Send calls.", true, func(s reactor.Stats) float64 { return float64(s.Writes) }},
	{"larder_received_bytes_total", "Bytes received.", true, func(s reactor.Stats) float64 { return float64(s.BytesIn) }},
	{"larder_sent_bytes_total", "Bytes sent.", true, func(s reactor.Stats) float64 { return float64(s.BytesOut) }},
	{"larder_moved_bytes_total", "Received bytes moved to make room.", true, func(s reactor.Stats) float64 { return float64(s.BytesMoved) }},
	{"larder_budget_stops_total", "Turns in which a connection had to wait for the others.", true, func(s reactor.Stats) float64 { return float64(s.BudgetStops) }},
	{"larder_congestions_total", "Times that a connection was not read because of its unwritten output.", true, func(s reactor.Stats) float64 { return float64(s.Congestions) }},
}

// commandRows show the clients and the commands. Counts start again with CONFIG RESETSTAT, as Prometheus expects of a
// process that restarts.
var commandRows = []row[command.Stats]{
	{"larder_uptime_seconds", "Time since the start.", false, func(s command.Stats) float64 { return s.Uptime.Seconds() }},
	{"larder_clients", "Clients that may send commands.", false, func(s command.Stats) float64 { return float64(s.Clients) }},
	{"larder_clients_limit", "Most clients at one time.", false, func(s command.Stats) float64 { return float64(s.MaxClients) }},
	{"larder_clients_refused_total", "Clients refused because there were too many.", true, func(s command.Stats) float64 { return float64(s.RefusedClients) }},
	{"larder_clients_idle_closed_total", "Clients closed because they were silent for too long.", true, func(s command.Stats) float64 { return float64(s.IdleClosed) }},
	{"larder_bad_logins_total", "Wrong passwords.", true, func(s command.Stats) float64 { return float64(s.BadLogins) }},
	{"larder_protocol_errors_total", "Clients closed because what they sent was no command.", true, func(s command.Stats) float64 { return float64(s.ProtocolErrors) }},
	{"larder_commands_total", "Commands, those included that were refused.", true, func(s command.Stats) float64 { return float64(s.Commands) }},
	{"larder_error_replies_total", "Replies that were errors.", true, func(s command.Stats) float64 { return float64(s.Errors) }},
}

// callRows are shown for each command that was called.
var callRows = []row[command.CommandStats]{
	{"larder_command_calls_total", "Calls of the command.", true, func(s command.CommandStats) float64 { return float64(s.Calls) }},
	{"larder_command_failures_total", "Of the calls, those answered with an error.", true, func(s command.CommandStats) float64 { return float64(s.Failed) }},
	{"larder_command_rejections_total", "Calls refused before they ran: number of arguments, no login.", true, func(s command.CommandStats) float64 { return float64(s.Rejected) }},
}
