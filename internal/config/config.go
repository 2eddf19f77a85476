// Package config gathers the server's settings from flags, environment, file and defaults.
//
// # Problem
//
// A setting may come from four places, and a mistake in one of them must be found before the server serves: all of
// them at once, each with the place where it stands, never by a default that quietly takes over.
//
// # Layout
//
// The settings are data: one row of Options for each, with its name, default, meaning, whether it can be changed while
// the server runs, and how to read and print it. Flags, environment names, file keys, `larder check` and the table in
// README.md all come from those rows, so an option cannot exist in one place only.
//
//	row "max-memory":  --max-memory SIZE    LARDER_MAX_MEMORY    max-memory = "1gb"
//
// # Order
//
// A flag beats the environment, which beats the file, which beats the default. A value that is overridden is still
// checked: a broken file is reported even when a flag hides the broken line today.
//
// Unknown flags and unknown keys of the file are refused. Unknown LARDER_* variables are only warned about, because
// orchestrators invent such names (a Kubernetes service called larder sets LARDER_PORT and LARDER_SERVICE_HOST in every
// pod). An empty variable counts as not set.
//
// # Errors
//
// Load returns Problems: every fault, each with file, line and column, or the flag, or the variable. No message
// contains the value of a secret.
//
// The habit of refusing unknown keys and of giving positions follows nats-server's configuration.
package config

import (
	"log/slog"
	"time"

	"github.com/larder-cache/larder/internal/bytesize"
)

// A Config holds every setting of a server. The rows of Options document the fields.
type Config struct {
	Listen      string        // host:port of the Redis protocol, or unix: and an absolute path
	HTTP        string        // host:port of health and metrics; empty is off
	Dir         string        // absolute path of the directory for files; empty is none
	MaxMemory   bytesize.Size // bytes for records, index and everything that belongs to them
	MaxValue    bytesize.Size // bytes of the largest value
	Loops       int           // event loops; 0 lets the server choose
	Reactor     string        // "auto" or "portable"
	RequirePass Secret        // password for AUTH; empty is none
	Databases   int           // numbers that SELECT takes
	MaxClients  int           // connections
	IdleTimeout time.Duration // a connection silent for so long is closed; 0 is never
	LogLevel    slog.Level    //
	LogFormat   string        // "text" or "json"
	HugePages   string        // "auto", "off" or "require"
	LockMemory  bool

	Reclaim        bool // give memory back
	ReclaimQuiet   time.Duration
	ReclaimCoolOff time.Duration
	ReclaimFloor   bytesize.Size

	// File is the path of the file that was read, as given; empty when there was none.
	File string
	// Warnings are remarks that stop nothing: variables that look like settings and are none.
	Warnings []string

	source map[string]string
}

// A Secret is text that prints as stars everywhere; only the conversion string(s) gives it away.
type Secret string

const redacted = "********"

// String returns stars, or nothing for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString returns what String does.
func (s Secret) GoString() string { return s.String() }

// LogValue returns what String does.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns what String does.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A Setting is one option as it came out of Load.
type Setting struct {
	Option *Option
	Value  string // printed; stars for a secret
	Source string // "default", "--loops", "LARDER_LOOPS" or "larder.toml:3:1"
}

// Settings lists all options in the order of Options.
func (c *Config) Settings() []Setting {
	out := make([]Setting, 0, len(Options))
	for i := range Options {
		o := &Options[i]
		out = append(out, Setting{Option: o, Value: o.get(c), Source: c.Source(o.Name)})
	}
	return out
}

// Source says where the option's value came from.
func (c *Config) Source(name string) string {
	if s, ok := c.source[name]; ok {
		return s
	}
	return SourceDefault
}

// SourceDefault is the source of an option that nobody set.
const SourceDefault = "default"
