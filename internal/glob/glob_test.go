package glob

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestPatternsMatchAsInRedis(t *testing.T) {
	f, err := os.Open("testdata/match.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	cases := 0
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		pattern, rest := quoted(t, n, line)
		key, rest := quoted(t, n, rest)
		words := strings.Fields(rest)
		want, fold := words[0] == "yes", len(words) == 2 && words[1] == "fold"
		if got := Match(pattern, key, fold); got != want {
			t.Errorf("line %d: pattern %q, key %q, fold %v: got %v", n, pattern, key, fold, got)
		}
		cases++
	}
	if cases < 80 {
		t.Errorf("only %d cases read", cases)
	}
}

func quoted(t *testing.T, line int, s string) (value []byte, rest string) {
	s = strings.TrimLeft(s, " ")
	prefix, err := strconv.QuotedPrefix(s)
	if err != nil {
		t.Fatalf("line %d: %v", line, err)
	}
	v, err := strconv.Unquote(prefix)
	if err != nil {
		t.Fatalf("line %d: %v", line, err)
	}
	return []byte(v), s[len(prefix):]
}

func TestEscapedKeyMatchesOnlyItself(t *testing.T) {
	key := make([]byte, 64<<10+1)
	for i := range key {
		key[i] = byte(i)
	}
	var escaped []byte
	for _, c := range key {
		escaped = append(escaped, '\\', c)
	}
	p, err := Compile(escaped, false)
	if err != nil {
		t.Fatal(err)
	}
	if lit, ok := p.Literal(); !ok || !bytes.Equal(lit, key) {
		t.Error("the pattern is not seen as a literal")
	}
	if !p.Match(key) {
		t.Error("does not match the key")
	}
	key[40000]++
	if p.Match(key) {
		t.Error("matches another key")
	}
}

func TestPatternSaysWhatItIs(t *testing.T) {
	for _, c := range []struct {
		pattern      string
		fold         bool
		literal, all bool
	}{
		{"", false, true, false},
		{"abc", false, true, false},
		{"a[b]c", false, true, false},
		{"a[bc]", false, false, false},
		{"a?", false, false, false},
		{"a*", false, false, false},
		{"*", false, false, true},
		{"***", false, false, true},
		{"abc", true, false, false},
	} {
		p, err := Compile([]byte(c.pattern), c.fold)
		if err != nil {
			t.Fatal(err)
		}
		if _, literal := p.Literal(); literal != c.literal || p.All() != c.all {
			t.Errorf("%q fold %v: literal %v, all %v", c.pattern, c.fold, literal, p.All())
		}
	}
}

func TestTooLongPatternIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, pattern string
		err           error
	}{
		{"longest", strings.Repeat("a", MaxPattern), nil},
		{"longer", strings.Repeat("a", MaxPattern+1), ErrTooLong},
		{"longest search", "*" + strings.Repeat("?", MaxSearch) + "*", nil},
		{"longer search", "*" + strings.Repeat("?", MaxSearch+1) + "*", ErrTooLong},
		{"two searches", strings.Repeat("*"+strings.Repeat("?", MaxSearch/2+1), 2) + "*", ErrTooLong},
		{"anchored sets", strings.Repeat("[ab]", MaxSearch*2), nil},
		{"plain between stars", "*" + strings.Repeat("a", MaxSearch*2) + "*", nil},
	} {
		p := new(Pattern)
		if err := p.Reset([]byte(c.pattern), false); err != c.err {
			t.Errorf("%s: %v", c.name, err)
		} else if err != nil && (p.Match([]byte("a")) || !p.Match(nil)) {
			t.Errorf("%s: the refused pattern still matches", c.name)
		}
	}
}

// hostile patterns are those that send a backtracking matcher into exponential or cubic time.
var hostile = map[string]string{
	"stars":       strings.Repeat("a*", 2047) + "ab",
	"questions":   "*" + strings.Repeat("?a", 2046) + "b*",
	"sets":        "*" + strings.Repeat("[ab]", 1022) + "c*",
	"long plain":  "*" + strings.Repeat("a", 4092) + "b*",
	"mixed":       strings.Repeat("*a?a", 1023) + "b",
	"wide set":    "*[" + strings.Repeat("a", 4000) + "]?" + strings.Repeat("a", 70) + "b*",
	"open set":    strings.Repeat("*[a", 1365),
	"open sets":   strings.Repeat("*a?[^b", 600),
	"alternating": strings.Repeat("*"+strings.Repeat("?a", 50)+"b", 40) + "*",
}

