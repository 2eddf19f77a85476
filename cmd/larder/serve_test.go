package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/larder-cache/larder/internal/config"
)

// wait bounds every wait in these tests; nothing waits so long when all is well.
const wait = 20 * time.Second

// running is a server process and its log.
type running struct {
	t     *testing.T
	lines chan map[string]any // each line of the JSON log
	ended chan int            // the exit code
	kill  func(os.Signal)
	first map[string]any // the line of the start

	mu  sync.Mutex
	log strings.Builder
}

// startServer runs larder serve on free ports and returns when it serves.
func startServer(t *testing.T, env []string, args ...string) *running {
	t.Helper()
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--max-memory", "32mb", "--log-format", "json"}, args...)
	cmd := program(t, env, args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, lines: make(chan map[string]any, 1000), ended: make(chan int, 1)}
	r.kill = func(sig os.Signal) {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Error(err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		scan := bufio.NewScanner(stderr)
		for scan.Scan() {
			r.mu.Lock()
			r.log.WriteString(scan.Text() + "\n")
			r.mu.Unlock()
			var line map[string]any
			if err := json.Unmarshal(scan.Bytes(), &line); err != nil {
				t.Errorf("not a line of JSON: %s", scan.Text())
				continue
			}
			r.lines <- line
		}
		_ = cmd.Wait()
		r.ended <- cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
		if t.Failed() {
			t.Logf("log:\n%s", r.text())
		}
	})
	r.first = r.until("serving")
	return r
}

func (r *running) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// until waits for the log line with that message.
func (r *running) until(msg string) map[string]any {
	r.t.Helper()
	timeout := time.After(wait)
	for {
		select {
		case line := <-r.lines:
			if line["msg"] == msg {
				return line
			}
		case code := <-r.ended:
			r.t.Fatalf("ended with code %d before it logged %q:\n%s", code, msg, r.text())
		case <-timeout:
			r.t.Fatalf("no line %q:\n%s", msg, r.text())
		}
	}
}

// end waits for the exit code.
func (r *running) end() int {
	r.t.Helper()
	select {
	case code := <-r.ended:
		return code
	case <-time.After(wait):
		r.t.Fatalf("still running:\n%s", r.text())
		return -1
	}
}

// dial connects to the server.
func (r *running) dial() net.Conn {
	r.t.Helper()
	addr, _ := r.first["listen"].(string)
	network := "tcp"
	if strings.HasPrefix(addr, "/") {
		network = "unix"
	}
	conn, err := net.Dial(network, addr)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
		r.t.Fatal(err)
	}
	return conn
}

// ask sends inline commands on a connection of their own and returns the lines of the replies, as many as asked for.
func (r *running) ask(lines int, commands ...string) []string {
	r.t.Helper()
	conn := r.dial()
	defer conn.Close()
	if _, err := io.WriteString(conn, strings.Join(commands, "\r\n")+"\r\n"); err != nil {
		r.t.Fatal(err)
	}
	var out []string
	read := bufio.NewReader(conn)
	for range lines {
		line, err := read.ReadString('\n')
		if err != nil {
			r.t.Fatalf("%q: after %q: %v", commands, out, err)
		}
		out = append(out, strings.TrimSuffix(line, "\r\n"))
	}
	return out
}

