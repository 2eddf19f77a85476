package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxFile bounds a configuration file: what is longer is some other file given by mistake.
const maxFile = 1 << 20

// loadFile reads a TOML file of flat keys and applies it.
func (c *Config) loadFile(path string, faults *Problems) {
	doc, err := readFile(path)
	if err != nil {
		faults.add(path, "%v", err)
		return
	}
	// The decoder judges the syntax and finds doubled keys. It stops at the first fault of a value and gives no position
	// of a good one, so values are read from the syntax tree afterwards.
	var whole map[string]any
	if err := toml.Unmarshal(doc, &whole); err != nil {
		var d *toml.DecodeError
		if errors.As(err, &d) {
			line, column := d.Position()
			faults.add(fmt.Sprintf("%s:%d:%d", path, line, column), "%s", strings.TrimPrefix(d.Error(), "toml: "))
		} else {
			faults.add(path, "%s", strings.TrimPrefix(err.Error(), "toml: "))
		}
		return
	}
	p := &unstable.Parser{}
	p.Reset(doc)
	top := true
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.KeyValue {
			top = false // what follows belongs to the table, which is refused as a whole
		}
		if top || e.Kind != unstable.KeyValue {
			c.applyExpression(p, path, e, faults)
		}
	}
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the path is the operator's own choice
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer f.Close() //nolint:errcheck // only read
	doc, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	if len(doc) > maxFile {
		return nil, fmt.Errorf("longer than %d bytes", maxFile)
	}
	return doc, nil
}

// applyExpression handles one line of the file: a key with its value, or a table, which no option is.
func (c *Config) applyExpression(p *unstable.Parser, path string, e *unstable.Node, faults *Problems) {
	var parts []string
	var first unstable.Range
	for it := e.Key(); it.Next(); {
		if len(parts) == 0 {
			first = it.Node().Raw
		}
		parts = append(parts, string(it.Node().Data))
	}
	name, where := strings.Join(parts, "."), place(p, path, first)
	if e.Kind != unstable.KeyValue {
		faults.add(where, "unknown table %q: all settings stand at the top level", name)
		return
	}
	o := find(name)
	if o == nil || len(parts) != 1 {
		faults.add(where, "unknown key %q%s", name, didYouMean(name, names()))
		return
	}
	value := e.Value()
	text, err := scalar(value)
	if err != nil {
		faults.add(valuePlace(p, path, value, where), "%s: %v", name, err)
		return
	}
	if err := o.set(c, text); err != nil {
		faults.add(valuePlace(p, path, value, where), "%s: %v", name, err)
		return
	}
	c.source[o.Name] = where
}

// scalar returns the value as the text that a flag would have.
func scalar(v *unstable.Node) (string, error) {
	switch v.Kind {
	case unstable.String:
		return string(v.Data), nil
	case unstable.Integer:
		n, err := strconv.ParseInt(string(v.Data), 0, 64)
		if err != nil {
			return "", errors.New("integer out of range")
		}
		return strconv.FormatInt(n, 10), nil
	default:
		return "", fmt.Errorf("a string or an integer is needed, not %s", article(v.Kind))
	}
}

func article(k unstable.Kind) string {
	switch k {
	case unstable.Bool:
		return "a boolean"
	case unstable.Float:
		return "a float"
	case unstable.Array:
		return "an array"
	case unstable.InlineTable:
		return "a table"
	default:
		return "a date or time"
	}
}

func place(p *unstable.Parser, path string, r unstable.Range) string {
	start := p.Shape(r).Start
	return fmt.Sprintf("%s:%d:%d", path, start.Line, start.Column)
}

// valuePlace falls back to the key's place for values that carry none.
func valuePlace(p *unstable.Parser, path string, v *unstable.Node, key string) string {
	if v.Raw.Length == 0 {
		return key
	}
	return place(p, path, v.Raw)
}

func names() []string {
	out := make([]string, len(Options))
	for i := range Options {
		out[i] = Options[i].Name
	}
	return out
}

// didYouMean returns " (did you mean x?)" for the known name nearest to name, or nothing when none is near.
func didYouMean(name string, known []string) string {
	const near = 2 // edits
	best, least := "", near+1
	plain := strings.NewReplacer("-", "", "_", "")
	for _, k := range known {
		if d := distance(strings.ToLower(plain.Replace(name)), strings.ToLower(plain.Replace(k))); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// distance is the number of single-byte edits between two short names (Levenshtein's).
func distance(a, b string) int {
	const long = 64
	if len(a) > long || len(b) > long {
		return long
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
