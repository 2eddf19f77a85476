package command

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/larder-cache/larder/internal/clock"
	"github.com/larder-cache/larder/internal/invariants"
)

// model is what the commands should do, on a plain map and with replies as testdata has them. It is written from the
// manual of the commands and shares nothing with them.
type model struct {
	now  int64
	keys map[string]entry
}

type entry struct {
	value string
	at    int64 // 0: no expiry
}

func (m *model) look(key string) (entry, bool) {
	e, found := m.keys[key]
	if !found || e.at != 0 && e.at <= m.now {
		return entry{}, false
	}
	return e, true
}

func (m *model) put(key string, e entry) {
	m.keys[key] = e
	if _, live := m.look(key); !live {
		delete(m.keys, key)
	}
}

const (
	modelSyntax = "-ERR syntax error"
	modelNotInt = "-ERR value is not an integer or out of range"
)

func modelBulk(v string, found bool) string {
	if !found {
		return "nil"
	}
	return quoteBulk([]byte(v))
}

func modelInt[T int | int64](n T) string { return ":" + strconv.FormatInt(int64(n), 10) }

func modelBool(b bool) string {
	if b {
		return ":1"
	}
	return ":0"
}

func (m *model) run(a []string) string {
	key := a[1]
	e, found := m.look(key)
	switch a[0] {
	case "GET":
		return modelBulk(e.value, found)
	case "STRLEN":
		return modelInt(len(e.value))
	case "EXISTS", "TOUCH", "DEL", "UNLINK":
		n := 0
		for _, k := range a[1:] {
			if _, found := m.look(k); found {
				n++
			}
			if a[0] == "DEL" || a[0] == "UNLINK" {
				delete(m.keys, k)
			}
		}
		return modelInt(n)
	case "TYPE":
		if found {
			return "+string"
		}
		return "+none"
	case "SET":
		return m.set(a, e, found)
	case "GETSET":
		m.put(key, entry{value: a[2]})
		return modelBulk(e.value, found)
	case "GETDEL":
		delete(m.keys, key)
		return modelBulk(e.value, found)
	case "GETEX":
		if found {
			switch a[2] {
			case "PERSIST":
				e.at = 0
			case "PX":
				n, _ := strconv.ParseInt(a[3], 10, 64)
				if n <= 0 || n > math.MaxInt64-m.now {
					return "-ERR invalid expire time in 'getex' command"
				}
				e.at = m.now + n
			}
			m.put(key, e)
		}
		return modelBulk(e.value, found)
	case "MGET":
		out := []string{}
		for _, k := range a[1:] {
			e, found := m.look(k)
			out = append(out, modelBulk(e.value, found))
		}
		return "[" + strings.Join(out, ", ") + "]"
	case "MSET", "MSETNX":
		if a[0] == "MSETNX" {
			for i := 1; i < len(a); i += 2 {
				if _, found := m.look(a[i]); found {
					return ":0"
				}
			}
		}
		for i := 1; i < len(a); i += 2 {
			m.put(a[i], entry{value: a[i+1]})
		}
		if a[0] == "MSETNX" {
			return ":1"
		}
		return "+OK"
	case "APPEND":
		e.value += a[2]
		m.put(key, e)
		return modelInt(len(e.value))
	case "SETRANGE":
		off, _ := strconv.Atoi(a[2])
		if a[3] != "" {
			v := []byte(e.value)
			for len(v) < off+len(a[3]) {
				v = append(v, 0)
			}
			copy(v[off:], a[3])
			e.value = string(v)
			m.put(key, e)
		}
		return modelInt(len(e.value))
	case "GETRANGE":
		from, _ := strconv.Atoi(a[2])
		to, _ := strconv.Atoi(a[3])
		n := len(e.value)
		if from < 0 && to < 0 && from > to {
			return modelBulk("", true)
		}
		if from < 0 {
			from = max(0, n+from)
		}
		if to < 0 {
			to = max(0, n+to)
		}
		if to = min(to, n-1); from > to {
			return modelBulk("", true)
		}
		return modelBulk(e.value[from:to+1], true)
	case "INCRBY":
		delta, _ := strconv.ParseInt(a[2], 10, 64)
		var n int64
		if found {
			var err error
			n, err = strconv.ParseInt(e.value, 10, 64)
			if err != nil || strconv.FormatInt(n, 10) != e.value {
				return modelNotInt
			}
		}
		if delta > 0 && n > math.MaxInt64-delta || delta < 0 && n < math.MinInt64-delta {
			return "-ERR increment or decrement would overflow"
		}
		m.put(key, entry{strconv.FormatInt(n+delta, 10), e.at})
		return modelInt(n + delta)
	case "PEXPIRE":
		return m.pexpire(a, e, found)
	case "PERSIST":
		if !found || e.at == 0 {
			return ":0"
		}
		m.put(key, entry{value: e.value})
		return ":1"
	case "PTTL", "PEXPIRETIME":
		switch {
		case !found:
			return ":-2"
		case e.at == 0:
			return ":-1"
		case a[0] == "PTTL":
			return modelInt(e.at - m.now)
		}
		return modelInt(e.at)
	case "RENAME", "RENAMENX", "COPY":
		return m.move(a, e, found)
	case "KEYS":
		return m.list()
	}
	panic("no model of " + a[0])
}

