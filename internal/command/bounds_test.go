package command

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/larder-cache/larder/internal/glob"
	"github.com/larder-cache/larder/internal/store"
)

// maxErrorLine is above every error text: the longest echo of a client's bytes and the words around it.
const maxErrorLine = maxEchoedArgument + 256

func TestWhatAClientTellsOfItselfIsBounded(t *testing.T) {
	server := newRigServer(t, Options{})
	r := dial(t, server)
	most, more := strings.Repeat("n", maxClientText), strings.Repeat("n", maxClientText+1)
	for line, refusal := range map[string]string{
		"CLIENT SETNAME %s":          "-ERR Client names have at most 256 bytes",
		"HELLO 2 SETNAME %s":         "-ERR Client names have at most 256 bytes",
		"CLIENT SETINFO LIB-NAME %s": "-ERR lib-name has at most 256 bytes",
		"CLIENT SETINFO LIB-VER %s":  "-ERR lib-ver has at most 256 bytes",
	} {
		if got := r.do(fmt.Sprintf(line, most)); got[0] == '-' {
			t.Errorf("%s at the limit: %s", line, got)
		}
		before := r.do("CLIENT INFO")
		r.expect(fmt.Sprintf(line, more), refusal)
		if after := r.do("CLIENT INFO"); strings.Count(after, "n") != strings.Count(before, "n") {
			t.Errorf("%s above the limit took effect", line)
		}
	}
	// The longest name of a collection quotes to four bytes each.
	r.do(`SELECT "` + strings.Repeat(`\x00`, 255) + `"`)
	if got := len(r.send(pipeline(t, "CLIENT LIST"))); got > 3*maxClientText+4*255+1024 {
		t.Errorf("the line of one client has %d bytes", got)
	}
}

// TestErrorTextsAreOneShortLine puts bytes of an enemy in the place of every argument of every command.
func TestErrorTextsAreOneShortLine(t *testing.T) {
	server := newRigServer(t, Options{Databases: 1})
	enemies := [][]byte{
		bytes.Repeat([]byte("\r\n-ERR forged\r\n"), 100), bytes.Repeat([]byte("x"), 4*maxErrorLine), []byte("a\r\nb\r\n"), []byte("\x00\r\n"), {},
	}
	plain := []byte("1")
	check := func(args [][]byte) {
		r := dial(t, server)
		defer server.disconnect(r.client)
		reply := r.send(encode(args))
		if len(reply) == 0 || reply[0] != '-' {
			return
		}
		line, rest, _ := bytes.Cut(reply, []byte("\r\n"))
		if len(line) > maxErrorLine || bytes.ContainsAny(line, "\r\n\x00") || len(rest) > 0 {
			t.Errorf("%.20q: %d bytes of error %.80q, then %.20q", args, len(line), line, rest)
		}
	}
	words := []string{"EX", "DB", "MATCH", "COUNT", "ID", "TYPE", "USER", "LIB-NAME", "timeout", "maxmemory", "loglevel", "SETNAME", "SLEEP", "FILTERBY", "AUTH"}
	for _, cmd := range rows {
		var name [][]byte
		if cmd.parent != nil {
			name = append(name, []byte(cmd.parent.Name))
		}
		name = append(name, []byte(cmd.Name))
		if cmd.Name == "shutdown" {
			continue
		}
		for _, enemy := range enemies {
			for extra := range 5 {
				for place := range extra {
					args := append([][]byte{}, name...)
					for i := range extra {
						if i == place {
							args = append(args, enemy)
						} else {
							args = append(args, plain)
						}
					}
					check(args)
					for _, word := range words {
						if place > 0 {
							args[len(name)+place-1] = []byte(word)
							check(args)
						}
					}
				}
			}
		}
	}
	for _, enemy := range enemies {
		check([][]byte{enemy, enemy, enemy})
	}
}

