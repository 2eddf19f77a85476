package command

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-cache/larder/internal/clock"
	"github.com/larder-cache/larder/internal/invariants"
)

// onKey has, for every command of the families that takes a key, calls that meet the key "k" in each of their roles.
var onKey = []string{
	"GET k", "SET k new", "SET k new NX", "SET k new XX", "SET k new GET", "SET k new NX GET", "SET k new XX GET",
	"SET k new KEEPTTL", "SET k new KEEPTTL GET", "SETEX k 100 new", "PSETEX k 100000 new", "SETNX k new", "GETSET k new",
	"GETDEL k", "GETEX k", "GETEX k EX 100", "GETEX k PERSIST", "GETEX k EXAT 1", "MGET k other k", "MSET k new other new",
	"MSETNX k new fresh new", "APPEND k new", `APPEND k ""`, "STRLEN k", "GETRANGE k 0 -1", "SUBSTR k 0 -1", "SETRANGE k 2 new",
	`SETRANGE k 2 ""`, "INCR k", "DECR k", "INCRBY k 5", "DECRBY k 5", "INCRBYFLOAT k 1.5", "DEL k", "DEL k k other",
	"UNLINK k", "EXISTS k k other", "TOUCH k", "TYPE k", "RENAME k to", "RENAME other k", "RENAMENX k to", "RENAMENX other k",
	"RENAME k k", "RENAMENX k k", "COPY k to", "COPY other k", "COPY other k REPLACE", "COPY k other REPLACE", "COPY k k DB 1",
	"MOVE k 1", "TTL k", "PTTL k", "EXPIRE k 100", "EXPIRE k 100 NX", "EXPIRE k 100 XX", "EXPIRE k 100 GT", "EXPIRE k 100 LT",
	"EXPIRE k -1", "PEXPIRE k 100000", "EXPIREAT k 33177117420", "PEXPIREAT k 33177117420000", "EXPIRETIME k", "PEXPIRETIME k",
	"PERSIST k", "KEYS *", "KEYS k", "KEYS k*", "SCAN 0 COUNT 1000", "SCAN 0 MATCH k", "OBJECT ENCODING k", "OBJECT REFCOUNT k",
	"OBJECT FREQ k", "OBJECT IDLETIME k", "MEMORY USAGE k",
}

func TestExpiredKeyIsAbsentToEveryCommand(t *testing.T) {
	covered := map[string]bool{}
	clk := clock.NewManual(1_700_000_000_000)
	conn := newTestConn(t, clk)
	for _, call := range onKey {
		name, _, _ := strings.Cut(strings.ToLower(call), " ")
		covered[name] = true
		for _, value := range []string{"old", "7", "counter", strings.Repeat("long", 5000)} {
			var replies [2]string
			for i := range replies {
				for _, db := range []string{"1", "0"} {
					conn.ask(t, "SELECT %s", db)
					conn.ask(t, "FLUSHDB")
				}
				conn.ask(t, "SET other 1")
				if i == 1 {
					if value == "counter" {
						conn.ask(t, "INCR k")
						conn.ask(t, "PEXPIRE k 50")
					} else {
						conn.ask(t, "SET k %s PX 50", value)
					}
				}
				clk.Advance(50 * time.Millisecond)
				replies[i] = conn.ask(t, "%s", call)
				// What the call left behind must be the same too.
				for _, look := range []string{"MGET k other to fresh", "PTTL k", "PTTL other", "PTTL to", "EXISTS k other to fresh"} {
					replies[i] += " | " + conn.ask(t, "%s", look)
				}
			}
			if replies[0] != replies[1] {
				t.Errorf("%s, value %.10s: absent %s, expired %s", call, value, replies[0], replies[1])
			}
		}
	}
	for _, table := range [][]Command{stringCommands, keyCommands, expireCommands} {
		for _, row := range table {
			if !covered[row.Name] && row.Name != "randomkey" {
				t.Errorf("no call of %s", row.Name)
			}
		}
	}
}

func TestRandomKeyIsNeverExpired(t *testing.T) {
	clk := clock.NewManual(1_700_000_000_000)
	conn := newTestConn(t, clk)
	for i := range 200 {
		conn.ask(t, "SET gone%d v PX 50", i)
	}
	clk.Advance(50 * time.Millisecond)
	if got := conn.ask(t, "RANDOMKEY"); got != "nil" {
		t.Error("only expired keys:", got)
	}
	conn.ask(t, "SET here v")
	for range 50 {
		if got := conn.ask(t, "RANDOMKEY"); got != `"here"` {
			t.Fatal(got)
		}
	}
}