func (r *running) get(path string) (int, string) {
	r.t.Helper()
	resp, err := http.Get(fmt.Sprintf("http://%s%s", r.first["http"], path))
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestServerServesAndStopsOnEverySignal(t *testing.T) {
	for _, sig := range stopSignals() { // SIGHUP is not among them where this test runs under nohup
		r := startServer(t, nil)
		if got := fmt.Sprint(r.ask(4, "SET greeting hello EX 60", "GET greeting", "TTL greeting")); got != "[+OK $5 hello :60]" {
			t.Errorf("replies %s", got)
		}
		idle := r.dial() // a client that stays does not hold the stop up
		r.kill(sig)
		if code := r.end(); code != exitOK {
			t.Errorf("%v gives code %d", sig, code)
		}
		if _, err := idle.Read(make([]byte, 1)); err == nil {
			t.Error("the connection is still open")
		}
	}
}

func TestStartLineSaysWhatRuns(t *testing.T) {
	r := startServer(t, nil, "--loops", "2")
	for key, want := range map[string]any{"level": "INFO", "version": currentVersion(), "max_memory": "32mb", "loops": 2.0} {
		if r.first[key] != want {
			t.Errorf("%s is %v; want %v", key, r.first[key], want)
		}
	}
	for _, key := range []string{"listen", "http"} {
		if text, _ := r.first[key].(string); !strings.HasPrefix(text, "127.0.0.1:") || strings.HasSuffix(text, ":0") {
			t.Errorf("%s is %v", key, r.first[key])
		}
	}
	if r.first["pages"] == "" {
		t.Error("no page tier")
	}
	if n := strings.Count(r.text(), "\n"); n != 1 {
		t.Errorf("%d lines at the start", n)
	}
	addr, _ := r.first["listen"].(string)
	_, port, _ := net.SplitHostPort(addr)
	if got := r.ask(5, "CONFIG GET port"); got[4] != port {
		t.Errorf("CONFIG GET port gives %q; the port is %s", got, port)
	}
}

func TestHTTPShowsHealthAndMetrics(t *testing.T) {
	r := startServer(t, nil)
	r.ask(3, "SET a 1", "GET a")
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := r.get(path); code != 200 {
			t.Errorf("%s gives %d %s", path, code, body)
		}
	}
	code, body := r.get("/metrics")
	for _, line := range []string{`larder_records{collection="0"} 1`, `larder_hits_total{collection="0"} 1`, "larder_connections_accepted_total 1", "larder_memory_limit_bytes 3.3554432e+07"} {
		if code != 200 || !strings.Contains(body, line+"\n") {
			t.Errorf("%d, no %q in\n%s", code, line, body)
		}
	}
}