func TestCursorsTheTableDoesNotKnowAreRefused(t *testing.T) {
	r := dial(t, newRigServer(t, Options{}))
	// The wire takes what fits 64 bits; which of them are cursors is the table's to say.
	for _, cursor := range []string{"2147483648", "4294967296", "9223372036854775808", "18446744073709551615", "18446744073709551616", "99999999999999999999999", "+1", "-1", "1_0"} {
		r.expect("SCAN "+cursor, errorText(errCursor))
	}
	r.expect("SCAN 2147483648 FOO bar", errorText(errSyntax))
	r.expect("SCAN 2147483647", `["0", []]`)
	r.expect(`SCAN ""`, `["0", []]`)
	closed, err := store.Open(store.Options{MaxMemory: store.MinMaxMemory})
	if err != nil {
		t.Fatal(err)
	}
	r = dial(t, newRigServer(t, Options{Store: closed}))
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	r.expect("SCAN 0", errorText(errClosing))
}

func TestConfigSetKeepsTheLimitsOfTheFlags(t *testing.T) {
	r := dial(t, newRigServer(t, Options{}))
	const failed = "-ERR CONFIG SET failed (possibly related to argument '%s') - "
	for line, want := range map[string]string{
		"maxclients 1000000":             "+OK",
		"maxclients 1000001":             failed + "argument must be between 1 and 1000000 inclusive",
		"maxclients 0":                   failed + "argument must be between 1 and 1000000 inclusive",
		"maxclients 4294967295":          failed + "argument must be between 1 and 1000000 inclusive",
		"maxclients 9223372036854775808": failed + "argument couldn't be parsed into an integer",
		"timeout 31536000":               "+OK",
		"timeout 31536001":               failed + "argument must be between 0 and 31536000 inclusive",
		"timeout 2147483647":             failed + "argument must be between 0 and 31536000 inclusive",
		"timeout -1":                     failed + "argument must be between 0 and 31536000 inclusive",
		"requirepass " + strings.Repeat("p", MaxPassword+1): failed + "a password has at most 512 bytes",
	} {
		name, _, _ := strings.Cut(line, " ")
		r.expect("CONFIG SET "+line, strings.ReplaceAll(want, "%s", name))
	}
	r.expect("CONFIG GET maxclients", `["maxclients", "1000000"]`)
	r.expect("CONFIG GET timeout", `["timeout", "31536000"]`)
}

func TestOptionsAboveTheLimitsAreRefused(t *testing.T) {
	_, err := New(Options{Store: newRigServer(t, Options{}).store, MaxClients: 1_000_001, IdleTimeout: 365*24*time.Hour + time.Second})
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("two problems: %v", err)
	}
}

func TestDebugSleepTakesOnlyAShortTime(t *testing.T) {
	r := dial(t, newRigServer(t, Options{}))
	for _, arg := range []string{"abc", "nan", "NaN", `""`, "1s", "0.001x", "1,5", `" 1"`, "0x", "1e99999"} {
		r.expect("DEBUG SLEEP "+arg, errorText(errNotFloat))
	}
	for _, arg := range []string{"-1", "-0.001", "1e300", "inf", "-inf", "3600.001", "9223372036854775807"} {
		r.expect("DEBUG SLEEP "+arg, "-ERR DEBUG SLEEP takes 0 to 3600 seconds")
	}
	for _, arg := range []string{"0", "-0", "0.0001", "1e-4", "1e-300"} {
		r.expect("DEBUG SLEEP "+arg, "+OK")
	}
	if r.peer.paused {
		t.Error("a refused sleep holds its client up")
	}
}

func TestASleeperThatIsGoneLeavesNoTimer(t *testing.T) {
	server := newRigServer(t, Options{})
	r := dial(t, server)
	_, _ = r.client.data(pipeline(t, "DEBUG SLEEP 3600"))
	timer := r.client.sleeping
	server.disconnect(r.client)
	if timer == nil || timer.Stop() {
		t.Error("the timer still runs")
	}
}

