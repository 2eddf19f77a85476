package cli

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/larder-cache/larder/test/internal/raw"
	"github.com/larder-cache/larder/test/internal/server"
)

func TestReadmeLineStoresAGreetingForAMinute(t *testing.T) {
	t.Parallel()
	p := server.Start(t)
	want(t, p, "OK", "SET", "greeting", "hello", "EX", "60")
	want(t, p, "hello", "GET", "greeting")
	ttl, err := strconv.Atoi(redisCLI(t, p, "TTL", "greeting"))
	if err != nil || ttl < 55 || ttl > 60 {
		t.Errorf("TTL greeting: %d (%v), want about 60", ttl, err)
	}
	want(t, p, "string", "TYPE", "greeting")
	want(t, p, "1", "DEL", "greeting")
	want(t, p, "", "GET", "greeting")
}

func TestDatabaseOptionSelectsACollection(t *testing.T) {
	t.Parallel()
	p := server.Start(t)
	want(t, p, "OK", "-n", "3", "SET", "k", "three")
	want(t, p, "", "GET", "k")
	want(t, p, "three", "-n", "3", "GET", "k")
	want(t, p, "1", "-n", "3", "DBSIZE")
	want(t, p, "0", "DBSIZE")
}

func TestRESP3RepliesAreMaps(t *testing.T) {
	t.Parallel()
	p := server.Start(t)
	want(t, p, "OK", "-3", "SET", "k", "v")
	want(t, p, "v", "-3", "GET", "k")
	out := run(t, nil, "redis-cli", "-p", p.Port(), "-3", "--no-raw", "CONFIG", "GET", "maxmemory")
	if !strings.HasPrefix(out, `1# "maxmemory" => "`) {
		t.Errorf("CONFIG GET over RESP3 is not a map: %q", out)
	}
	if out := run(t, nil, "redis-cli", "-p", p.Port(), "-3", "--no-raw", "GET", "absent"); out != "(nil)\n" {
		t.Errorf("an absent key over RESP3: %q", out)
	}
	if out := redisCLI(t, p, "-3", "HELLO"); !strings.Contains(out, "proto 3") {
		t.Errorf("HELLO over RESP3: %q", out)
	}
}

// pipeLoad stores n keys "key:%07d" -> "value:i" through redis-cli --pipe.
func pipeLoad(t *testing.T, p *server.Process, n int) {
	t.Helper()
	var load []byte
	for i := range n {
		load = raw.Append(load, "SET", fmt.Sprintf("key:%07d", i), fmt.Sprintf("value:%d", i))
	}
	out := run(t, bytes.NewReader(load), "redis-cli", "-p", p.Port(), "--pipe")
	if !strings.Contains(out, fmt.Sprintf("errors: 0, replies: %d", n)) {
		t.Fatalf("redis-cli --pipe: %s", out)
	}
}

func TestPipeModeLoadsEveryKey(t *testing.T) {
	t.Parallel()
	const keys = 200_000
	p := server.Start(t)
	pipeLoad(t, p, keys)
	want(t, p, strconv.Itoa(keys), "DBSIZE")
	for _, i := range []int{0, 1, keys / 2, keys - 1} {
		want(t, p, fmt.Sprintf("value:%d", i), "GET", fmt.Sprintf("key:%07d", i))
	}
}

func TestScanModeListsEveryKeyOnce(t *testing.T) {
	t.Parallel()
	const keys = 5000
	p := server.Start(t)
	pipeLoad(t, p, keys)
	listed := strings.Split(redisCLI(t, p, "--scan"), "\n")
	slices.Sort(listed)
	if len(listed) != keys || len(slices.Compact(listed)) != keys {
		t.Errorf("--scan listed %d keys, want %d different ones", len(listed), keys)
	}
	listed = strings.Split(redisCLI(t, p, "--scan", "--pattern", "key:000012?"), "\n")
	if len(listed) != 10 {
		t.Errorf("--scan --pattern listed %q, want 10 keys", listed)
	}
}