func TestShutdownCommandEndsWithCodeZero(t *testing.T) {
	r := startServer(t, nil)
	if _, err := io.WriteString(r.dial(), "SHUTDOWN NOSAVE\r\n"); err != nil {
		t.Fatal(err)
	}
	if code := r.end(); code != exitOK {
		t.Errorf("code %d", code)
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	r := startServer(t, nil)
	// Replies that nobody reads make a clean stop take its whole time.
	conn := r.dial()
	value := strings.Repeat("v", 8<<20)
	go func() {
		_, _ = fmt.Fprintf(conn, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n%s\r\n%s", len(value), value, strings.Repeat("GET k\r\n", 20))
	}()
	if _, err := io.ReadFull(conn, make([]byte, len("+OK\r\n")+1<<20)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r.kill(syscall.SIGTERM)
	r.until("stopping")
	r.kill(syscall.SIGTERM)
	if code := r.end(); code != exitFailure {
		t.Errorf("code %d", code)
	}
	if took := time.Since(began); took >= stopWithin {
		t.Errorf("it took %v", took)
	}
}

func TestPortInUseIsOneLineAndCodeTwo(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	addr := taken.Addr().String()
	for _, c := range []struct {
		flag string
		args []string
	}{
		{"--listen", []string{"serve", "--listen", addr}},
		{"--http", []string{"serve", "--listen", "127.0.0.1:0", "--http", addr}},
	} {
		code, stdout, stderr := finish(t, nil, c.args...)
		want := fmt.Sprintf("larder: %s: %s is in use by another program (address already in use)\n", c.flag, addr)
		if code != exitUsage || stdout != "" || stderr != want {
			t.Errorf("%v: code %d, stderr\n%swant\n%s", c.args, code, stderr, want)
		}
	}
}

func TestAddressThatCannotBeHadIsOneLineAndCodeTwo(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1:0":                  "larder: --listen: cannot listen on 192.0.2.1:0: cannot assign requested address\n",
		"name.invalid:0":               "larder: --listen: name.invalid:0: no such host\n",
		"unix:/nonexistent/larder.sck": "larder: --listen: /nonexistent: no such file or directory\n",
	} {
		code, _, stderr := finish(t, nil, "serve", "--listen", addr)
		if code != exitUsage || stderr != want {
			t.Errorf("%s: code %d, stderr\n%swant\n%s", addr, code, stderr, want)
		}
	}
}

// TestFaultOfAnAddressSaysWhereItStands: in the environment or the file as well as in a flag.
func TestFaultOfAnAddressSaysWhereItStands(t *testing.T) {
	file := filepath.Join(t.TempDir(), "larder.toml")
	if err := os.WriteFile(file, []byte("listen = \"192.0.2.1:0\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, env := range map[string]string{
		"larder: LARDER_LISTEN: cannot listen on 192.0.2.1:0: cannot assign requested address\n":    "LARDER_LISTEN=192.0.2.1:0",
		"larder: " + file + ":1:1: cannot listen on 192.0.2.1:0: cannot assign requested address\n": "LARDER_CONFIG=" + file,
	} {
		if code, _, stderr := finish(t, []string{env}, "serve"); code != exitUsage || stderr != want {
			t.Errorf("%s: code %d, stderr\n%swant\n%s", env, code, stderr, want)
		}
	}
}

func TestBothAddressesThatCannotBeHadAreReportedAtOnce(t *testing.T) {
	code, _, stderr := finish(t, nil, "serve", "--listen", "192.0.2.1:1", "--http", "192.0.2.1:2")
	want := "larder: --listen: cannot listen on 192.0.2.1:1: cannot assign requested address\n" +
		"larder: --http: cannot listen on 192.0.2.1:2: cannot assign requested address\n"
	if code != exitUsage || stderr != want {
		t.Errorf("code %d, stderr\n%swant\n%s", code, stderr, want)
	}
}

func TestDirBecomesTheWorkingDirectory(t *testing.T) {
	dir := t.TempDir()
	r := startServer(t, nil, "--dir", dir)
	if got := r.ask(5, "CONFIG GET dir"); got[4] != dir {
		t.Errorf("CONFIG GET dir gives %q", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v in the directory, %v", left, err)
	}
}

func TestUnixSocketServes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	r := startServer(t, nil, "--listen", "unix:"+path)
	if got := fmt.Sprint(r.ask(1, "PING")); got != "[+PONG]" {
		t.Errorf("replies %s", got)
	}
	r.kill(syscall.SIGTERM)
	if code := r.end(); code != exitOK {
		t.Errorf("code %d", code)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

// reactors are the kinds of loops; each opens its listener in its own way.
var reactors = []string{"auto", "portable"}

func TestSocketOfARunningServerIsNotTaken(t *testing.T) {
	for _, kind := range reactors {
		path := filepath.Join(t.TempDir(), "s")
		r := startServer(t, nil, "--listen", "unix:"+path, "--reactor", kind)
		code, stdout, stderr := finish(t, nil, "serve", "--listen", "unix:"+path, "--reactor", kind)
		want := "larder: --listen: unix:" + path + " is in use by another program (address already in use)\n"
		if code != exitUsage || stdout != "" || stderr != want {
			t.Errorf("%s: code %d, stderr\n%swant\n%s", kind, code, stderr, want)
		}
		if got := fmt.Sprint(r.ask(1, "PING")); got != "[+PONG]" {
			t.Errorf("%s: the running server replies %s", kind, got)
		}
	}
}

func TestSocketOfAKilledServerIsReplaced(t *testing.T) {
	for _, kind := range reactors {
		path := filepath.Join(t.TempDir(), "s")
		killed := startServer(t, nil, "--listen", "unix:"+path, "--reactor", kind)
		killed.kill(syscall.SIGKILL)
		killed.end()
		if _, err := os.Lstat(path); err != nil {
			t.Fatalf("%s: nothing is left to replace: %v", kind, err)
		}
		r := startServer(t, nil, "--listen", "unix:"+path, "--reactor", kind)
		if got := fmt.Sprint(r.ask(1, "PING")); got != "[+PONG]" {
			t.Errorf("%s: replies %s", kind, got)
		}
	}
}

func TestFileInPlaceOfASocketIsNamedAndKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(path, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"serve", "check"} {
		code, stdout, stderr := finish(t, nil, command, "--listen", "unix:"+path)
		want := "larder: --listen: " + path + " is a regular file, not a socket\n"
		if code != exitUsage || stdout != "" || stderr != want {
			t.Errorf("%s: code %d, stderr\n%swant\n%s", command, code, stderr, want)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "data" {
		t.Errorf("the file is %q, %v", text, err)
	}
}

func TestPortableReactorServes(t *testing.T) {
	r := startServer(t, nil, "--reactor", "portable")
	if got := fmt.Sprint(r.ask(3, "SET a b", "GET a")); got != "[+OK $1 b]" {
		t.Errorf("replies %s", got)
	}
	r.kill(syscall.SIGTERM)
	if code := r.end(); code != exitOK {
		t.Errorf("code %d", code)
	}
}

func TestPasswordIsNeededAndNeverLogged(t *testing.T) {
	const password, wrong, later = "open-sesame-1", "open-barley-2", "open-wheat-3"
	r := startServer(t, []string{"LARDER_REQUIREPASS=" + password}, "--log-level", "debug")
	got := r.ask(6, "GET a", "AUTH "+wrong, "HELLO 3 AUTH default "+wrong, "AUTH "+password, "PING", "CONFIG SET requirepass "+later)
	for i, want := range []string{"-NOAUTH", "-WRONGPASS", "-WRONGPASS", "+OK", "+PONG", "+OK"} {
		if !strings.HasPrefix(got[i], want) {
			t.Errorf("reply %d is %q; want %s", i, got[i], want)
		}
	}
	r.kill(syscall.SIGTERM)
	if code := r.end(); code != exitOK {
		t.Errorf("code %d", code)
	}
	for _, secret := range []string{password, wrong, later} {
		if strings.Contains(r.text(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

func TestEveryLiveOptionCanBeChangedWhileRunning(t *testing.T) {
	values := map[string]string{"requirepass": "", "maxclients": "77", "timeout": "90", "loglevel": "debug"}
	r := startServer(t, nil)
	for i := range config.Options {
		name := config.Options[i].Live
		if name == "" {
			continue
		}
		value, known := values[name]
		if !known {
			t.Errorf("no value to try for %s", name)
		}
		if got := r.ask(1, fmt.Sprintf("CONFIG SET %s %q", name, value)); got[0] != "+OK" {
			t.Errorf("CONFIG SET %s %s gives %s", name, value, got[0])
		}
		if want := fmt.Sprintf("$%d", len(value)); r.ask(4, "CONFIG GET "+name)[3] != want {
			t.Errorf("CONFIG GET %s after it gives %q", name, r.ask(4, "CONFIG GET "+name))
		}
	}
}

func TestMaxClientsIsLoweredToTheLimitOfOpenFiles(t *testing.T) {
	limit, ok := fileLimit()
	if !ok || limit >= config.MaxMaxClients {
		t.Skip("this system's limit of open files is above every value of max-clients")
	}
	r := startServer(t, nil, "--max-clients", fmt.Sprint(config.MaxMaxClients))
	if want := fmt.Sprint(limit - spareFiles); r.ask(5, "CONFIG GET maxclients")[4] != want {
		t.Errorf("maxclients is not %s", want)
	}
	if !strings.Contains(r.text(), "max-clients is lowered") {
		t.Error("no line says so")
	}
}
