package wire

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// Error is a violation of the protocol. The stream cannot be read further: the connection must be closed. The text is
// what Redis replies after "ERR ".
type Error struct{ text string }

func (e *Error) Error() string { return "Protocol error: " + e.text }

// The violations. A missing "$" makes an *Error of its own, which names the byte in its place.
var (
	ErrMultibulkLength = &Error{"invalid multibulk length"}
	ErrBulkLength      = &Error{"invalid bulk length"}
	ErrBulkEnd         = &Error{"expected CR LF after bulk string"}
	ErrInlineLength    = &Error{"too big inline request"}
	ErrQuotes          = &Error{"unbalanced quotes in request"}
	ErrStrangerArgs    = &Error{"unauthenticated multibulk length"}
	ErrStrangerBulk    = &Error{"unauthenticated bulk length"}
)

// expectedBulk names the byte that stands where "$" must.
func expectedBulk(got byte) error {
	if got < ' ' || got > '~' {
		got = '?'
	}
	return &Error{"expected '$', got '" + string(rune(got)) + "'"}
}

// span is the place of an argument, counted from the start of its command.
type span struct{ from, to int }

// Parser reads the commands of one connection. The zero value is ready, with DefaultMaxBulk and an unauthenticated peer.
//
// Between two calls it holds what it knows about the unfinished command at the head of the input, if there is one.
type Parser struct {
	maxBulk int64
	trusted bool

	args  int    // arguments that the unfinished command announced, 0 = nothing was noted about it
	at    int    // where reading goes on; of an inline command, how far there is no line end
	need  int    // bytes that the unfinished command needs in all, 0 = unknown
	spans []span // arguments read so far
}

// SetMaxBulk sets the longest argument in bytes; 0 is DefaultMaxBulk.
func (p *Parser) SetMaxBulk(n int64) { p.maxBulk = min(n, math.MaxInt64/2) }

// SetAuthenticated says whether the peer may send commands of any size.
func (p *Parser) SetAuthenticated(yes bool) { p.trusted = yes }

// Reset forgets the unfinished command: the next call of Parse starts at the first byte of a command.
func (p *Parser) Reset() {
	p.args, p.at, p.need = 0, 0, 0
	if cap(p.spans) > keepSpans {
		p.spans = nil
	}
	p.spans = p.spans[:0]
}

// Need returns how many bytes of input, from the first byte of the unfinished command, there must be before Parse can
// finish the argument it stands at; 0 when that is not known. It never counts what was not announced yet.
func (p *Parser) Need() int { return p.need }

// Parse reads one command and appends its arguments, views into in, to args. n is the number of bytes consumed; 0 with a
// nil error says that the command is not complete. When n > 0 and nothing was appended, the input was an empty line or
// an empty array, which Redis skips.
//
// in must start where the last call left off: at the same byte when it consumed nothing, else behind what it consumed.
// The bytes may lie elsewhere in memory than before. Only the quoted words of an inline command are not views: they are
// copied.
func (p *Parser) Parse(args [][]byte, in []byte) (out [][]byte, n int, err error) {
	if p.args > 0 {
		return p.resume(args, in)
	}
	if len(in) == 0 {
		return args, 0, nil
	}
	if in[0] != '*' {
		return p.inline(args, in)
	}
	count, pos, ok := number(in, 1)
	switch {
	case !ok || count > MaxArgs:
		return args, 0, ErrMultibulkLength
	case pos == 0:
		return args, 0, nil
	case count <= 0:
		return args, pos, nil
	case !p.trusted && count > StrangerMaxArgs:
		return args, 0, ErrStrangerArgs
	}
	limit := p.limit()
	base := len(args)
	for i := count; i > 0; i-- {
		length, from := shortHeader(in, pos)
		if from == 0 || length > limit {
			if pos >= len(in) {
				return p.suspend(args, base, in, int(count), pos, 0)
			}
			if in[pos] != '$' {
				return args[:base], 0, expectedBulk(in[pos])
			}
			length, from, ok = longNumber(in, pos+1)
			if !ok || uint64(length) > uint64(limit) {
				return args[:base], 0, p.badLength(length, ok)
			}
			if from == 0 {
				return p.suspend(args, base, in, int(count), pos, 0)
			}
		}
		to := from + int(length)
		if to+2 > len(in) {
			return p.suspend(args, base, in, int(count), pos, to+2)
		}
		if in[to] != '\r' || in[to+1] != '\n' {
			return args[:base], 0, ErrBulkEnd
		}
		args = append(args, in[from:to:to])
		pos = to + 2
	}
	return args, pos, nil
}

