package differential

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A line of a case file: a command and the rule that compares its replies.
type line struct {
	number int
	rule   string
	args   []string
}

// A block is a run of lines between empty lines, sent on one connection to
// servers that were emptied before it.
type block struct {
	title string
	lines []line
}

func TestTableOfCommands(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no case files: %v", err)
	}
	forProtocols(t, func(t *testing.T, open func(t *testing.T) pair) {
		for _, file := range files {
			for _, b := range parseFile(t, file) {
				name := strings.TrimSuffix(filepath.Base(file), ".txt") + "/" + b.title
				t.Run(name, func(t *testing.T) { b.run(t, open(t)) })
			}
		}
	})
}

func (b block) run(t *testing.T, p pair) {
	if l, r := p.do("FLUSHALL"); l.Text != "OK" || r.Text != "OK" {
		t.Fatalf("FLUSHALL: %v, %v", l, r)
	}
	for _, ln := range b.lines {
		larder, redis := p.do(ln.args...)
		if rules[ln.rule](larder, redis) {
			continue
		}
		if _, ok := accepted(ln.args, larder, redis); ok {
			continue
		}
		t.Errorf("line %d: %.300q\n  larder %s\n  redis  %s", ln.number, ln.args, larder, redis)
	}
}

// parseFile reads a case file. A line is a command in the quoting of redis-cli.
// A first word such as "kind:" names the rule. A comment names its block. The
// words @now+N and @nowms+N stand for the present second and millisecond plus N,
// and @repeat:TEXT:N for N copies of TEXT.
func parseFile(t *testing.T, file string) []block {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	var blocks []block
	var b block
	number := 0
	for row := range strings.Lines(string(text)) {
		number++
		row = strings.TrimSuffix(row, "\n")
		switch {
		case row == "":
			if len(b.lines) > 0 {
				blocks = append(blocks, b)
			}
			b = block{}
		case row[0] == '#':
			b.title = strings.TrimSpace(row[1:])
		default:
			args, err := split(row)
			if err != nil {
				t.Fatalf("%s:%d: %v", file, number, err)
			}
			ln := line{number: number, args: args}
			if name, ok := strings.CutSuffix(args[0], ":"); ok && rules[name] != nil {
				ln.rule, ln.args = name, args[1:]
			} else {
				ln.rule = ruleOf(args)
			}
			for i, a := range ln.args {
				if ln.args[i], err = expand(a, now); err != nil {
					t.Fatalf("%s:%d: %v", file, number, err)
				}
			}
			b.lines = append(b.lines, ln)
		}
	}
	if len(b.lines) > 0 {
		blocks = append(blocks, b)
	}
	return blocks
}

// expand replaces one @word.
func expand(arg string, now time.Time) (string, error) {
	switch {
	case strings.HasPrefix(arg, "@nowms"):
		n, err := strconv.ParseInt(arg[len("@nowms"):], 10, 64)
		return strconv.FormatInt(now.UnixMilli()+n, 10), err
	case strings.HasPrefix(arg, "@now"):
		n, err := strconv.ParseInt(arg[len("@now"):], 10, 64)
		return strconv.FormatInt(now.Unix()+n, 10), err
	case strings.HasPrefix(arg, "@repeat:"):
		what, count, _ := strings.Cut(arg[len("@repeat:"):], ":")
		n, err := strconv.Atoi(count)
		return strings.Repeat(what, n), err
	}
	return arg, nil
}

// split cuts a row into words: bare, or in double quotes with the escapes of Go
// strings, where \xNN is one byte.
func split(row string) ([]string, error) {
	var words []string
	for row = strings.TrimLeft(row, " "); row != ""; row = strings.TrimLeft(row, " ") {
		if row[0] != '"' {
			word, rest, _ := strings.Cut(row, " ")
			words, row = append(words, word), rest
			continue
		}
		quoted, err := strconv.QuotedPrefix(row)
		if err != nil {
			return nil, fmt.Errorf("unbalanced quotes in %q", row)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		words, row = append(words, word), row[len(quoted):]
	}
	return words, nil
}