func (m *model) set(a []string, old entry, found bool) string {
	e := entry{value: a[2]}
	words := a[3:]
	has := func(w string) bool { return slices.Contains(words, w) }
	px := slices.Index(words, "PX")
	if has("NX") && has("XX") || px >= 0 && has("KEEPTTL") {
		return modelSyntax
	}
	if px >= 0 {
		n, _ := strconv.ParseInt(words[px+1], 10, 64)
		if n <= 0 || n > math.MaxInt64-m.now {
			return "-ERR invalid expire time in 'set' command"
		}
		e.at = m.now + n
	}
	if has("KEEPTTL") && found {
		e.at = old.at
	}
	stored := !(has("NX") && found || has("XX") && !found)
	if stored {
		m.put(a[1], e)
	}
	switch {
	case has("GET"):
		return modelBulk(old.value, found)
	case stored:
		return "+OK"
	}
	return "nil"
}

func (m *model) pexpire(a []string, e entry, found bool) string {
	n, _ := strconv.ParseInt(a[2], 10, 64)
	if n > math.MaxInt64-m.now {
		return "-ERR invalid expire time in 'pexpire' command"
	}
	at, current := float64(m.now+n), float64(e.at)
	if e.at == 0 {
		current = math.Inf(1)
	}
	ok := found
	for _, w := range a[3:] {
		switch w {
		case "NX":
			ok = ok && e.at == 0
		case "XX":
			ok = ok && e.at != 0
		case "GT":
			ok = ok && at > current
		case "LT":
			ok = ok && at < current
		}
	}
	if ok {
		e.at = m.now + n
		if e.at <= m.now {
			delete(m.keys, a[1])
		} else {
			m.put(a[1], e)
		}
	}
	return modelBool(ok)
}

func (m *model) move(a []string, e entry, found bool) string {
	name, from, to := a[0], a[1], a[2]
	_, busy := m.look(to)
	replace := name == "RENAME" || len(a) > 3
	switch {
	case name == "COPY" && from == to:
		return "-ERR source and destination objects are the same"
	case !found && name != "COPY":
		return "-ERR no such key"
	case found && (replace || !busy):
		if name != "COPY" {
			delete(m.keys, from)
		}
		m.put(to, e)
		if name == "RENAME" {
			return "+OK"
		}
		return ":1"
	}
	return ":0"
}

func (m *model) list() string {
	var out []string
	for k := range m.keys {
		if _, found := m.look(k); found {
			out = append(out, modelBulk(k, true))
		}
	}
	return sortedList(out)
}

func sortedList(items []string) string {
	slices.Sort(items)
	return "[" + strings.Join(items, ", ") + "]"
}