// TestDeadlineIsTheSameMillisecondForEveryCommand looks at a key one millisecond before its deadline and at it.
func TestDeadlineIsTheSameMillisecondForEveryCommand(t *testing.T) {
	clk := clock.NewManual(1_700_000_000_000)
	conn := newTestConn(t, clk)
	conn.ask(t, "SET k v PX 100")
	clk.Advance(99 * time.Millisecond)
	for call, want := range map[string]string{
		"GET k": `"v"`, "EXISTS k": ":1", "PTTL k": ":1", "TTL k": ":0", "KEYS *": `["k"]`, "SCAN 0": `["0", ["k"]]`, "STRLEN k": ":1",
		"RANDOMKEY": `"k"`, "TYPE k": "+string", "PEXPIRETIME k": ":1700000000100",
	} {
		if got := conn.ask(t, "%s", call); got != want {
			t.Errorf("1 ms before: %s gives %s", call, got)
		}
	}
	clk.Advance(time.Millisecond)
	for call, want := range map[string]string{
		"GET k": "nil", "EXISTS k": ":0", "PTTL k": ":-2", "TTL k": ":-2", "KEYS *": "[]", "SCAN 0": `["0", []]`, "STRLEN k": ":0",
		"RANDOMKEY": "nil", "TYPE k": "+none", "PEXPIRETIME k": ":-2",
	} {
		if got := conn.ask(t, "%s", call); got != want {
			t.Errorf("at the deadline: %s gives %s", call, got)
		}
	}
}

