package config

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/larder-cache/larder/internal/bytesize"
	"github.com/larder-cache/larder/internal/command"
	"github.com/larder-cache/larder/internal/hostmem"
	"github.com/larder-cache/larder/internal/store"
)

// Limits of settings.
const (
	// MinMaxMemory and MaxMaxMemory are what a store can have: enough slots for a mix of sizes, and what 32-bit cell
	// numbers can name.
	MinMaxMemory = bytesize.Size(store.MinMaxMemory)
	MaxMaxMemory = bytesize.Size(store.MaxMaxMemory)
	// MaxMaxValue is the largest value of the Redis protocol.
	MaxMaxValue = 512 * bytesize.MB
	// MaxLoops is more than any machine gains from: a loop is an OS thread.
	MaxLoops = 256
	// MaxDatabases is how many collections a store can have; a database costs nothing until it is used.
	MaxDatabases = store.MaxCollections
	// MaxMaxClients, MaxSecret and MaxIdleTimeout are what CONFIG SET takes while the server runs.
	MaxMaxClients  = command.MaxMaxClients
	MaxSecret      = command.MaxPassword
	MaxIdleTimeout = command.MaxIdleTimeout
)

// defaultHost is where an address without a host listens: nothing is open to other machines unless it says so.
const defaultHost = "127.0.0.1"

// An Option is one row of the table of settings.
type Option struct {
	Name    string // flag and key of the file; the variable is LARDER_ and the name in capitals
	Value   string // placeholder of the value: HOST:PORT, SIZE, N ...
	Default string // as text; empty is "none"
	Usage   string // one sentence without a full stop
	// Live names the CONFIG SET parameter that changes the option while the server runs; empty: only at start.
	Live   string
	Secret bool

	set func(c *Config, text string) error
	get func(c *Config) string
}

// Env returns the environment variable of the option.
func (o *Option) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(o.Name, "-", "_"))
}

