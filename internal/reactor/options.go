package reactor

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"
)

const (
	// DefaultMaxClients is the most connections at one time.
	DefaultMaxClients = 10_000

	// DefaultTurnBudget is how many bytes a connection reads per turn: four blocks, a few hundred small commands, well
	// under a millisecond.
	DefaultTurnBudget = 64 << 10

	// DefaultOutputPause is the unwritten output from which a connection is not read.
	DefaultOutputPause = 1 << 20

	// DefaultOutputHard cuts a connection at once. It is above the largest value, so one reply never reaches it.
	DefaultOutputHard = 1 << 30

	// DefaultOutputSoft and DefaultOutputSoftFor cut a connection that stays above the first for the second.
	DefaultOutputSoft    = 64 << 20
	DefaultOutputSoftFor = 60 * time.Second

	// DefaultStallTimeout cuts a connection that takes not one byte of waiting output.
	DefaultStallTimeout = 60 * time.Second

	// DefaultCloseTimeout bounds CloseAfterFlush.
	DefaultCloseTimeout = 5 * time.Second

	// DefaultInputLimit is the largest unfinished frame.
	DefaultInputLimit = 1 << 30

	// DefaultKeepAlive is the silence after which, and the interval at which, the kernel asks whether a TCP peer lives.
	DefaultKeepAlive = 300 * time.Second

	// maxLoops bounds Options.Loops.
	maxLoops = 1024

	// lingerTime and lingerBytes bound how long and how much is read and thrown away after the last reply, so that bytes
	// of the peer still under way do not make the kernel reset the connection and lose that reply.
	lingerTime  = time.Second
	lingerBytes = 1 << 20

	// slowTick is how often silent connections and spare blocks are looked at.
	slowTick = time.Second
)

// RefusalMaxClients is what a connection beyond the limit is told before it is closed.
const RefusalMaxClients = "-ERR max number of clients reached\r\n"

// Options are the settings of a server. The zero value of every field but Handler is a default.
type Options struct {
	// Handler is required.
	Handler Handler

	// Loops is the number of event loops; 0 means half the CPUs, at least one. A second loop pays only when a first
	// one is saturated and a core is free.
	Loops int

	// MaxClients is the most connections at one time; 0 means DefaultMaxClients. SetMaxClients changes it.
	MaxClients int

	// TurnBudget is the bytes a connection may read per turn; 0 means DefaultTurnBudget.
	TurnBudget int

	// InputLimit is the largest unfinished frame in bytes; 0 means DefaultInputLimit.
	InputLimit int

	// OutputPause is the unwritten output in bytes from which a connection is not read; 0 means DefaultOutputPause.
	OutputPause int64

	// OutputHard cuts a connection with more unwritten output; 0 means DefaultOutputHard, negative means no limit.
	OutputHard int64

	// OutputSoft cuts a connection that has more than this for OutputSoftFor; 0 means DefaultOutputSoft and
	// DefaultOutputSoftFor, negative means no limit. Only what a handler appends in one call or from outside Data can
	// go beyond OutputPause.
	OutputSoft    int64
	OutputSoftFor time.Duration

	// StallTimeout cuts a connection that took no byte of waiting output for so long; 0 means DefaultStallTimeout,
	// negative means never.
	StallTimeout time.Duration

	// CloseTimeout bounds CloseAfterFlush; 0 means DefaultCloseTimeout.
	CloseTimeout time.Duration

	// KeepAlive is the idle time and interval of TCP keep-alive; 0 means DefaultKeepAlive, negative means off.
	KeepAlive time.Duration

	// BlockBudget is the bytes of each block size that a loop caches; 0 means netbuf.DefaultBudget, negative means none.
	BlockBudget int

	// Portable chooses the implementation on the net package, which is the only one on systems without epoll.
	Portable bool

	// Logger gets one line when accepting fails, at most every ten seconds; nil means silence.
	Logger *slog.Logger
}

// Validate returns every problem of the options at once, wrapped in ErrOptions.
func (o Options) Validate() error {
	var problems []error
	complain := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf("%w: "+format, append([]any{ErrOptions}, args...)...))
		}
	}
	complain(o.Handler == nil, "Handler is nil")
	complain(o.Loops < 0 || o.Loops > maxLoops, "Loops is %d, not 0 to %d", o.Loops, maxLoops)
	complain(o.MaxClients < 0, "MaxClients is %d", o.MaxClients)
	complain(o.TurnBudget < 0, "TurnBudget is %d", o.TurnBudget)
	complain(o.InputLimit < 0, "InputLimit is %d", o.InputLimit)
	complain(o.OutputPause < 0, "OutputPause is %d", o.OutputPause)
	complain(o.OutputSoftFor < 0, "OutputSoftFor is %v", o.OutputSoftFor)
	complain(o.CloseTimeout < 0, "CloseTimeout is %v", o.CloseTimeout)
	return errors.Join(problems...)
}

// orDefault returns v, or d when v is zero.
func orDefault[T int | int64 | time.Duration](v, d T) T {
	if v == 0 {
		return d
	}
	return v
}

// limited returns v, or d when v is zero, or the largest value when v is negative, which stands for no limit.
func limited[T int64 | time.Duration](v, d T) T {
	if v < 0 {
		return T(1<<63 - 1)
	}
	return orDefault(v, d)
}

// withDefaults fills the zero fields and turns "no limit" into the largest value.
func (o Options) withDefaults() Options {
	o.Loops = orDefault(o.Loops, max(1, runtime.NumCPU()/2))
	o.MaxClients = orDefault(o.MaxClients, DefaultMaxClients)
	o.TurnBudget = orDefault(o.TurnBudget, DefaultTurnBudget)
	o.InputLimit = orDefault(o.InputLimit, DefaultInputLimit)
	o.OutputPause = orDefault(o.OutputPause, DefaultOutputPause)
	o.OutputHard = limited(o.OutputHard, DefaultOutputHard)
	o.OutputSoft = limited(o.OutputSoft, DefaultOutputSoft)
	o.OutputSoftFor = orDefault(o.OutputSoftFor, DefaultOutputSoftFor)
	o.StallTimeout = limited(o.StallTimeout, DefaultStallTimeout)
	o.CloseTimeout = orDefault(o.CloseTimeout, DefaultCloseTimeout)
	o.KeepAlive = orDefault(o.KeepAlive, DefaultKeepAlive)
	return o
}
