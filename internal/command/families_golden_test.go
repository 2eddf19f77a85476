package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/larder-cache/larder/internal/clock"
)

// TestRepliesAreThoseOfRedis runs the command streams of testdata. A line "> SET k v" is a command and the line below it
// its reply, as redis-server 7.0.15 gave it; ">! ..." marks a reply that differs there on purpose. "@advance 100" lets
// 100 ms pass. Arguments with spaces or other bytes are quoted as in Go.
func TestRepliesAreThoseOfRedis(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			clk := clock.NewManual(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli())
			conn := newTestConn(t, clk)
			lines := strings.Split(string(text), "\n")
			for i := 0; i < len(lines); i++ {
				line := lines[i]
				switch {
				case strings.HasPrefix(line, "@advance "):
					ms, err := strconv.Atoi(line[len("@advance "):])
					if err != nil {
						t.Fatal(err)
					}
					clk.Advance(time.Duration(ms) * time.Millisecond)
				case strings.HasPrefix(line, ">"):
					got := render(conn.do(splitCommand(t, strings.TrimLeft(line, ">! "))...))
					i++
					if got != lines[i] {
						t.Errorf("%s:%d: %s\n\tgot  %s\n\twant %s", file, i, line, got, lines[i])
					}
				}
			}
		})
	}
}

// splitCommand cuts a line of testdata into arguments.
func splitCommand(t testing.TB, line string) (args [][]byte) {
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		if line[0] != '"' {
			word, rest, _ := strings.Cut(line, " ")
			args, line = append(args, []byte(word)), rest
			continue
		}
		prefix, err := strconv.QuotedPrefix(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		word, err := strconv.Unquote(prefix)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		args, line = append(args, []byte(word)), line[len(prefix):]
	}
	return args
}

// render writes a reply in RESP2 as testdata has it: +OK, -ERR text, :5, "bulk", nil, [one, two].
func render(reply []byte) string {
	text, rest := renderOne(reply)
	if len(rest) > 0 {
		return text + fmt.Sprintf(" and %q", rest)
	}
	return text
}

func renderOne(reply []byte) (text string, rest []byte) {
	line, rest, ok := bytes.Cut(reply, []byte("\r\n"))
	if !ok || len(line) == 0 {
		return fmt.Sprintf("malformed %q", reply), nil
	}
	n, _ := strconv.Atoi(string(line[1:]))
	switch line[0] {
	case '$', '*':
		if n < 0 {
			return "nil", rest
		}
	default:
		return string(line), rest
	}
	if line[0] == '$' {
		if len(rest) < n+2 {
			return fmt.Sprintf("cut short %q", reply), nil
		}
		return quoteBulk(rest[:n]), rest[n+2:]
	}
	items := make([]string, n)
	for i := range items {
		items[i], rest = renderOne(rest)
	}
	return "[" + strings.Join(items, ", ") + "]", rest
}

func quoteBulk(b []byte) string {
	const hex = "0123456789abcdef"
	out := []byte{'"'}
	for _, c := range b {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			out = append(out, '\\', 'x', hex[c>>4], hex[c&15])
		} else {
			out = append(out, c)
		}
	}
	return string(append(out, '"'))
}

// ask runs a command written as in testdata and returns its reply as testdata has it.
func (f *testConn) ask(t testing.TB, format string, args ...any) string {
	t.Helper()
	return render(f.do(splitCommand(t, fmt.Sprintf(format, args...))...))
}
