package config

import (
	"fmt"
	"strings"
)

// A Problem is one fault of the settings and the place where it stands.
type Problem struct {
	// Where is "path:line:column", "--flag" or "LARDER_NAME".
	Where string
	Text  string
}

// Error returns "where: text" on one line.
func (p Problem) Error() string {
	return oneLine(p.Where + ": " + p.Text)
}

// Problems are all faults that Load found, at least one.
type Problems []Problem

// Error returns one line for each fault.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives each fault to errors.As.
func (p Problems) Unwrap() []error {
	out := make([]error, len(p))
	for i := range p {
		out[i] = p[i]
	}
	return out
}

func (p *Problems) add(where, format string, args ...any) {
	*p = append(*p, Problem{Where: where, Text: fmt.Sprintf(format, args...)})
}

// oneLine keeps a message from breaking the promise of one line per fault, whatever a path or value contains.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