// awkward keys and values, of which each must come back as it went in.
func awkward() [][]byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return [][]byte{
		{},
		{0},
		[]byte("\r\n"), []byte("$5\r\nhello\r\n"), all, []byte("*"), []byte("[a"), []byte(`\`), []byte("?^-]"),
		bytes.Repeat([]byte{0xff, 0, '\n'}, (64<<10)/3+1)[:64<<10+1],
	}
}

func TestKeysAndValuesOfAnyBytesRoundTrip(t *testing.T) {
	conn := newTestConn(t, clock.NewManual(1_700_000_000_000))
	do := func(args ...any) string {
		var list [][]byte
		for _, a := range args {
			switch a := a.(type) {
			case string:
				list = append(list, []byte(a))
			case []byte:
				list = append(list, a)
			}
		}
		return render(conn.do(list...))
	}
	for _, key := range awkward() {
		for _, value := range awkward() {
			do("FLUSHDB")
			k, v := quoteBulk(key), quoteBulk(value)
			var escaped []byte
			for _, c := range key {
				escaped = append(escaped, '\\', c)
			}
			for _, step := range []struct {
				want string
				args []any
			}{
				{"+OK", []any{"SET", key, value}},
				{v, []any{"GET", key}},
				{"[" + v + ", nil]", []any{"MGET", key, "none"}},
				{":" + strconv.Itoa(len(value)), []any{"STRLEN", key}},
				{v, []any{"GETRANGE", key, "0", "-1"}},
				{"[" + k + "]", []any{"KEYS", escaped}},
				{"[" + k + "]", []any{"KEYS", append([]byte("*"), escaped...)}},
				{`["0", [` + k + "]]", []any{"SCAN", "0", "MATCH", escaped, "COUNT", "10"}},
				{`["0", [` + k + "]]", []any{"SCAN", "0"}},
				{k, []any{"RANDOMKEY"}},
				{":1", []any{"COPY", key, "copied"}},
				{v, []any{"GET", "copied"}},
				{"+OK", []any{"RENAME", "copied", "renamed"}},
				{v, []any{"GETDEL", "renamed"}},
				{v, []any{"GETSET", key, "x"}},
				{":" + strconv.Itoa(len(value)+1), []any{"APPEND", key, value}},
				{quoteBulk(append([]byte("x"), value...)), []any{"GETDEL", key}},
				{"nil", []any{"GET", key}},
			} {
				if got := do(step.args...); got != step.want {
					t.Fatalf("key %.40q, value %.40q: %.60q\n\tgot  %.120s\n\twant %.120s", key, value, step.args, got, step.want)
				}
			}
		}
	}
}

// scanAll follows a scan to its end and calls each with every page.
func scanAll(t *testing.T, conn *testConn, options string, each func(keys []string)) (pages int) {
	t.Helper()
	for cursor := "0"; ; {
		reply := conn.ask(t, "SCAN %s %s", cursor, options)
		head, list, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(reply, "["), "]"), ", ")
		if !ok {
			t.Fatalf("SCAN %s: %.200s", cursor, reply)
		}
		cursor = strings.Trim(head, `"`)
		if n, err := strconv.ParseInt(cursor, 10, 64); err != nil || n < 0 || n > math.MaxInt32 {
			t.Fatalf("cursor %s does not fit a signed integer of 32 bits", cursor)
		}
		pages++
		each(splitList(list))
		if cursor == "0" {
			return pages
		}
	}
}

func TestScanMeetsEveryKeyWhileTheTableGrows(t *testing.T) {
	conn := newTestConn(t, clock.NewManual(1_700_000_000_000))
	const resident = 3000
	limit := 30_000
	if invariants.Enabled {
		limit = 6000 // each write checks its lane
	}
	for i := range resident {
		conn.ask(t, "SET resident:%d v", i)
	}
	seen := map[string]bool{}
	added := 0
	scanAll(t, conn, "COUNT 50", func(keys []string) {
		for _, k := range keys {
			seen[k] = true
		}
		for range 300 {
			if added < limit {
				conn.ask(t, "SET added:%d v", added)
				added++
			}
		}
	})
	for i := range resident {
		if k := fmt.Sprintf(`"resident:%d"`, i); !seen[k] {
			t.Fatalf("%s was there all the time and never met", k)
		}
	}
	found := 0
	scanAll(t, conn, "COUNT 1000 MATCH resident:*", func(keys []string) { found += len(keys) })
	if found != resident {
		t.Errorf("%d of %d keys match", found, resident)
	}
	if got := len(splitList(conn.ask(t, "KEYS resident:*"))); got != resident {
		t.Errorf("KEYS finds %d", got)
	}
	if got := len(splitList(conn.ask(t, "KEYS *"))); got != resident+added {
		t.Errorf("KEYS * finds %d", got)
	}
}

func TestOneScanCallIsBoundedInRecords(t *testing.T) {
	if invariants.Enabled {
		t.Skip("too many keys for a build that checks a lane at each write")
	}
	conn := newTestConn(t, clock.NewManual(1_700_000_000_000))
	const resident = MaxScanCount + 20_000
	for i := range resident {
		conn.ask(t, "SET %d v", i)
	}
	largest, total := 0, 0
	pages := scanAll(t, conn, "COUNT 9223372036854775807", func(keys []string) {
		largest, total = max(largest, len(keys)), total+len(keys)
	})
	// A page ends with a whole bucket, so it may pass its count by some.
	if pages < 2 || largest > MaxScanCount+1000 || total < resident {
		t.Errorf("%d pages, the largest of %d keys, %d in all", pages, largest, total)
	}
}

func TestOneScanCallIsBoundedInBytes(t *testing.T) {
	conn := newTestConn(t, clock.NewManual(1_700_000_000_000))
	long := strings.Repeat("k", 100_000)
	for i := range 100 {
		conn.ask(t, "SET %s%d v", long, i)
	}
	total := 0
	pages := scanAll(t, conn, "COUNT 1000", func(keys []string) {
		total += len(keys)
		if len(keys) > 1+maxScanBytes/len(long) {
			t.Errorf("a page of %d keys of %d bytes", len(keys), len(long))
		}
	})
	if pages < 8 || total < 100 {
		t.Errorf("%d pages, %d keys", pages, total)
	}
}

func TestHostilePatternIsRefusedOrFast(t *testing.T) {
	conn := newTestConn(t, clock.NewManual(1_700_000_000_000))
	conn.ask(t, "SET %s v", strings.Repeat("a", 60_000))
	for _, pattern := range []string{strings.Repeat("a*", 2000) + "b", "*" + strings.Repeat("?a", 2000) + "b*", strings.Repeat("*[a", 1300)} {
		start := time.Now()
		conn.ask(t, "KEYS %s", pattern)
		conn.ask(t, "SCAN 0 MATCH %s", pattern)
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%.20s took %v", pattern, took)
		}
	}
	long := "*" + strings.Repeat("?", 10_000) + "*"
	if got := conn.ask(t, "KEYS %s", long); got != "-"+errPatternTooLong {
		t.Error(got)
	}
	if got := conn.ask(t, "SCAN 0 MATCH %s", long); got != "-"+errPatternTooLong {
		t.Error(got)
	}
}

// TestWritersSeeMsetAsOneStep lets two clients write the same keys again and again: the keys always end with the values
// of one of them. The same with RENAME back and forth: the value is never lost and never doubled.
func TestWritersSeeMsetAsOneStep(t *testing.T) {
	conns := newTestConns(t, clock.NewManual(1_700_000_000_000), 2)
	for round := range 300 {
		var wg sync.WaitGroup
		for i, conn := range conns {
			wg.Go(func() {
				v := strconv.Itoa(i)
				conn.ask(t, "MSET a %s b %s c %s d %s e %s f %s g %s h %s", v, v, v, v, v, v, v, v)
				conn.ask(t, "RENAME there back")
				conn.ask(t, "MSETNX x %s y %s z %s", v, v, v)
				conn.ask(t, "RENAMENX back there")
			})
		}
		wg.Wait()
		got := splitList(conns[0].ask(t, "MGET a b c d e f g h"))
		for _, v := range got {
			if v != got[0] {
				t.Fatalf("round %d: %s", round, got)
			}
		}
		got = splitList(conns[0].ask(t, "MGET x y z"))
		if got[0] == "nil" || got[1] != got[0] || got[2] != got[0] {
			t.Fatalf("round %d: %s", round, got)
		}
		conns[0].ask(t, "DEL x y z")
		if n := conns[0].ask(t, "EXISTS there back"); round > 0 && n != ":1" {
			t.Fatalf("round %d: %s of the renamed keys exist", round, n)
		}
		conns[0].ask(t, "DEL back")
		conns[0].ask(t, "SET there v")
	}
}

func TestFloatTextIsReadAsStrtoldDoes(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1", "-1.50": "-1.5", "+.5": "0.5", "5.": "5", "1e3": "1000", "1E-3": "0.001", "0x1.8p1": "3", "0XFF": "255", "-0": "0",
		"0e999999999999": "0", "0x0p999999999": "0", "1e-4950": "0", "9007199254740993": "9007199254740993",
		strings.Repeat("0", maxFloatText-1): "0", "0." + strings.Repeat("0", 4000) + "1e4001": "1",
	} {
		f, ok := parseFloat([]byte(text))
		if !ok {
			t.Errorf("%.40s is refused", text)
		} else if got := string(appendFloat(nil, f)); got != want {
			t.Errorf("%.40s: %s", text, got)
		}
	}
	for _, text := range []string{
		"", "-", "+", ".", "e1", "1e", "1e+", "1e1.5", "1 ", " 1", "1_0", "1/2", "0x", "0x.p1", "0x1p", "0b1", "nan", "infi", "1..2", "1.2.3",
		"1e4933", "1e-4951", "1e99999999999999999999", "1e-99999999999999999999", "0x1p16384", "0x1p-16446", "1\x00",
		strings.Repeat("0", maxFloatText), strings.Repeat("9", maxFloatText-1), "--1", "+-1", "1e--1", "0x1e1p", "١",
	} {
		if f, ok := parseFloat([]byte(text)); ok {
			t.Errorf("%.40q is read as %v", text, f)
		}
	}
}

func TestHostileFloatsTakeLittleTime(t *testing.T) {
	start := time.Now()
	for _, text := range []string{
		strings.Repeat("9", 4900), "0." + strings.Repeat("9", 5000), strings.Repeat("7", 4000) + "e-8900", "0x" + strings.Repeat("f", 5000) + "p-30000",
		"." + strings.Repeat("0", 5000) + "1e9000", "1e-12000", "1e999999999",
	} {
		parseFloat([]byte(text))
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("took %v", took)
	}
}

func TestDeadlineArithmeticIsChecked(t *testing.T) {
	const now = 1_700_000_000_000
	for _, c := range []struct {
		n, unit, base, at int64
		ok                bool
	}{
		{1, second, now, now + 1000, true},
		{-1, second, now, now - 1000, true},
		{math.MaxInt64 / 1000, second, 0, math.MaxInt64 / 1000 * 1000, true},
		{math.MaxInt64/1000 + 1, second, 0, 0, false},
		{math.MinInt64/1000 - 1, second, 0, 0, false},
		{math.MaxInt64 / 1000, second, now, 0, false},
		{math.MaxInt64, millisecond, 0, math.MaxInt64, true},
		{math.MaxInt64 - now, millisecond, now, math.MaxInt64, true},
		{math.MaxInt64 - now + 1, millisecond, now, 0, false},
		{math.MinInt64, millisecond, now, math.MinInt64 + now, true},
	} {
		if at, ok := deadline(c.n, c.unit, c.base); at != c.at || ok != c.ok {
			t.Errorf("deadline(%d, %d, %d) = %d, %v", c.n, c.unit, c.base, at, ok)
		}
	}
}

func TestRowsOfTheFamiliesAreComplete(t *testing.T) {
	names := map[string]bool{}
	var check func(prefix string, rows []Command)
	check = func(prefix string, rows []Command) {
		for _, row := range rows {
			name := prefix + row.Name
			if names[name] {
				t.Errorf("%s stands twice", name)
			}
			names[name] = true
			if row.Name != strings.ToLower(row.Name) || row.Arity == 0 || row.Group == "" || row.Since == "" || row.Complexity == "" ||
				!strings.HasSuffix(row.Summary, ".") {
				t.Errorf("%s: %+v", name, row)
			}
			if (row.run == nil) == (len(row.Sub) == 0) {
				t.Errorf("%s has neither a handler nor subcommands, or both", name)
			}
			if row.FirstKey > 0 && row.Step == 0 || row.FirstKey == 0 && row.LastKey != 0 {
				t.Errorf("%s: keys %d to %d by %d", name, row.FirstKey, row.LastKey, row.Step)
			}
			check(name+"|", row.Sub)
		}
	}
	check("", stringCommands)
	check("", keyCommands)
	check("", expireCommands)
}