func TestBigkeysAndMemkeysFindTheLargest(t *testing.T) {
	t.Parallel()
	p := server.Start(t)
	pipeLoad(t, p, 1000)
	want(t, p, "5000", "SETRANGE", "the-big-one", "4999", "x")
	out := redisCLI(t, p, "--bigkeys")
	for _, line := range []string{
		`Biggest string found "the-big-one" has 5000 bytes`,
		"Sampled 1001 keys in the keyspace!",
		"1001 strings with ",
	} {
		if !strings.Contains(strings.ReplaceAll(out, `found '"the-big-one"'`, `found "the-big-one"`), line) {
			t.Errorf("--bigkeys does not say %q:\n%s", line, out)
		}
	}
	out = redisCLI(t, p, "--memkeys")
	if !strings.Contains(out, "the-big-one") || strings.Contains(out, "ERR") {
		t.Errorf("--memkeys: %s", out)
	}
}

func TestInfoHasTheLinesThatToolsRead(t *testing.T) {
	t.Parallel()
	p := server.Start(t)
	pipeLoad(t, p, 10)
	info := strings.ReplaceAll(redisCLI(t, p, "INFO"), "\r", "") + "\n"
	for _, line := range []string{
		"# Server\n", "redis_version:7.", "process_id:" + strconv.Itoa(p.PID()) + "\n", "tcp_port:" + p.Port() + "\n",
		"# Clients\n", "connected_clients:1\n",
		"# Memory\n", "used_memory:", "maxmemory:",
		"# Persistence\n", "loading:0\n",
		"# Stats\n", "total_commands_processed:", "keyspace_hits:", "keyspace_misses:", "expired_keys:",
		"# Replication\n", "role:master\n",
		"# CPU\n", "used_cpu_sys:",
		"# Keyspace\n", "db0:keys=10,expires=0,",
	} {
		if !strings.Contains(info, line) {
			t.Errorf("INFO has no %q", line)
		}
	}
	if t.Failed() {
		t.Log(info)
	}
	if section := redisCLI(t, p, "INFO", "replication"); strings.Contains(section, "# Memory") {
		t.Errorf("INFO replication has other sections: %s", section)
	}
}

func TestStandardInputAndBinaryArguments(t *testing.T) {
	t.Parallel()
	p := server.Start(t)
	blob := make([]byte, 64<<10+1)
	for i := range blob {
		blob[i] = byte(i * 7)
	}
	out := run(t, bytes.NewReader(blob), "redis-cli", "-p", p.Port(), "-x", "SET", "blob")
	if out != "OK\n" {
		t.Fatalf("SET from standard input: %q", out)
	}
	if got := redisCLI(t, p, "STRLEN", "blob"); got != strconv.Itoa(len(blob)) {
		t.Errorf("STRLEN blob: %s", got)
	}
	if got := raw.Dial(t, p.Addr).Do("GET", "blob"); got.Text != string(blob) {
		t.Error("the stored bytes are not those of standard input")
	}
}

func TestPasswordOptionAuthenticates(t *testing.T) {
	t.Parallel()
	p := server.Start(t)
	want(t, p, "OK", "CONFIG", "SET", "requirepass", "s3cret word")
	if got := redisCLI(t, p, "GET", "k"); !strings.Contains(got, "NOAUTH Authentication required.") {
		t.Errorf("GET without a password: %q", got)
	}
	want(t, p, "OK", "--no-auth-warning", "-a", "s3cret word", "SET", "k", "v")
	want(t, p, "v", "--no-auth-warning", "-3", "-a", "s3cret word", "GET", "k")
}

func TestShutdownFromRedisCLIEndsTheServer(t *testing.T) {
	t.Parallel()
	p := server.Start(t)
	ctx := t.Context()
	// redis-cli may report the lost connection; the server's end is the proof.
	_ = exec.CommandContext(ctx, "redis-cli", "-p", p.Port(), "SHUTDOWN", "NOSAVE").Run()
	if code, err := p.Wait(); err != nil || code != 0 {
		t.Errorf("exit code %d (%v) after SHUTDOWN, want 0", code, err)
	}
	if left, _ := filepath.Glob(filepath.Join(p.Dir, "*.rdb")); len(left) > 0 {
		t.Errorf("SHUTDOWN NOSAVE left %q", left)
	}
}
