package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/larder-cache/larder/internal/command"
	"github.com/larder-cache/larder/internal/config"
	"github.com/larder-cache/larder/internal/memory"
	"github.com/larder-cache/larder/internal/ops"
	"github.com/larder-cache/larder/internal/reactor"
	"github.com/larder-cache/larder/internal/store"
	"github.com/larder-cache/larder/internal/wire"
)

const (
	// stopWithin bounds a clean stop: replies under way are written, then connections are cut.
	stopWithin = 5 * time.Second
	// spareFiles is how many file descriptors are kept for listeners, the log and scrapes.
	spareFiles = 128
)

func newServe() *cobra.Command {
	return withSettings(&cobra.Command{
		Use:   "serve",
		Short: "Start a server",
		Long: "Serve answers the protocol of Redis until SIGINT or SIGTERM, which stop it cleanly; a second signal ends it at\n" +
			"once. Each flag has an environment variable (--max-memory is LARDER_MAX_MEMORY) and a key in the file of\n" +
			"--config (max-memory). A flag beats the environment, which beats the file.",
	}, func(cmd *cobra.Command, c *config.Config) error {
		return serve(c, cmd.ErrOrStderr())
	})
}

// serve runs a server until a signal, SHUTDOWN, or a failure of a listener.
func serve(c *config.Config, stderr io.Writer) error {
	level := c.Level()
	log := newLogger(stderr, c.LogFormat, level)
	s := &server{config: c, log: log, level: level, ended: make(chan error, 2), asked: make(chan string, 1)}
	// Signals that come while the server starts stop it as soon as it runs.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, stopSignals()...)
	defer signal.Stop(signals)
	if err := s.open(); err != nil {
		return errors.Join(err, s.close())
	}
	s.run()
	var failed error
	select {
	case sig := <-signals:
		log.Info("stopping", "reason", sig.String())
	case reason := <-s.asked:
		log.Info("stopping", "reason", reason)
	case failed = <-s.ended:
		log.Error("stopping", "reason", failed)
	}
	go func() {
		<-signals
		log.Warn("stopped at once by a second signal")
		os.Exit(exitFailure)
	}()
	if err := errors.Join(failed, s.close()); err != nil {
		return &failure{err}
	}
	log.Info("stopped")
	return nil
}

// server is what runs between start and stop. Parts are opened from the engine to the ports and closed the other way.
type server struct {
	config *config.Config
	log    *slog.Logger
	level  *slog.LevelVar
	ended  chan error  // a listener that ended by itself
	asked  chan string // SHUTDOWN

	store   *store.Store
	command *command.Server
	reactor *reactor.Server
	ops     *ops.Server

	mu       sync.Mutex
	stopping bool
}

// open builds all parts and takes the ports, but serves nothing yet.
func (s *server) open() error {
	c := s.config
	for _, w := range c.Warnings {
		s.log.Warn(w)
	}
	file, directory, err := enter(c)
	if err != nil {
		return err
	}
	if limit, ok := fileLimit(); ok && uint64(c.MaxClients)+spareFiles > limit {
		lowered := max(1, int(limit)-spareFiles)
		s.log.Warn("max-clients is lowered to what the limit of open files allows", "wanted", c.MaxClients, "max_clients", lowered, "open_files", limit)
		c.MaxClients = lowered
	}
	s.store, err = store.Open(store.Options{
		MaxMemory: int64(c.MaxMemory), MaxValue: int(c.MaxValue), HugePages: c.HugePages, Lock: c.LockMemory, Logger: s.log,
		Reclaim: memory.Reclaim{KeepAll: !c.Reclaim, Quiet: max(c.ReclaimQuiet, 1), CoolOff: max(c.ReclaimCoolOff, 1), Floor: int64(c.ReclaimFloor)},
	})
	if err != nil {
		return err
	}
	handler := &handler{heap: newHeapKeeper()}
	taken := s.listen(handler)
	if s.reactor == nil {
		return taken
	}
	// Though the other address may be missing: the loops call the handler even to end.
	bind, port := hostPort(s.reactor.Addr())
	handler.Server, err = command.New(command.Options{
		Store: s.store, Logger: s.log, Level: s.level, Version: currentVersion(),
		Databases: c.Databases, Password: string(c.RequirePass), MaxClients: c.MaxClients, IdleTimeout: c.IdleTimeout,
		MaxBulk: max(int64(c.MaxValue), wire.MinMaxBulk),
		Bind:    bind, TCPPort: port, Dir: directory, ConfigFile: file, Loops: s.reactor.Loops(),
		OutputHard: reactor.DefaultOutputHard, OutputSoft: reactor.DefaultOutputSoft, OutputSoftFor: reactor.DefaultOutputSoftFor,
		Shutdown: func() { s.asked <- "SHUTDOWN" },
	})
	s.command = handler.Server
	return errors.Join(taken, err)
}

