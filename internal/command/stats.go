package command

import (
	"slices"
	"time"
)

// CommandStats are the calls of one command or subcommand ("get", "config|set").
type CommandStats struct {
	Name     string
	Calls    uint64 // that reached the handler
	Failed   uint64 // of these, answered with an error
	Rejected uint64 // refused before: wrong number of arguments, no right to call
}

// Stats are the counters of a server, since its start or the last CONFIG RESETSTAT, and its state.
type Stats struct {
	Clients     int // connected now
	PeakClients int
	MaxClients  int

	Accepted       uint64 // connections
	RefusedClients uint64 // over maxclients
	IdleClosed     uint64
	BadLogins      uint64
	ProtocolErrors uint64
	Commands       uint64 // processed, those included that were refused
	Errors         uint64 // error replies
	Uptime         time.Duration

	// ByCommand holds the commands that were called, sorted by name.
	ByCommand []CommandStats
}

// baseline is what the counters were at the last CONFIG RESETSTAT. Counters only grow, so that their owners never need a
// lock.
type baseline struct {
	accepted, refused, idleClosed, badLogins, protocolErrors uint64

	commands, errors uint64
	rows             []CommandStats
}

// totals sums the loops. rows has one element for each row of the table.
func (s *Server) totals() baseline {
	t := baseline{
		accepted: s.accepted.Load(), refused: s.refused.Load(), idleClosed: s.idleClosed.Load(),
		badLogins: s.badLogins.Load(), protocolErrors: s.protocolErrors.Load(),
		rows: make([]CommandStats, len(rows)),
	}
	known := s.loops.Load()
	if known == nil {
		return t
	}
	for _, l := range *known {
		p := &l.published
		t.commands += p.commands.Load()
		t.errors += p.errors.Load()
		for i := range p.rows {
			t.rows[i].Calls += p.rows[i].calls.Load()
			t.rows[i].Failed += p.rows[i].failed.Load()
			t.rows[i].Rejected += p.rows[i].rejected.Load()
		}
	}
	return t
}

// Stats returns the counters. Commands of a call from the reactor count when the call ends.
func (s *Server) Stats() Stats {
	t := s.totals()
	s.mu.Lock()
	b, clients, peak := s.base, len(s.clients), s.peak
	s.mu.Unlock()
	out := Stats{
		Clients: clients, PeakClients: peak, MaxClients: int(s.maxClients.Load()),
		Accepted: t.accepted - b.accepted, RefusedClients: t.refused - b.refused,
		IdleClosed: t.idleClosed - b.idleClosed, BadLogins: t.badLogins - b.badLogins,
		ProtocolErrors: t.protocolErrors - b.protocolErrors,
		Commands:       t.commands - b.commands, Errors: t.errors - b.errors,
		Uptime: time.Since(s.start),
	}
	for i, n := range t.rows {
		if b.rows != nil {
			n.Calls -= b.rows[i].Calls
			n.Failed -= b.rows[i].Failed
			n.Rejected -= b.rows[i].Rejected
		}
		if n != (CommandStats{}) {
			n.Name = rows[i].full()
			out.ByCommand = append(out.ByCommand, n)
		}
	}
	slices.SortFunc(out.ByCommand, func(a, b CommandStats) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}

// resetStats sets the counters of INFO to zero.
func (s *Server) resetStats() {
	t := s.totals()
	s.mu.Lock()
	s.base = t
	s.peak = len(s.clients)
	s.mu.Unlock()
	s.store.ResetStats()
}
