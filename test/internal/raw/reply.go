// Package raw speaks RESP at the level of bytes, for tests that compare or
// break the wire itself. Client libraries hide what was really sent; here a
// request is any bytes and a reply keeps the exact bytes it came in.
package raw

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// errFrame reports bytes that are no RESP reply.
var errFrame = errors.New("raw: not a RESP reply")

// Reply is one reply of RESP2 or RESP3.
//
// Kind is its type byte. Text holds the line or the bulk bytes. Elems holds the
// elements of an aggregate; of a map, keys and values alternate. Null is set for
// $-1, *-1 and _.
type Reply struct {
	Kind  byte
	Text  string
	Elems []Reply
	Null  bool
}

// Error reports whether the reply is an error, simple or bulk.
func (r Reply) Error() bool { return r.Kind == '-' || r.Kind == '!' }

// Int returns the number of an integer reply, and -1 for any other kind of
// reply; tests never expect a -1 where that would matter.
func (r Reply) Int() int64 {
	if r.Kind != ':' {
		return -1
	}
	n, err := strconv.ParseInt(r.Text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// String renders the reply on one line for failure messages.
func (r Reply) String() string {
	switch {
	case r.Null:
		return string(r.Kind) + "null"
	case r.Elems != nil || strings.IndexByte("*%~>", r.Kind) >= 0:
		parts := make([]string, len(r.Elems))
		for i, e := range r.Elems {
			parts[i] = e.String()
		}
		return string(r.Kind) + "[" + strings.Join(parts, " ") + "]"
	case len(r.Text) > 200:
		return fmt.Sprintf("%c%q... (%d bytes)", r.Kind, r.Text[:200], len(r.Text))
	}
	return fmt.Sprintf("%c%q", r.Kind, r.Text)
}

// Equal reports whether both replies came as the same bytes.
func (r Reply) Equal(o Reply) bool {
	return r.Kind == o.Kind && r.Null == o.Null && r.Text == o.Text &&
		slices.EqualFunc(r.Elems, o.Elems, Reply.Equal)
}

// Sorted returns the reply with its elements in order of their text, for
// replies whose order means nothing.
func (r Reply) Sorted() Reply {
	r.Elems = slices.Clone(r.Elems)
	slices.SortFunc(r.Elems, func(a, b Reply) int { return strings.Compare(a.Text, b.Text) })
	return r
}

// Strings returns the text of every element.
func (r Reply) Strings() []string {
	out := make([]string, len(r.Elems))
	for i, e := range r.Elems {
		out[i] = e.Text
	}
	return out
}

// Read reads exactly one reply.
func Read(r *bufio.Reader) (Reply, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return Reply{}, err
	}
	if len(line) < 3 || !strings.HasSuffix(line, "\r\n") {
		return Reply{}, fmt.Errorf("%w: line %q", errFrame, line)
	}
	reply := Reply{Kind: line[0]}
	rest := line[1 : len(line)-2]
	switch reply.Kind {
	case '+', '-', ':', ',', '(', '#':
		reply.Text = rest
		return reply, nil
	case '_':
		if rest != "" {
			return Reply{}, fmt.Errorf("%w: line %q", errFrame, line)
		}
		reply.Null = true
		return reply, nil
	case '$', '=', '!':
		return readBulk(r, reply, rest)
	case '*', '~', '>', '%':
		return readAggregate(r, reply, rest)
	}
	return Reply{}, fmt.Errorf("%w: line %q", errFrame, line)
}

func readBulk(r *bufio.Reader, reply Reply, length string) (Reply, error) {
	n, err := strconv.Atoi(length)
	switch {
	case err != nil || n < -1:
		return Reply{}, fmt.Errorf("%w: bulk length %q", errFrame, length)
	case n == -1:
		reply.Null = true
		return reply, nil
	}
	body := make([]byte, n+2)
	if _, err := io.ReadFull(r, body); err != nil {
		return Reply{}, err
	}
	if body[n] != '\r' || body[n+1] != '\n' {
		return Reply{}, fmt.Errorf("%w: bulk of %d bytes ends in %q", errFrame, n, body[n:])
	}
	reply.Text = string(body[:n])
	return reply, nil
}

func readAggregate(r *bufio.Reader, reply Reply, length string) (Reply, error) {
	n, err := strconv.Atoi(length)
	switch {
	case err != nil || n < -1:
		return Reply{}, fmt.Errorf("%w: aggregate length %q", errFrame, length)
	case n == -1:
		reply.Null = true
		return reply, nil
	}
	if reply.Kind == '%' {
		n *= 2
	}
	reply.Elems = make([]Reply, n)
	for i := range reply.Elems {
		if reply.Elems[i], err = Read(r); err != nil {
			return Reply{}, err
		}
	}
	return reply, nil
}
