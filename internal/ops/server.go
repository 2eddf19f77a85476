// Package ops serves what operators and their machines ask over HTTP: is it alive, is it ready, how is it doing.
//
//	/healthz   200 while the process runs: restart it when this fails
//	/readyz    200 while commands are served, 503 with one line of reason otherwise: send no traffic then
//	/metrics   Prometheus text: larder_*, and the Go runtime and process of client_golang
//
// # Exposure
//
// The server is off unless it gets an address, and there is no login: the pages show sizes and counts, never keys,
// values or settings. It is meant for the machine itself or a private network.
//
// # Costs and limits
//
// Nothing is counted twice: a scrape reads the counters that the engine and the event loops keep anyway, so a server
// that nobody scrapes pays nothing. Slow and greedy clients meet timeouts on every phase of a request, a bound on
// headers and bodies, on connections, and on scrapes at one time.
package ops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/larder-cache/larder/internal/reactor"
)

// Limits of the HTTP server.
const (
	// readHeaderTimeout is how long a client may take to send the header of a request.
	readHeaderTimeout = 5 * time.Second
	// readTimeout is the same for a whole request; no page takes a body.
	readTimeout = 10 * time.Second
	// writeTimeout is how long a response may take, the scrape included.
	writeTimeout = 30 * time.Second
	// idleTimeout is how long a kept-alive connection may be silent: above the usual scrape interval of 60 s.
	idleTimeout = 90 * time.Second
	// maxHeaderBytes bounds the header of a request.
	maxHeaderBytes = 16 << 10
	// maxBodyBytes bounds the body of a request.
	maxBodyBytes = 4 << 10
	// maxConnections bounds the connections; further ones wait in the kernel's queue.
	maxConnections = 64
	// maxScrapes bounds the scrapes at one time; a further one gets 503.
	maxScrapes = 4
)

// Options of a Server.
type Options struct {
	Sources Sources      // what the pages show
	Logger  *slog.Logger // nil = none
}

// A Server answers on one address.
type Server struct {
	listener net.Listener
	http     http.Server
}

// Listen takes the address (host:port; port 0 picks a free one) and answers nothing before Serve. The error wraps that
// of the system, such as syscall.EADDRINUSE.
func Listen(addr string, o Options) (*Server, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	l, err := net.Listen(reactor.Network(addr), addr)
	if err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	return &Server{
		listener: limitListener(l, maxConnections),
		http: http.Server{
			Handler:           handler(o),
			ReadHeaderTimeout: readHeaderTimeout,
			ReadTimeout:       readTimeout,
			WriteTimeout:      writeTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
		},
	}, nil
}

// Addr returns the address that was taken.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers until Shutdown; then it returns nil.
func (s *Server) Serve() error {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("ops: %w", err)
	}
	return nil
}

// Shutdown stops answering. Requests that are under way may finish until ctx ends; then they are cut.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	// Without Serve the HTTP server does not know the listener; closing it twice does no harm.
	_ = s.listener.Close()
	if err != nil {
		return errors.Join(err, s.http.Close())
	}
	return nil
}

func handler(o Options) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		plain(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := o.Sources.ready(); err != nil {
			plain(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		plain(w, http.StatusOK, "ok")
	})
	mux.Handle("GET /metrics", metricsHandler(o))
	mux.HandleFunc("GET /debug/arena/pprof", leakHandler(o.Sources))
	mux.HandleFunc("GET /api/memory/map", memoryMapHandler(o.Sources))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		plain(w, http.StatusOK, "larder\n\n/healthz\n/readyz\n/metrics\n/api/memory/map\n/debug/arena/pprof")
	})
	return http.MaxBytesHandler(mux, maxBodyBytes)
}

// plain writes one text page that no browser takes for anything else and no cache keeps.
func plain(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // a client that is gone needs no answer
}
