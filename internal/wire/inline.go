package wire

import "bytes"

// inline reads a line of words. Words may be quoted: "..." with the escapes \n \r \t \b \a \xHH, '...' with \' alone. As
// in Redis a zero byte outside of a word ends the line.
func (p *Parser) inline(args [][]byte, in []byte) (out [][]byte, n int, err error) {
	longest := MaxInline
	if !p.trusted {
		longest = StrangerMaxBulk
	}
	head := in[:min(len(in), longest)]
	end := bytes.IndexByte(head[p.at:], '\n')
	if end < 0 {
		if len(head) == longest {
			return args, 0, ErrInlineLength
		}
		p.at = len(head)
		return args, 0, nil
	}
	end += p.at
	p.at = 0
	line := in[:end]
	if end > 0 && line[end-1] == '\r' {
		line = line[:end-1]
	}
	base := len(args)
	for {
		word, rest, ok := cutWord(line)
		if !ok {
			return args[:base], 0, ErrQuotes
		}
		if word == nil {
			return args, end + 1, nil
		}
		if !p.trusted && len(args)-base == StrangerMaxArgs {
			return args[:base], 0, ErrStrangerArgs
		}
		args, line = append(args, word), rest
	}
}

// cutWord cuts the first word off a line; word is nil at the end of the line. A word without quotes is a view into the
// line, any other a copy.
func cutWord(line []byte) (word, rest []byte, ok bool) {
	for len(line) > 0 && isSpace(line[0]) {
		line = line[1:]
	}
	if len(line) == 0 || line[0] == 0 {
		return nil, nil, true
	}
	for i, b := range line {
		switch {
		case isSpace(b) || b == 0:
			return line[:i:i], line[i:], true
		case b == '"' || b == '\'':
			return cutQuoted(line, i)
		}
	}
	return line[:len(line):len(line)], nil, true
}

// cutQuoted is cutWord for a word whose first quote is line[at]. A quote that closes ends the word.
func cutQuoted(line []byte, at int) (word, rest []byte, ok bool) {
	quote := line[at]
	word = append(make([]byte, 0, len(line)), line[:at]...)
	for r := at + 1; r < len(line); r++ {
		b := line[r]
		switch {
		case b == 0:
			return nil, nil, false
		case b == quote:
			if r+1 < len(line) && line[r+1] != 0 && !isSpace(line[r+1]) {
				return nil, nil, false
			}
			return word, line[r+1:], true
		case quote == '"' && b == '\\':
			b, r = unescape(line, r)
		case quote == '\'' && b == '\\' && r+1 < len(line) && line[r+1] == '\'':
			b = '\''
			r++
		}
		word = append(word, b)
	}
	return nil, nil, false
}

// unescape reads the escape whose backslash is line[at] and returns its byte and the position of its last character.
func unescape(line []byte, at int) (byte, int) {
	if at+3 < len(line) && line[at+1] == 'x' {
		high, ok := hexDigit(line[at+2])
		low, ok2 := hexDigit(line[at+3])
		if ok && ok2 {
			return high<<4 | low, at + 3
		}
	}
	if at+1 == len(line) {
		return '\\', at
	}
	switch b := line[at+1]; b {
	case 'n':
		return '\n', at + 1
	case 'r':
		return '\r', at + 1
	case 't':
		return '\t', at + 1
	case 'b':
		return '\b', at + 1
	case 'a':
		return '\a', at + 1
	default:
		return b, at + 1
	}
}

func hexDigit(b byte) (byte, bool) {
	switch {
	case '0' <= b && b <= '9':
		return b - '0', true
	case 'a' <= b && b <= 'f':
		return b - 'a' + 10, true
	case 'A' <= b && b <= 'F':
		return b - 'A' + 10, true
	}
	return 0, false
}

func isSpace(b byte) bool { return b == ' ' || '\t' <= b && b <= '\r' }