// randomCommand returns a command on a few keys, so that most of them meet something.
func randomCommand(r *rand.Rand) []string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	key := func() string { return "k" + strconv.Itoa(r.IntN(12)) }
	number := func() string {
		return pick("0", "1", "-1", "7", "-300", "65536", "9223372036854775807", "-9223372036854775807", "4611686018427387904")
	}
	value := func() string {
		if r.IntN(40) == 0 {
			return strings.Repeat(pick("x", "\x00\r\n", "long"), 1+r.IntN(20000))
		}
		return pick("", "v", "-", "007", "hello world", "\r\n\x00\xff", strings.Repeat("y", r.IntN(200)), number(), number())
	}
	ms := func() string { return pick("1", "5", "50", "500", "5000", "0", "-5", "9223372036854775807") }
	switch name := pick("GET", "STRLEN", "EXISTS", "TOUCH", "DEL", "UNLINK", "TYPE", "SET", "SET", "SET", "GETSET", "GETDEL", "GETEX",
		"MGET", "MSET", "MSETNX", "APPEND", "SETRANGE", "GETRANGE", "INCRBY", "INCRBY", "PEXPIRE", "PEXPIRE", "PERSIST", "PTTL",
		"PEXPIRETIME", "RENAME", "RENAMENX", "COPY", "KEYS"); name {
	case "EXISTS", "TOUCH", "DEL", "UNLINK", "MGET":
		a := []string{name, key()}
		for r.IntN(3) > 0 {
			a = append(a, key())
		}
		return a
	case "MSET", "MSETNX":
		a := []string{name, key(), value()}
		for r.IntN(3) > 0 {
			a = append(a, key(), value())
		}
		return a
	case "SET":
		a := []string{name, key(), value()}
		for r.IntN(2) == 0 {
			switch w := pick("NX", "XX", "GET", "KEEPTTL", "PX"); w {
			case "PX":
				if !slices.Contains(a[3:], "PX") {
					a = append(a, w, ms())
				}
			default:
				a = append(a, w)
			}
		}
		return a
	case "GETSET", "APPEND":
		return []string{name, key(), value()}
	case "GETEX":
		if r.IntN(2) == 0 {
			return []string{name, key(), "PERSIST"}
		}
		return []string{name, key(), "PX", ms()}
	case "SETRANGE":
		return []string{name, key(), strconv.Itoa(r.IntN(300)), value()}
	case "GETRANGE":
		return []string{name, key(), strconv.Itoa(r.IntN(300) - 150), strconv.Itoa(r.IntN(300) - 150)}
	case "INCRBY":
		return []string{name, key(), number()}
	case "PEXPIRE":
		a := []string{name, key(), ms()}
		if r.IntN(2) == 0 {
			a = append(a, pick("NX", "XX", "GT", "LT"))
		}
		return a
	case "RENAME", "RENAMENX":
		return []string{name, key(), key()}
	case "COPY":
		a := []string{name, key(), key()}
		if r.IntN(2) == 0 {
			a = append(a, "REPLACE")
		}
		return a
	case "KEYS":
		return []string{name, "*"}
	default:
		return []string{name, key()}
	}
}

func TestRandomCommandsAgreeWithAModel(t *testing.T) {
	commands := 15_000
	if invariants.Enabled {
		commands = 1_500 // each write checks its lane
	}
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		clk := clock.NewManual(1_700_000_000_000)
		conn := newTestConn(t, clk)
		m := &model{now: clk.Now(), keys: map[string]entry{}}
		var history []string
		for range commands {
			if r.IntN(10) == 0 {
				step := int64(r.IntN(20))
				clk.Advance(time.Duration(step) * time.Millisecond)
				m.now += step
			}
			a := randomCommand(r)
			args := make([][]byte, len(a))
			for i := range a {
				args[i] = []byte(a[i])
			}
			got, want := render(conn.do(args...)), m.run(a)
			if a[0] == "KEYS" {
				got = sortedList(splitList(got))
			}
			history = append(history, fmt.Sprintf("%.60q -> %.60s", a, want))
			if got != want {
				t.Fatalf("seed %d, command %.200q:\n\tgot  %.300s\n\twant %.300s\nbefore it:\n%s", seed, a, got, want,
					strings.Join(history[max(0, len(history)-15):], "\n"))
			}
		}
	}
}

// splitList cuts a rendered array of simple bulks into its items.
func splitList(list string) []string {
	list = strings.TrimSuffix(strings.TrimPrefix(list, "["), "]")
	if list == "" {
		return nil
	}
	return strings.Split(list, ", ")
}
