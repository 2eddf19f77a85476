package command

import (
	"sync/atomic"

	"github.com/larder-cache/larder/internal/glob"
	"github.com/larder-cache/larder/internal/index"
)

const (
	// windowCommands is how many commands are parsed before the first of them runs.
	windowCommands = 32
	// windowArgs ends a window early: commands with many arguments fill the caches by themselves.
	windowArgs = 256
	// maxTurnCommands is how many commands of one connection run before other connections get their turn.
	maxTurnCommands = 1024
	// maxTurnReply is how many bytes of replies one connection may gather before they are written.
	maxTurnReply = 1 << 20
	// maxScratch is the largest scratch buffer that a loop keeps.
	maxScratch = 1 << 20
	// keepArgs is the most arguments for which a loop keeps room; 24 bytes each.
	keepArgs = 8 << 10
	// oversizeInput is the length from which input may lie in a block of its own, which goes back to the heap.
	oversizeInput = 32 << 10
)

// slot is a command of the window.
type slot struct {
	cmd         *Command
	hash        uint64
	first, last int // its arguments
	end         int // bytes of input up to its end
}

// loop is what the clients of one event loop share. Its owner is the loop; published is for everybody.
type loop struct {
	args    [][]byte
	window  [windowCommands]slot
	hashes  [windowCommands]uint64 // of the first keys in the window
	scratch []byte
	waste   []byte
	guard   index.Guard  // of the command on several keys that runs
	pattern glob.Pattern // of the SCAN or KEYS that runs
	now     int64        // ms since the epoch, 0 = not read in this window
	turn    int64        // ms since the epoch when the loop's turn began, 0 = unknown

	calls    []callCount // by id of the row, since the last publish
	called   []int       // ids with calls
	commands uint64      // since the last publish

	published counters
	_         [64]byte
}

// callCount counts the calls of one row.
type callCount struct {
	calls, failed, rejected uint32
}

// counters are the totals of one loop.
type counters struct {
	commands atomic.Uint64
	errors   atomic.Uint64
	rows     []rowCounters
}

type rowCounters struct {
	calls, failed, rejected atomic.Uint64
}

func newLoop() *loop {
	l := &loop{calls: make([]callCount, len(rows))}
	l.published.rows = make([]rowCounters, len(rows))
	return l
}

// count notes one call of a row.
func (l *loop) count(cmd *Command) *callCount {
	n := &l.calls[cmd.id]
	if *n == (callCount{}) {
		l.called = append(l.called, cmd.id)
	}
	return n
}

// publish adds what was counted to the totals. It costs one atomic addition for each different command of the call.
func (l *loop) publish() {
	for _, id := range l.called {
		n, total := &l.calls[id], &l.published.rows[id]
		if n.calls > 0 {
			total.calls.Add(uint64(n.calls))
		}
		if n.failed > 0 {
			total.failed.Add(uint64(n.failed))
		}
		if n.rejected > 0 {
			total.rejected.Add(uint64(n.rejected))
		}
		*n = callCount{}
	}
	l.called = l.called[:0]
	if l.commands > 0 {
		l.published.commands.Add(l.commands)
		l.commands = 0
	}
}

// reset gives up room that one command needed, and the views that could keep an oversize input alive.
func (l *loop) reset(input int) {
	if cap(l.args) > keepArgs {
		l.args = nil
	} else if input > oversizeInput {
		clear(l.args[:cap(l.args)])
	}
	if cap(l.waste) > maxScratch {
		l.waste = nil
	}
}
