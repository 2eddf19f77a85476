package process

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/larder-cache/larder/test/internal/raw"
	"github.com/larder-cache/larder/test/internal/server"
)

// TestOneClientTooManyIsRefusedByName and the others stay; room that is freed is
// given to the next.
func TestOneClientTooManyIsRefusedByName(t *testing.T) {
	t.Parallel()
	p := server.Start(t, "--max-clients", "8")
	var inside []*raw.Conn
	// The connection that saw the server ready may still be counted for a moment.
	for len(inside) < 8 {
		c := raw.Dial(t, p.Addr)
		if c.TrySend(raw.Append(nil, "PING")) != nil {
			continue
		}
		if r, err := c.TryReceive(); err == nil && r.Text == "PONG" {
			inside = append(inside, c)
		}
	}
	c := raw.Dial(t, p.Addr)
	if got := string(c.Closed()); got != "-ERR max number of clients reached\r\n" {
		t.Errorf("one client too many read %q", got)
	}
	for _, c := range inside {
		c.Want(`+"PONG"`, "PING")
	}
	inside[0].Close()
	deadline := time.Now().Add(raw.Patience)
	for {
		c := raw.Dial(t, p.Addr)
		_ = c.TrySend(raw.Append(nil, "PING"))
		if r, err := c.TryReceive(); err == nil && r.Text == "PONG" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the place of a client that left is not given to another")
		}
	}
}

// TestThePasswordGuardsEveryCommand and never shows in the log, in CONFIG GET of
// a stranger, or on the HTTP listener.
func TestThePasswordGuardsEveryCommand(t *testing.T) {
	t.Parallel()
	const password = "correct-horse-battery"
	p := server.Start(t, "--requirepass", password, "--log-level", "debug")
	c := raw.Dial(t, p.Addr)
	for _, command := range []string{
		"PING", "GET k", "SET k v", "FLUSHALL", "CONFIG GET *", "INFO", "DBSIZE", "CLIENT LIST", "SHUTDOWN",
		"COMMAND COUNT", "DEBUG SLEEP 0", "SELECT 1", "KEYS *",
	} {
		c.Want(`-"NOAUTH Authentication required."`, strings.Fields(command)...)
	}
	if r := c.Do("HELLO", "3"); !strings.HasPrefix(r.Text, "NOAUTH HELLO must be called with the client already authenticated") {
		t.Errorf("HELLO 3 without a password: %s", r)
	}
	const wrong = `-"WRONGPASS invalid username-password pair or user is disabled."`
	c.Want(wrong, "AUTH", "wrong-guess-1")
	c.Want(wrong, "AUTH", "default", "wrong-guess-2")
	c.Want(wrong, "AUTH", "nobody", password)
	c.Want(wrong, "AUTH", password+"x")
	c.Want(wrong, "AUTH", "")
	c.Want(wrong, "HELLO", "3", "AUTH", "default", "wrong-guess-3")
	c.Want(`-"NOAUTH Authentication required."`, "GET", "k")
	c.Want(`+"OK"`, "AUTH", "default", password)
	c.Want(`+"OK"`, "SET", "k", "v")
	if r := raw.Dial(t, p.Addr).Do("HELLO", "3", "AUTH", "default", password, "SETNAME", "known"); r.Kind != '%' {
		t.Errorf("HELLO 3 AUTH: %s", r)
	}
	shown := p.Log() + get(t, "http://"+p.HTTP+"/metrics") + c.Do("INFO").Text + c.Do("CLIENT", "LIST").Text
	for _, secret := range []string{password, "wrong-guess-1", "wrong-guess-2", "wrong-guess-3"} {
		if strings.Contains(shown, secret) {
			t.Errorf("%q shows in the log, the metrics, INFO or CLIENT LIST", secret)
		}
	}
}

// TestHTTPTellsHealthAndFigures.
func TestHTTPTellsHealthAndFigures(t *testing.T) {
	t.Parallel()
	if server.UnderTestIsRedis() {
		t.Skip("redis-server has no HTTP listener; LARDER_TEST_SERVER puts it in larder's place")
	}
	p := server.Start(t)
	c := raw.Dial(t, p.Addr)
	c.Want(`+"OK"`, "SET", "k", "v")
	c.Want(`$"v"`, "GET", "k")
	for _, path := range []string{"/healthz", "/readyz"} {
		get(t, "http://"+p.HTTP+path)
	}
	figures := get(t, "http://"+p.HTTP+"/metrics")
	if !strings.Contains(figures, "\nlarder_") {
		t.Errorf("/metrics has no figure of larder:\n%s", figures)
	}
	response, err := http.Get("http://" + p.HTTP + "/no/such/page")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown page: %s", response.Status)
	}
}

// get fetches a page and wants status 200.
func get(t *testing.T, url string) string {
	t.Helper()
	client := http.Client{Timeout: raw.Patience}
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v\n%s", url, response.Status, err, body)
	}
	return string(body)
}
