package ops

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/larder-cache/larder/internal/command"
	"github.com/larder-cache/larder/internal/reactor"
	"github.com/larder-cache/larder/internal/store"
)

// start runs a server on a free port and returns it with its base address.
func start(t *testing.T, o Options) (*Server, string) {
	t.Helper()
	if o.Sources.Store == nil {
		o.Sources.Store = openStore(t)
	}
	s, err := Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return s, "http://" + s.Addr().String()
}

func openStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(store.Options{MaxMemory: store.MinMaxMemory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestHealthAndReadiness(t *testing.T) {
	var busy atomic.Bool
	_, base := start(t, Options{Sources: Sources{Ready: func() error {
		if busy.Load() {
			return errors.New("stopping")
		}
		return nil
	}}})
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := get(t, base+path); code != 200 || body != "ok\n" {
			t.Errorf("%s gives %d %q", path, code, body)
		}
	}
	busy.Store(true)
	if code, body := get(t, base+"/readyz"); code != 503 || body != "stopping\n" {
		t.Errorf("/readyz of a busy server gives %d %q", code, body)
	}
	if code, _ := get(t, base+"/healthz"); code != 200 {
		t.Errorf("/healthz of a busy server gives %d", code)
	}
}

func TestOtherPathsAndMethodsAreRefused(t *testing.T) {
	_, base := start(t, Options{})
	if code, _ := get(t, base+"/secret"); code != 404 {
		t.Errorf("an unknown path gives %d", code)
	}
	resp, err := http.Post(base+"/metrics", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST /metrics gives %d", resp.StatusCode)
	}
}

func TestMetricsShowWhatTheStoreCounts(t *testing.T) {
	s := openStore(t)
	c, err := s.Collection("0")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		key := fmt.Append(nil, "k", i)
		if err := c.Set(c.Hash(key), key, []byte("v"), 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	c.Get(c.Hash([]byte("k1")), nil, []byte("k1"))
	c.Get(c.Hash([]byte("no")), nil, []byte("no"))
	_, base := start(t, Options{Sources: Sources{
		Store: s, Version: "v1.2.3",
		Reactor: func() reactor.Stats { return reactor.Stats{Loops: 3} },
		Command: func() command.Stats {
			return command.Stats{Commands: 9, ByCommand: []command.CommandStats{{Name: "config|set", Calls: 5, Failed: 2}, {Name: "get", Calls: 4}}}
		},
	}})
	code, body := get(t, base+"/metrics")
	if code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	for _, line := range []string{
		`larder_records{collection="0"} 3`,
		`larder_hits_total{collection="0"} 1`,
		`larder_misses_total{collection="0"} 1`,
		`larder_collections 1`,
		fmt.Sprintf("larder_memory_limit_bytes %v", float64(store.MinMaxMemory)),
		`larder_build_info{version="v1.2.3"} 1`,
		"larder_loops 3",
		"larder_commands_total 9",
		`larder_command_calls_total{command="get"} 4`,
		`larder_command_failures_total{command="config|set"} 2`,
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no line %q in\n%s", line, body)
		}
	}
	for _, name := range []string{"go_goroutines ", "larder_memory_committed_bytes "} {
		if !strings.Contains(body, "\n"+name) {
			t.Errorf("no metric %s", name)
		}
	}
	problems, err := promlint.New(strings.NewReader(body)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "larder_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestCollectionsWithNamesOfAnyBytesKeepMetricsValid(t *testing.T) {
	s := openStore(t)
	names := []string{"plain", "quote\"", "line\nbreak", "\xff", `\xff`, `\\xff`, "\x00", "Ünï"}
	for _, name := range names {
		if _, err := s.Collection(name); err != nil {
			t.Fatal(err)
		}
	}
	_, base := start(t, Options{Sources: Sources{Store: s}})
	code, body := get(t, base+"/metrics")
	if got := strings.Count(body, "\nlarder_records{"); code != 200 || got != len(names) {
		t.Errorf("%d, %d of %d collections in\n%s", code, got, len(names), body)
	}
	if _, err := promlint.New(strings.NewReader(body)).Lint(); err != nil {
		t.Errorf("the text is not valid: %v", err)
	}
}

func TestPortInUseIsTheSystemsError(t *testing.T) {
	s, _ := start(t, Options{})
	if _, err := Listen(s.Addr().String(), Options{Sources: Sources{Store: openStore(t)}}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second server on the port gives %v", err)
	}
}

func TestGreedyRequestsAreRefused(t *testing.T) {
	s, base := start(t, Options{})
	req, err := http.NewRequest(http.MethodGet, base+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Long", strings.Repeat("a", 4*maxHeaderBytes))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of %d bytes gives %d", 4*maxHeaderBytes, resp.StatusCode)
	}

	// More connections than allowed: the surplus waits until one closes, and none is lost.
	var idle []net.Conn
	for range maxConnections {
		conn, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		idle = append(idle, conn)
	}
	answer := make(chan string, 1)
	late, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	go func() {
		_, _ = io.WriteString(late, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		line, _ := bufio.NewReader(late).ReadString('\n')
		answer <- line
	}()
	for _, conn := range idle {
		conn.Close()
	}
	select {
	case line := <-answer:
		if !strings.Contains(line, " 200 ") {
			t.Errorf("the connection that waited got %q", line)
		}
	case <-time.After(10 * time.Second):
		t.Error("the connection that waited got no answer")
	}
}

func TestConnectionLimitHolds(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limitListener(inner, 1)
	accepted := make(chan net.Conn)
	ended := make(chan error, 1)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- conn
		}
	}()
	for range 2 {
		conn, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	first := <-accepted
	select {
	case <-accepted:
		t.Fatal("two connections at one time")
	case <-time.After(50 * time.Millisecond):
	}
	first.Close()
	first.Close() // gives one slot back, not two
	second := <-accepted
	if n := len(l.(*limitedListener).slots); n != 1 {
		t.Errorf("%d slots taken with one connection open", n)
	}
	l.Close() // while Accept waits for a slot
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept ended with %v", err)
	}
	second.Close()
}

func TestShutdownBeforeServeFreesThePort(t *testing.T) {
	s, err := Listen("127.0.0.1:0", Options{Sources: Sources{Store: openStore(t)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(); err != nil {
		t.Errorf("Serve after Shutdown: %v", err)
	}
	l, err := net.Listen("tcp", s.Addr().String())
	if err != nil {
		t.Fatalf("the port is still taken: %v", err)
	}
	l.Close()
}