// shortHeader reads the header of an argument of less than 1000 bytes when eight bytes of input are there: one load, and
// no loop. from is 0 when the header is another one.
func shortHeader(in []byte, pos int) (length int64, from int) {
	if pos+8 > len(in) {
		return 0, 0
	}
	const crlf = '\r' | '\n'<<8
	w := binary.LittleEndian.Uint64(in[pos:])
	a, b, c := w>>8&0xff-'0', w>>16&0xff-'0', w>>24&0xff-'0'
	switch {
	case byte(w) != '$' || a > 9:
		return 0, 0
	case uint16(w>>16) == crlf:
		return int64(a), pos + 4
	case a == 0 || b > 9:
		return 0, 0
	case uint16(w>>24) == crlf:
		return int64(a*10 + b), pos + 5
	case c > 9 || uint16(w>>32) != crlf:
		return 0, 0
	}
	return int64(a*100 + b*10 + c), pos + 6
}

// suspend notes the state of the unfinished command: args[base:] are read, the header of the next argument starts at at,
// and need bytes are wanted in all.
func (p *Parser) suspend(args [][]byte, base int, in []byte, count, at, need int) ([][]byte, int, error) {
	p.args, p.at, p.need = count, at, need
	p.spans = p.spans[:0]
	for _, a := range args[base:] {
		from := int(uintptr(unsafe.Pointer(unsafe.SliceData(a))) - uintptr(unsafe.Pointer(unsafe.SliceData(in))))
		p.spans = append(p.spans, span{from, from + len(a)})
	}
	return args[:base], 0, nil
}

// resume goes on with the unfinished command. Arguments become views when the last one is there, so a command of many
// pieces costs each of its arguments once.
func (p *Parser) resume(args [][]byte, in []byte) (out [][]byte, n int, err error) {
	limit := p.limit()
	for len(p.spans) < p.args {
		if p.at >= len(in) || len(in) < p.need {
			return args, 0, nil
		}
		if in[p.at] != '$' {
			return args, 0, expectedBulk(in[p.at])
		}
		length, from, ok := number(in, p.at+1)
		if !ok || uint64(length) > uint64(limit) {
			return args, 0, p.badLength(length, ok)
		}
		if from == 0 {
			return args, 0, nil
		}
		to := from + int(length)
		if to+2 > len(in) {
			p.need = to + 2
			return args, 0, nil
		}
		if in[to] != '\r' || in[to+1] != '\n' {
			return args, 0, ErrBulkEnd
		}
		p.spans = append(p.spans, span{from, to})
		p.at, p.need = to+2, 0
	}
	for _, s := range p.spans {
		args = append(args, in[s.from:s.to:s.to])
	}
	n = p.at
	p.Reset()
	return args, n, nil
}

// limit returns the longest argument now.
func (p *Parser) limit() int64 {
	limit := p.maxBulk
	if limit == 0 {
		limit = DefaultMaxBulk
	}
	if !p.trusted {
		limit = min(limit, StrangerMaxBulk)
	}
	return limit
}

func (p *Parser) badLength(length int64, ok bool) error {
	if ok && !p.trusted && length > StrangerMaxBulk {
		return ErrStrangerBulk
	}
	return ErrBulkLength
}

// number reads the decimal at pos and the CR LF behind it. next is the position after them, 0 when in ends before; ok is
// false when this cannot become a number any more.
func number(in []byte, pos int) (n int64, next int, ok bool) {
	if pos+2 < len(in) && in[pos+1] == '\r' && in[pos+2] == '\n' && in[pos]-'0' <= 9 {
		return int64(in[pos] - '0'), pos + 3, true
	}
	return longNumber(in, pos)
}

func longNumber(in []byte, pos int) (n int64, next int, ok bool) {
	negative := pos < len(in) && in[pos] == '-'
	if negative {
		pos++
	}
	first := pos
	var v uint64
	for ; pos < len(in); pos++ {
		d := in[pos] - '0'
		if d > 9 {
			break
		}
		if pos > first && v == 0 || pos-first == maxDigits || negative && d == 0 && v == 0 {
			return 0, 0, false
		}
		v = v*10 + uint64(d)
	}
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	if v > limit {
		return 0, 0, false
	}
	n = int64(v)
	if negative {
		n = -n
	}
	switch rest := in[pos:]; {
	case len(rest) == 0:
		return 0, 0, true
	case pos == first || rest[0] != '\r' || len(rest) > 1 && rest[1] != '\n':
		return 0, 0, false
	case len(rest) == 1:
		return 0, 0, true
	}
	return n, pos + 2, true
}