// listen takes both addresses, or says of each why it cannot be had.
func (s *server) listen(handler reactor.Handler) error {
	c := s.config
	var faults []error
	var err error
	s.reactor, err = reactor.Listen(c.Listen, reactor.Options{
		Loops: loops(c.Loops), Handler: handler, Portable: c.Reactor == "portable", Logger: s.log,
		// The command server refuses clients with the limit that CONFIG SET changes; this is the ceiling above it.
		MaxClients: config.MaxMaxClients,
	})
	if err != nil {
		faults = append(faults, fmt.Errorf("%s: %w", place(c, "listen"), listenError(c.Listen, err)))
	}
	if c.HTTP != "" {
		s.ops, err = ops.Listen(c.HTTP, ops.Options{Logger: s.log, Sources: s.sources()})
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", place(c, "http"), listenError(c.HTTP, err)))
		}
	}
	return errors.Join(faults...)
}

// run starts to serve and says so.
func (s *server) run() {
	c := s.config
	go func() {
		if err := s.reactor.Serve(); err != nil {
			s.ended <- err
		}
	}()
	http := "off"
	if s.ops != nil {
		http = s.ops.Addr().String()
		go func() {
			if err := s.ops.Serve(); err != nil {
				s.ended <- err
			}
		}()
	}
	if tcp, ok := s.reactor.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() && c.RequirePass == "" {
		s.log.Warn("anybody who reaches this address may read and write: set requirepass", "listen", tcp.String())
	}
	s.log.Info("serving", "version", currentVersion(), "listen", s.reactor.Addr().String(), "http", http,
		"max_memory", c.MaxMemory.String(), "pages", s.store.Stats().PageTier, "loops", s.reactor.Loops(), "pid", os.Getpid())
}

// close stops what was opened. Readiness fails first, so that nobody sends more.
func (s *server) close() error {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	var faults []error
	if s.reactor != nil {
		if err := s.reactor.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			faults = append(faults, err)
		}
	}
	if s.ops != nil {
		if err := s.ops.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			faults = append(faults, err)
		}
	}
	if s.store != nil {
		faults = append(faults, s.store.Close())
	}
	return errors.Join(faults...)
}

// sources are what the pages of package ops read, from run on.
func (s *server) sources() ops.Sources {
	return ops.Sources{
		Store: s.store, Version: currentVersion(), Ready: s.ready,
		Command: func() command.Stats { return s.command.Stats() },
		Reactor: func() reactor.Stats { return s.reactor.Stats() },
	}
}

func (s *server) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return errors.New("stopping")
	}
	return nil
}

// newLogger writes to w from the level on; the level may change at any time.
func newLogger(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// enter makes the directory of the settings the working directory, as Redis does with its dir. It returns the absolute
// paths of the file and of the working directory.
func enter(c *config.Config) (file, directory string, err error) {
	if c.File != "" {
		if file, err = filepath.Abs(c.File); err != nil {
			return "", "", err
		}
	}
	if c.Dir != "" {
		if err := os.Chdir(c.Dir); err != nil {
			return "", "", fmt.Errorf("%s: %w", place(c, "dir"), err)
		}
	}
	directory, err = os.Getwd()
	return file, directory, err
}

// loops turns "auto" into a number: a second loop pays only when the first is saturated and a core is free for it, so
// half of the cores that the process may use.
func loops(n int) int {
	if n > 0 {
		return n
	}
	return max(1, runtime.GOMAXPROCS(0)/2)
}

// stopSignals end the server. A hang-up that the parent chose to ignore (nohup) stays ignored.
func stopSignals() []os.Signal {
	list := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// hostPort takes an address apart; a unix socket has its path and port 0.
func hostPort(addr net.Addr) (string, int) {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.IP.String(), tcp.Port
	}
	return addr.String(), 0
}

// place says where an option stands, or the flag that would change its default.
func place(c *config.Config, name string) string {
	if where := c.Source(name); where != config.SourceDefault {
		return where
	}
	return "--" + name
}

// listenError words why an address cannot be taken, in one line without the names of system calls.
func listenError(addr string, err error) error {
	var errno syscall.Errno
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s is in use by another program (%w)", addr, syscall.EADDRINUSE)
	case errors.As(err, &dns):
		return fmt.Errorf("%s: no such host", addr)
	case errors.As(err, &errno):
		return fmt.Errorf("cannot listen on %s: %w", addr, errno)
	}
	return fmt.Errorf("cannot listen on %s: %w", addr, err)
}
