package command

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-cache/larder/internal/clock"
	"github.com/larder-cache/larder/internal/netbuf"
	"github.com/larder-cache/larder/internal/store"
)

// newManualServer opens a server whose clock a test moves.
func newManualServer(t testing.TB) (*Server, *clock.Clock) {
	t.Helper()
	clk := clock.NewManual(1_700_000_000_000)
	s, err := store.Open(store.Options{MaxMemory: 64 << 20, Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return newRigServer(t, Options{Store: s}), clk
}

func TestEveryNameIsFoundInAnyCase(t *testing.T) {
	for _, cmd := range commands {
		for _, name := range []string{cmd.Name, strings.ToUpper(cmd.Name), strings.ToUpper(cmd.Name[:1]) + cmd.Name[1:]} {
			if got := byName.find([]byte(name)); got != cmd {
				t.Errorf("%s finds %v", name, got)
			}
		}
		for i := range cmd.Name {
			for b := range 256 {
				near := []byte(cmd.Name)
				if near[i]|0x20 == byte(b)|0x20 {
					continue
				}
				near[i] = byte(b)
				if got := byName.find(near); got == cmd {
					t.Errorf("%q finds %s", near, cmd.Name)
				}
			}
		}
		for _, near := range []string{cmd.Name + "x", cmd.Name[1:], cmd.Name[:len(cmd.Name)-1], cmd.Name + "\x00", " " + cmd.Name} {
			if got := byName.find([]byte(near)); got == cmd {
				t.Errorf("%q finds %s", near, cmd.Name)
			}
		}
	}
	if byName.find(nil) != nil || byName.find(bytes.Repeat([]byte("g"), 1000)) != nil {
		t.Error("no name and a long name find a command")
	}
}

func TestRowsAreComplete(t *testing.T) {
	groups := map[string]bool{"string": true, "generic": true, "connection": true, "server": true}
	version := regexp.MustCompile(`^\d+\.\d+\.\d+$`)
	for i, cmd := range rows {
		name := cmd.full()
		if cmd.id != i {
			t.Errorf("%s has the counters of another row", name)
		}
		if (cmd.run == nil) != (len(cmd.Sub) > 0 && name != "command") {
			t.Errorf("%s: either a handler or subcommands", name)
		}
		if cmd.Arity == 0 || !groups[cmd.Group] || !version.MatchString(cmd.Since) || cmd.Complexity == "" {
			t.Errorf("%s: %+v", name, *cmd)
		}
		if !strings.HasSuffix(cmd.Summary, ".") {
			t.Errorf("%s: the summary is %q", name, cmd.Summary)
		}
		if cmd.FirstKey > 0 && (cmd.Step < 1 || cmd.Flags&(FlagWrite|FlagReadonly) == 0 || cmd.LastKey == 0) {
			t.Errorf("%s: keys %d %d %d, flags %v", name, cmd.FirstKey, cmd.LastKey, cmd.Step, cmd.Flags.names())
		}
		if cmd.Flags&FlagWrite != 0 && cmd.Flags&FlagReadonly != 0 {
			t.Errorf("%s writes and does not", name)
		}
	}
}

func TestTableShowsEveryCommand(t *testing.T) {
	r := dial(t, newRigServer(t, Options{}))
	count := len(listed())
	r.expect("COMMAND COUNT", fmt.Sprintf(":%d", count))
	whole := r.do("COMMAND")
	if got := r.do("COMMAND INFO"); got != whole {
		t.Error("COMMAND INFO without names differs from COMMAND")
	}
	docs := r.do("COMMAND DOCS")
	list := r.do("COMMAND LIST")
	for _, cmd := range rows {
		name := `"` + cmd.full() + `"`
		if shown := cmd.Flags&FlagHidden == 0; strings.Contains(whole, name) != shown || strings.Contains(list, name) != shown ||
			strings.Contains(docs, name) != shown {
			t.Errorf("%s is not shown, or shown though hidden", name)
		}
	}
}

func TestInfoSaysWhatClientsLookFor(t *testing.T) {
	server := newRigServer(t, Options{Version: "1.2.3", TCPPort: 6379})
	r := dial(t, server)
	r.do("MSET a 1 b 2")
	r.do("EXPIRE a 100")
	r.do("GET a")
	r.do("GET nope")
	r.do("FOO")
	r.do("GET")
	r.do("INCR a b")
	r.do("SELECT calls")
	r.do("SET c 1")
	text := r.send(pipeline(t, "INFO everything"))
	for _, line := range []string{
		"redis_version:7.0.15", "redis_mode:standalone", "larder_version:1.2.3", "tcp_port:6379", "connected_clients:1", "loading:0",
		"role:master", "aof_enabled:0", "cluster_enabled:0", "db0:keys=2,expires=1,avg_ttl=0", "keyspace_hits:1", "keyspace_misses:1",
		"total_commands_processed:9", "total_error_replies:3", "maxmemory:268435456", "evicted_keys:0", "collection_calls:keys=1,expires=0,avg_ttl=0",
		"cmdstat_get:calls=2,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=0", "# Server", "# Keyspace", "# Larder",
		"errorstat_ERR:count=3",
	} {
		if !bytes.Contains(text, []byte("\r\n"+line+"\r\n")) {
			t.Errorf("no line %s", line)
		}
	}
	if t.Failed() {
		t.Logf("%s", text)
	}
	usual := r.send(pipeline(t, "INFO"))
	if bytes.Contains(usual, []byte("cmdstat_")) || !bytes.Contains(usual, []byte("role:master")) {
		t.Error("INFO without sections")
	}
	two := r.do("INFO keyspace REPLICATION keyspace")
	if strings.Count(two, "# ") != 2 || !strings.HasPrefix(two, `"# Replication`) {
		t.Error(two)
	}
}

func TestResetstatStartsTheCountersAnew(t *testing.T) {
	server := newRigServer(t, Options{})
	r := dial(t, server)
	r.do("GET a")
	r.do("FOO")
	r.do("CONFIG RESETSTAT")
	r.do("GET a")
	st := server.Stats()
	// RESETSTAT itself counts when its call ends.
	if st.Commands != 2 || st.Errors != 0 || len(st.ByCommand) != 2 || st.ByCommand[1] != (CommandStats{Name: "get", Calls: 1}) {
		t.Errorf("%+v", st)
	}
	if data := server.store.Stats(); data.Misses != 1 {
		t.Errorf("%d misses", data.Misses)
	}
}

func TestClientListShowsEachClient(t *testing.T) {
	server := newRigServer(t, Options{})
	a, b := dial(t, server), dial(t, server)
	a.do("CLIENT SETNAME first")
	a.do("CLIENT SETINFO LIB-NAME lib")
	a.do("CLIENT SETINFO LIB-VER 1.0")
	a.do("SELECT 3")
	a.do("HELLO 3")
	b.do("CLIENT NO-EVICT on")
	text := b.do("CLIENT LIST")
	for _, want := range []string{
		fmt.Sprintf("id=%d addr=192.0.2.1:%d laddr=192.0.2.2:6379 ", a.peer.id, a.peer.id), " name=first ", " db=3 ", " resp=3 ",
		" cmd=hello ", "lib-name=lib lib-ver=1.0", " flags=e ", " cmd=client|list ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	one := b.do(fmt.Sprintf("CLIENT LIST ID %d", a.peer.id))
	if !strings.Contains(one, "name=first") || strings.Contains(one, "cmd=client") {
		t.Error(one)
	}
	if info := b.do("CLIENT INFO"); !strings.Contains(info, "cmd=client|info") || strings.Count(info, `\x0a`) != 1 {
		t.Error(info)
	}
	b.do("SELECT \"a b\\n\"")
	if text := a.do("CLIENT LIST"); strings.Count(text, `\x0a`) != 2 {
		t.Errorf("a name of a collection breaks the lines: %s", text)
	}
}

func TestPasswordsStayOutOfTheLog(t *testing.T) {
	var log bytes.Buffer
	server := newRigServer(t, Options{Password: "s3cret", Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	r := dial(t, server)
	r.do("AUTH wr0ng")
	r.do("HELLO 3 AUTH default wr0ng")
	r.do("AUTH s3cret")
	r.do("CONFIG SET requirepass n3w")
	r.do("INFO everything")
	r.do("AUTH default n3w extra")
	for _, reply := range []string{r.do("CLIENT LIST"), r.do("INFO everything"), log.String()} {
		for _, secret := range []string{"s3cret", "wr0ng", "n3w"} {
			if strings.Contains(reply, secret) {
				t.Errorf("%q in %s", secret, reply)
			}
		}
	}
	if n := server.Stats().BadLogins; n != 2 {
		t.Errorf("%d failed logins counted", n)
	}
}

func TestConfigChangesAllOrNothing(t *testing.T) {
	server := newRigServer(t, Options{})
	r := dial(t, server)
	for _, line := range []string{
		"CONFIG SET timeout 5 maxclients 0", "CONFIG SET timeout 5 nope 1", "CONFIG SET timeout 5 databases 1", "CONFIG SET timeout 5 timeout 6",
	} {
		if got := r.do(line); got[0] != '-' {
			t.Errorf("%s: %s", line, got)
		}
		if server.idle.Load() != 0 {
			t.Fatalf("%s took effect", line)
		}
	}
	r.expect("CONFIG SET proto-max-bulk-len 1mb", "+OK")
	if got := r.do("SET k " + strings.Repeat("v", 1<<20+1)); got != "-ERR Protocol error: invalid bulk length" {
		t.Error(got)
	}
	level := new(slog.LevelVar)
	r = dial(t, newRigServer(t, Options{Level: level}))
	r.expect("CONFIG SET loglevel debug", "+OK")
	if level.Level() != slog.LevelDebug {
		t.Error(level)
	}
	r.expect("CONFIG SET maxmemory 1gb", "-ERR CONFIG SET failed (possibly related to argument 'maxmemory') - the memory limit is set when the server starts")
	r.expect("CONFIG SET maxmemory 256mb", "+OK")
}

func TestIdleTimeoutSweepsByItself(t *testing.T) {
	server := newRigServer(t, Options{})
	r := dial(t, server)
	server.idle.Store(1)
	r.client.shown.active.Store(server.clock.Now() - 5000)
	server.setIdle(1)
	select {
	case fn := <-r.peer.posts:
		fn()
	case <-time.After(10 * time.Second):
		t.Fatal("no sweep")
	}
	if !r.peer.closed {
		t.Error("not closed")
	}
}

func TestOptionsAreValidated(t *testing.T) {
	_, err := New(Options{Databases: -1, Password: strings.Repeat("x", MaxPassword+1), MaxClients: -1, IdleTimeout: -1, MaxBulk: 1})
	if err == nil || strings.Count(err.Error(), "\n") != 5 {
		t.Errorf("six problems: %v", err)
	}
}

// TestLoopsShareAServer runs clients of several loops at once, for the race detector.
func TestLoopsShareAServer(t *testing.T) {
	server := newRigServer(t, Options{})
	lines := []string{
		"SET k v", "GET k", "INCR n", "CLIENT LIST", "INFO everything", "CONFIG RESETSTAT", "CLIENT SETNAME x", "SELECT 1", "SELECT 0", "FOO",
		"CLIENT NO-EVICT on", "HELLO 3", "RESET", "CONFIG SET timeout 100", "CONFIG SET timeout 0", "CONFIG SET requirepass \"\"", "FLUSHDB",
		"CLIENT KILL TYPE normal SKIPME yes", "COMMAND COUNT", "DBSIZE", "CLIENT SETINFO LIB-NAME x",
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(uint64(i), 7))
			blocks := netbuf.NewPool().NewBlocks(512 << 10)
			for range 20 {
				r := &rig{t: t, server: server, peer: &rigPeer{id: rigIDs.Add(1), posts: make(chan func(), 10_000)}}
				r.out.Bind(blocks)
				r.client = server.connect(r.peer, &r.out, i)
				for range 30 {
					if r.ended() {
						break
					}
					if got := r.do(lines[rng.IntN(len(lines))]); strings.Contains(got, "malformed") {
						t.Error(got)
					}
					r.posted()
				}
				server.disconnect(r.client)
			}
		}()
	}
	wg.Wait()
	if n := server.Stats().Clients; n != 0 {
		t.Errorf("%d clients are left", n)
	}
}