func TestHostilePatternFinishesInBoundedTime(t *testing.T) {
	key := bytes.Repeat([]byte("a"), 256<<10)
	for name, pattern := range hostile {
		p, err := Compile([]byte(pattern), false)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		start := time.Now()
		p.Match(key)
		// 64 steps a byte are about 20 ms here; a quadratic matcher takes from seconds to for ever.
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s: %v for a key of 256 KiB", name, took)
		}
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	var p Pattern
	pattern, key := []byte("user:*[0-9]:na?e*"), []byte("user:alpha7:name:first")
	if n := testing.AllocsPerRun(100, func() {
		if p.Reset(pattern, false) != nil || !p.Match(key) {
			t.Fatal("no match")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestResetForgetsTheLastPattern(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var p Pattern
	for range 20000 {
		pattern, key := randomPattern(rng, 12), randomKey(rng, 12)
		fold := rng.IntN(4) == 0
		if err := p.Reset(pattern, fold); err != nil {
			t.Fatal(err)
		}
		if got, want := p.Match(key), reference(pattern, key, fold); got != want {
			t.Fatalf("pattern %q, key %q, fold %v: got %v", pattern, key, fold, got)
		}
	}
}

func TestShiftAndFindsTheLeftmostPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		middle := make([]byte, 65+rng.IntN(200))
		for i := range middle {
			middle[i] = "aaaaaaaaa?"[rng.IntN(10)]
		}
		middle[0] = '?'
		tail := "ab?"[rng.IntN(3)]
		pattern := []byte(fmt.Sprintf("*%s%cb*", middle, tail))
		p, err := Compile(pattern, false)
		if err != nil {
			t.Fatal(err)
		}
		key := bytes.Repeat([]byte("a"), 500+rng.IntN(500))
		for range rng.IntN(3) {
			key[rng.IntN(len(key))] = 'b'
		}
		g := p.segments[1]
		want := -1
		for i := 0; i+g.len() <= len(key) && want < 0; i++ {
			if p.at(g, key[i:]) {
				want = i
			}
		}
		if got := p.tables[0].find(p, g, key); got != want {
			t.Fatalf("pattern %q, key %q: %d, want %d", pattern, key, got, want)
		}
		if got := p.find(g, key); got != want {
			t.Fatalf("pattern %q, key %q: find gives %d, want %d", pattern, key, got, want)
		}
	}
}

func FuzzMatchAgreesWithBacktracking(f *testing.F) {
	for _, s := range []string{"a*b?[c-e]", "[^a", "[a\\", "**[*]*", "\\", "[]", "[z-a]x"} {
		f.Add([]byte(s), []byte("abxcd"), false)
		f.Add([]byte(s), []byte(s), true)
	}
	f.Fuzz(func(t *testing.T, pattern, key []byte, fold bool) {
		if len(pattern) > 24 || len(key) > 40 {
			return // the reference takes exponential time
		}
		// Clipped copies: reading past the end of the pattern panics.
		pattern = append(make([]byte, 0, len(pattern)), pattern...)
		if got, want := Match(pattern, key, fold), reference(pattern, key, fold); got != want {
			t.Errorf("pattern %q, key %q, fold %v: got %v", pattern, key, fold, got)
		}
	})
}

// reference is the textbook matcher with Redis's rules for sets, written without regard for time.
func reference(p, s []byte, fold bool) bool {
	eq := func(a, b byte) bool { return a == b || fold && lower(a) == lower(b) }
	if len(p) == 0 {
		return len(s) == 0
	}
	if p[0] == '*' {
		for i := 0; i <= len(s); i++ {
			if reference(p[1:], s[i:], fold) {
				return true
			}
		}
		return false
	}
	if len(s) == 0 {
		return false
	}
	switch {
	case p[0] == '?':
		return reference(p[1:], s[1:], fold)
	case p[0] == '\\' && len(p) >= 2:
		return eq(p[1], s[0]) && reference(p[2:], s[1:], fold)
	case p[0] == '[':
		p = p[1:]
		not := len(p) > 0 && p[0] == '^'
		if not {
			p = p[1:]
		}
		match := false
		for len(p) > 0 && p[0] != ']' {
			switch {
			case p[0] == '\\' && len(p) >= 2:
				match = match || p[1] == s[0]
				p = p[2:]
			case len(p) >= 3 && p[1] == '-':
				lo, hi, c := min(p[0], p[2]), max(p[0], p[2]), s[0]
				if fold {
					lo, hi, c = lower(lo), lower(hi), lower(c)
				}
				match = match || lo <= c && c <= hi
				p = p[3:]
			default:
				match = match || eq(p[0], s[0])
				p = p[1:]
			}
		}
		if len(p) > 0 {
			p = p[1:]
		}
		return match != not && reference(p, s[1:], fold)
	}
	return eq(p[0], s[0]) && reference(p[1:], s[1:], fold)
}

func randomPattern(rng *rand.Rand, n int) []byte {
	p := make([]byte, rng.IntN(n+1))
	for i := range p {
		p[i] = "ab**??[]^-\\cAB\xff"[rng.IntN(15)]
	}
	return p
}

func randomKey(rng *rand.Rand, n int) []byte {
	s := make([]byte, rng.IntN(n+1))
	for i := range s {
		s[i] = "aabbcAB]^\\-\xff"[rng.IntN(12)]
	}
	return s
}

func BenchmarkMatch(b *testing.B) {
	key := []byte("session:0000000012345678:profile")
	for _, pattern := range []string{"*", "session:*", "*:profile", "session:*:profile", "*345*", "*[0-9]8:p?o*", "nothing*"} {
		b.Run("pattern="+pattern, func(b *testing.B) {
			p, err := Compile([]byte(pattern), false)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				p.Match(key)
			}
		})
	}
	long := bytes.Repeat([]byte("a"), 16<<10)
	for name, pattern := range hostile {
		b.Run("hostile="+strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			p, err := Compile([]byte(pattern), false)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(long)))
			for b.Loop() {
				p.Match(long)
			}
		})
	}
}