// Options are all settings, in the order in which they are shown.
var Options = []Option{
	{
		Name: "listen", Value: "HOST:PORT", Default: "127.0.0.1:6379",
		Usage: "address of the Redis protocol, or unix:PATH; without a host it is 127.0.0.1, port 0 picks a free one",
		set:   func(c *Config, s string) (err error) { c.Listen, err = addressOrSocket(s); return },
		get:   func(c *Config) string { return c.Listen },
	},
	{
		Name: "http", Value: "HOST:PORT", Default: "",
		Usage: "address of /healthz, /readyz and /metrics; off when empty",
		set: func(c *Config, s string) (err error) {
			c.HTTP = ""
			if s != "" {
				c.HTTP, err = address(s)
			}
			return
		},
		get: func(c *Config) string { return c.HTTP },
	},
	{
		Name: "dir", Value: "DIR", Default: "",
		Usage: "working directory, which must exist and be writable; the current one when empty",
		set:   func(c *Config, s string) (err error) { c.Dir, err = absolute(s); return },
		get:   func(c *Config) string { return c.Dir },
	},
	{
		Name: "max-memory", Value: "SIZE", Default: "1gb",
		Usage: "limit for records and index together, or a share like 60% of the memory of the machine or its control group; a write beyond it is refused with an OOM error",
		set: func(c *Config, s string) (err error) {
			c.MaxMemory, err = sizeOrShare(s, MinMaxMemory, MaxMaxMemory)
			return
		},
		get: func(c *Config) string { return c.MaxMemory.String() },
	},
	{
		Name: "max-value", Value: "SIZE", Default: "512mb",
		Usage: "largest value of one key",
		set: func(c *Config, s string) (err error) {
			c.MaxValue, err = size(s, bytesize.KB, MaxMaxValue)
			return
		},
		get: func(c *Config) string { return c.MaxValue.String() },
	},
	{
		Name: "loops", Value: "N", Default: "auto",
		Usage: "event loops, each a thread; auto chooses by the machine",
		set: func(c *Config, s string) (err error) {
			if c.Loops = 0; s != auto {
				c.Loops, err = number(s, 1, MaxLoops)
			}
			return
		},
		get: func(c *Config) string {
			if c.Loops == 0 {
				return auto
			}
			return strconv.Itoa(c.Loops)
		},
	},
	{
		Name: "reactor", Value: "KIND", Default: "auto",
		Usage: "auto uses epoll on Linux, portable uses a goroutine for each connection as other systems do",
		set:   func(c *Config, s string) (err error) { c.Reactor, err = oneOf(s, auto, "portable"); return },
		get:   func(c *Config) string { return c.Reactor },
	},
	{
		Name: "requirepass", Value: "PASSWORD", Default: "", Secret: true, Live: "requirepass",
		Usage: "password that clients must give with AUTH or HELLO; prefer the file or the environment, other users see flags",
		set: func(c *Config, s string) error {
			if len(s) > MaxSecret {
				return fmt.Errorf("longer than %d bytes", MaxSecret)
			}
			c.RequirePass = Secret(s)
			return nil
		},
		get: func(c *Config) string { return c.RequirePass.String() },
	},
	{
		Name: "databases", Value: "N", Default: "16",
		Usage: "how many numbered databases SELECT offers",
		set:   func(c *Config, s string) (err error) { c.Databases, err = number(s, 1, MaxDatabases); return },
		get:   func(c *Config) string { return strconv.Itoa(c.Databases) },
	},
	{
		Name: "max-clients", Value: "N", Default: "10000", Live: "maxclients",
		Usage: "most connections at one time; another one is refused with an error",
		set:   func(c *Config, s string) (err error) { c.MaxClients, err = number(s, 1, MaxMaxClients); return },
		get:   func(c *Config) string { return strconv.Itoa(c.MaxClients) },
	},
	{
		Name: "idle-timeout", Value: "DURATION", Default: "0s", Live: "timeout",
		Usage: "close a connection that sent nothing for so long, like 90s or 5m; 0s is never",
		set:   func(c *Config, s string) (err error) { c.IdleTimeout, err = duration(s, MaxIdleTimeout); return },
		get:   func(c *Config) string { return c.IdleTimeout.String() },
	},
	{
		Name: "log-level", Value: "LEVEL", Default: "info", Live: "loglevel",
		Usage: "debug, info, warn or error",
		set: func(c *Config, s string) (err error) {
			word, err := oneOf(s, "debug", "info", "warn", "error")
			if err == nil {
				err = c.LogLevel.UnmarshalText([]byte(word))
			}
			return err
		},
		get: func(c *Config) string { return strings.ToLower(c.LogLevel.String()) },
	},
	{
		Name: "log-format", Value: "FORMAT", Default: "text",
		Usage: "text or json, on standard error",
		set:   func(c *Config, s string) (err error) { c.LogFormat, err = oneOf(s, "text", "json"); return },
		get:   func(c *Config) string { return c.LogFormat },
	},
	{
		Name: "huge-pages", Value: "WHEN", Default: "auto",
		Usage: "auto asks the kernel for huge pages and takes what it gives, off never asks, require starts only with them",
		set:   func(c *Config, s string) (err error) { c.HugePages, err = oneOf(s, auto, "off", "require"); return },
		get:   func(c *Config) string { return c.HugePages },
	},
	{
		Name: "lock-memory", Value: "yes/no", Default: "no",
		Usage: "keep the memory of records from being swapped out; it is then not given back before the end",
		set:   func(c *Config, s string) (err error) { c.LockMemory, err = yesNo(s); return },
		get:   func(c *Config) string { return showYesNo(c.LockMemory) },
	},
	{
		Name: "reclaim", Value: "yes/no", Default: "yes",
		Usage: "give memory that is no longer needed back to the system",
		set:   func(c *Config, s string) (err error) { c.Reclaim, err = yesNo(s); return },
		get:   func(c *Config) string { return showYesNo(c.Reclaim) },
	},
	{
		Name: "reclaim-quiet", Value: "DURATION", Default: "5s",
		Usage: "begin to give back when no new memory was needed for so long",
		set:   func(c *Config, s string) (err error) { c.ReclaimQuiet, err = duration(s, maxReclaimWait); return },
		get:   func(c *Config) string { return c.ReclaimQuiet.String() },
	},
	{
		Name: "reclaim-cool-off", Value: "DURATION", Default: "10s",
		Usage: "give back what was free for so long",
		set:   func(c *Config, s string) (err error) { c.ReclaimCoolOff, err = duration(s, maxReclaimWait); return },
		get:   func(c *Config) string { return c.ReclaimCoolOff.String() },
	},
	{
		Name: "reclaim-floor", Value: "SIZE", Default: "0b",
		Usage: "memory that stays with the server once it was taken",
		set:   func(c *Config, s string) (err error) { c.ReclaimFloor, err = size(s, 0, MaxMaxMemory); return },
		get:   func(c *Config) string { return c.ReclaimFloor.String() },
	},
}

