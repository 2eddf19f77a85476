package command

import (
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/larder-cache/larder/internal/bytesize"
	"github.com/larder-cache/larder/internal/wire"
)

// parameter is a setting that CONFIG GET shows, under the name it has in Redis.
type parameter struct {
	name string
	get  func(s *Server) string
	// set checks a value and returns what makes it take effect, or says what is wrong. nil: only at start.
	set func(s *Server, value string) (apply func(), problem string)
}

const (
	badInteger = "argument couldn't be parsed into an integer"
	badMemory  = "argument must be a memory value"
)

// fixed makes a setting. It is one of Redis that has one value here. Setting that value is allowed, so that the start of a
// script made for Redis works; any other is refused.
func fixed(name, value string) parameter {
	return parameter{
		name: name,
		get:  func(*Server) string { return value },
		set: func(_ *Server, given string) (func(), string) {
			if given == value {
				return nil, ""
			}
			return nil, fmt.Sprintf("only '%s' is supported", value)
		},
	}
}

// readOnly makes a setting that is chosen when the server starts.
func readOnly(name string, get func(s *Server) string) parameter {
	return parameter{name: name, get: get}
}

var parameters = []parameter{
	fixed("appendonly", "no"),
	readOnly("bind", func(s *Server) string { return s.o.Bind }),
	readOnly("client-output-buffer-limit", (*Server).outputLimits),
	fixed("cluster-enabled", "no"),
	readOnly("databases", func(s *Server) string { return strconv.Itoa(s.o.Databases) }),
	readOnly("dir", func(s *Server) string { return s.o.Dir }),
	readOnly("io-threads", func(s *Server) string { return strconv.Itoa(max(1, s.o.Loops)) }),
	{
		name: "loglevel",
		get:  func(s *Server) string { return levelName(s.level()) },
		set: func(s *Server, value string) (func(), string) {
			level, ok := parseLevel(value)
			if !ok {
				return nil, "argument(s) must be one of the following: debug, verbose, notice, warning"
			}
			return func() { s.setLevel(level) }, ""
		},
	},
	{
		name: "maxclients",
		get:  func(s *Server) string { return strconv.FormatInt(s.maxClients.Load(), 10) },
		set: func(s *Server, value string) (func(), string) {
			n, problem := between(value, 1, MaxMaxClients)
			return func() { s.maxClients.Store(n) }, problem
		},
	},
	{
		name: "maxmemory",
		get:  func(s *Server) string { return strconv.FormatInt(s.store.Stats().MaxMemory, 10) },
		set: func(s *Server, value string) (func(), string) {
			n, err := bytesize.Parse(value)
			switch {
			case err != nil:
				return nil, badMemory
			case int64(n) != s.store.Stats().MaxMemory:
				return nil, "the memory limit is set when the server starts"
			}
			return nil, ""
		},
	},
	fixed("maxmemory-policy", "noeviction"),
	fixed("notify-keyspace-events", ""),
	readOnly("port", func(s *Server) string { return strconv.Itoa(s.o.TCPPort) }),
	{
		name: "proto-max-bulk-len",
		get:  func(s *Server) string { return strconv.FormatInt(s.maxBulk.Load(), 10) },
		set: func(s *Server, value string) (func(), string) {
			size, err := bytesize.Parse(value)
			if err != nil {
				return nil, badMemory
			}
			n, problem := between(strconv.FormatInt(int64(size), 10), wire.MinMaxBulk, math.MaxInt64)
			return func() { s.maxBulk.Store(n) }, problem
		},
	},
	{
		name: "requirepass",
		get: func(s *Server) string {
			if p := s.password.Load(); p != nil {
				return p.text
			}
			return ""
		},
		set: func(s *Server, value string) (func(), string) {
			if len(value) > MaxPassword {
				return nil, fmt.Sprintf("a password has at most %d bytes", MaxPassword)
			}
			return func() { s.setPassword(value) }, ""
		},
	},
	fixed("save", ""),
	fixed("slowlog-log-slower-than", "-1"),
	{
		name: "timeout",
		get:  func(s *Server) string { return strconv.FormatInt(s.idle.Load(), 10) },
		set: func(s *Server, value string) (func(), string) {
			n, problem := between(value, 0, int64(MaxIdleTimeout/time.Second))
			return func() { s.setIdle(n) }, problem
		},
	},
}

// between reads an integer within limits; problem says what is wrong with it.
func between(value string, low, high int64) (n int64, problem string) {
	n, ok := integer([]byte(value))
	switch {
	case !ok:
		return 0, badInteger
	case n < low || n > high:
		return 0, fmt.Sprintf("argument must be between %d and %d inclusive", low, high)
	}
	return n, ""
}

// outputLimits shows the limits of the reply buffers in the form of Redis: class, hard limit, soft limit and its seconds.
func (s *Server) outputLimits() string {
	limit := fmt.Sprintf("%d %d %d", s.o.OutputHard, s.o.OutputSoft, int64(s.o.OutputSoftFor.Seconds()))
	return "normal " + limit + " slave " + limit + " pubsub " + limit
}

// The levels of Redis; slog has one for two of them.
func parseLevel(name string) (slog.Level, bool) {
	switch strings.ToLower(name) {
	case "debug":
		return slog.LevelDebug, true
	case "verbose", "notice":
		return slog.LevelInfo, true
	case "warning":
		return slog.LevelWarn, true
	}
	return 0, false
}

func levelName(level slog.Level) string {
	switch {
	case level < slog.LevelInfo:
		return "debug"
	case level < slog.LevelWarn:
		return "notice"
	}
	return "warning"
}

func (s *Server) level() slog.Level {
	if s.o.Level == nil {
		return slog.LevelInfo
	}
	return s.o.Level.Level()
}

func (s *Server) setLevel(level slog.Level) {
	if s.o.Level != nil {
		s.o.Level.Set(level)
	}
}