// TestEveryLongReplyIsCutAtTheOutputLimit asks for much with commands whose reply is longer than what asks for it.
func TestEveryLongReplyIsCutAtTheOutputLimit(t *testing.T) {
	const limit = 256 << 10
	server := newRigServer(t, Options{OutputHard: limit})
	filler := dial(t, server)
	for i := range 400 {
		filler.do(fmt.Sprintf("SET key:%d:%s v", i, strings.Repeat("k", 1000)))
	}
	filler.do("SET value " + strings.Repeat("v", 1000))
	filler.do("SELECT many")
	var fill []byte
	for i := range keysInline + 1 {
		fill = append(fill, pipeline(t, fmt.Sprintf("SET key:%030d v", i))...)
	}
	filler.send(fill)
	var crowd []*rig
	for range 800 {
		c := dial(t, server)
		c.do("CLIENT SETNAME " + strings.Repeat("n", maxClientText))
		crowd = append(crowd, c)
	}
	defer func() {
		for _, c := range crowd {
			server.disconnect(c.client)
		}
	}()
	for _, line := range []string{
		"KEYS *", "SELECT many | KEYS *", "MGET" + strings.Repeat(" value", 400), "CLIENT LIST", "COMMAND INFO" + strings.Repeat(" get", 3000),
		"COMMAND DOCS" + strings.Repeat(" get", 3000), "COMMAND GETKEYSANDFLAGS MGET" + strings.Repeat(" k", 20000),
		"COMMAND GETKEYS MGET " + strings.Repeat(" kkkkkkkkkkkk", 20000),
	} {
		r := dial(t, server)
		in := pipeline(t, strings.Split(line+" | PING", " | ")...)
		used, _ := r.client.data(in)
		if r.peer.paused {
			r.post()
		}
		if !r.peer.closed {
			t.Errorf("%.30s: %d bytes of %d run, %d bytes of reply and not cut", line, used, len(in), r.out.Len())
		}
		if n := r.out.Len(); n > limit+maxScratch/8 {
			t.Errorf("%.30s: %d bytes of reply were built", line, n)
		}
		server.disconnect(r.client)
	}
}

func TestWalkOfAClientThatIsGoneEnds(t *testing.T) {
	r := dial(t, newRigServer(t, Options{}))
	const keys = 5 * keysCount
	for i := range keys {
		r.do(fmt.Sprintf("SET key:%d v", i))
	}
	p := new(glob.Pattern)
	if err := p.Reset([]byte("*"), false); err != nil {
		t.Fatal(err)
	}
	var all, part gathered
	if err := r.client.gatherKeys(r.client.db(), p, &all); err != nil || all.n != keys {
		t.Errorf("%d keys of %d, %v", all.n, keys, err)
	}
	r.server.disconnect(r.client)
	if err := r.client.gatherKeys(r.client.db(), p, &part); err != nil || part.n > 2*keysCount {
		t.Errorf("%d keys for nobody, %v", part.n, err)
	}
}

func TestPeakBetweenTwoInfosIsSeen(t *testing.T) {
	server := newRigServer(t, Options{})
	r := dial(t, server)
	peak := func() (n int64) {
		text := string(r.send(pipeline(t, "INFO memory")))
		_, text, _ = strings.Cut(text, "used_memory_peak:")
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const size = 8 << 20
	before := peak()
	for i := range size >> 20 {
		server.BeginTurn(0)
		r.do(fmt.Sprintf("SET key:%d %s", i, strings.Repeat("v", 1<<20)))
		server.EndTurn(0)
	}
	// Nothing more happens on any loop: the look that the turns asked for comes by itself, once.
	deadline := time.Now().Add(10 * time.Second)
	for server.peakUsed.Load() < before+size {
		if time.Now().After(deadline) {
			t.Fatalf("the peak is %d, %d before %d bytes were stored", server.peakUsed.Load(), before, size)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if server.looking.Load() {
		t.Error("an idle server goes on looking")
	}
	r.do("FLUSHALL")
	if got := peak(); got < before+size {
		t.Errorf("after the flush the peak is %d", got)
	}
}