const (
	auto = "auto"
	// maxReclaimWait is longer than anybody waits for memory to come back.
	maxReclaimWait = 24 * time.Hour
)

func yesNo(text string) (bool, error) {
	word, err := oneOf(text, "yes", "no")
	return word == "yes", err
}

func showYesNo(v bool) string {
	if v {
		return "yes"
	}
	return "no"
}

// sizeOrShare reads a size, or a share in percent of the memory that this process may use.
func sizeOrShare(text string, low, high bytesize.Size) (bytesize.Size, error) {
	number, share := strings.CutSuffix(strings.TrimSpace(text), "%")
	if !share {
		return size(text, low, high)
	}
	percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(percent > 0 && percent <= 100) {
		return 0, fmt.Errorf("%q is not a share above 0%% and up to 100%%", text)
	}
	l, err := hostmem.Get()
	if err != nil {
		return 0, fmt.Errorf("a share needs to know how much memory there is: %w", err)
	}
	return min(max(bytesize.Size(percent/100*float64(l.Bytes)), low), high), nil
}

func find(name string) *Option {
	for i := range Options {
		if Options[i].Name == name {
			return &Options[i]
		}
	}
	return nil
}

func size(text string, low, high bytesize.Size) (bytesize.Size, error) {
	v, err := bytesize.Parse(text)
	if err != nil {
		return 0, err
	}
	if v < low || v > high {
		return 0, fmt.Errorf("%s is not between %s and %s", v, low, high)
	}
	return v, nil
}

func number(text string, low, high int) (int, error) {
	v, err := strconv.Atoi(text)
	switch {
	case errors.Is(err, strconv.ErrRange):
		v = math.MaxInt
	case err != nil:
		return 0, fmt.Errorf("%q is not a whole number", text)
	}
	if v < low || v > high {
		return 0, fmt.Errorf("%s is not between %d and %d", text, low, high)
	}
	return v, nil
}

func duration(text string, high time.Duration) (time.Duration, error) {
	v, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration (write it like 90s or 5m)", text)
	}
	if v < 0 || v > high {
		return 0, fmt.Errorf("%s is not between 0s and %s", text, high)
	}
	if v%time.Second != 0 {
		return 0, fmt.Errorf("%s is not a whole number of seconds", text)
	}
	return v, nil
}

func oneOf(text string, words ...string) (string, error) {
	for _, w := range words {
		if strings.EqualFold(text, w) {
			return w, nil
		}
	}
	return "", fmt.Errorf("%q is not one of %s", text, strings.Join(words, ", "))
}

// address checks HOST:PORT without asking the network: a name that does not resolve shows when the server listens.
func address(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return "", fmt.Errorf("%q is not HOST:PORT, such as 127.0.0.1:6379", text)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", fmt.Errorf("%q has no port between 0 and 65535", text)
	}
	if strings.ContainsAny(host, " \t\r\n/@\x00") {
		return "", fmt.Errorf("%q is not HOST:PORT, such as 127.0.0.1:6379", text)
	}
	if host == "" {
		host = defaultHost
	}
	return net.JoinHostPort(host, strconv.FormatUint(n, 10)), nil
}

// SocketPrefix marks the path of a unix socket in the listen option.
const SocketPrefix = "unix:"

func addressOrSocket(text string) (string, error) {
	path, socket := strings.CutPrefix(text, SocketPrefix)
	if !socket {
		return address(text)
	}
	if path == "" {
		return "", fmt.Errorf("%q has no path after %s", text, SocketPrefix)
	}
	path, err := absolute(path)
	if err != nil {
		return "", err
	}
	return SocketPrefix + path, nil
}

// absolute makes a path absolute. Load looks at what is there when all settings are known.
func absolute(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if strings.ContainsRune(text, 0) {
		return "", errors.New("a path has no zero byte")
	}
	return filepath.Abs(text)
}

// Level is the setting as slog wants it: a value that CONFIG SET loglevel can change while loggers use it.
func (c *Config) Level() *slog.LevelVar {
	v := new(slog.LevelVar)
	v.Set(c.LogLevel)
	return v
}
