package wire

import (
	"math"
	"strconv"
)

// Protocol versions that HELLO chooses. RESP2 has no null, map, set, double, boolean, verbatim or push type of its own:
// the appenders that take a version write what Redis writes for a RESP2 client.
const (
	RESP2 = 2
	RESP3 = 3
)

// AppendSimple appends a status line. A CR or LF in s becomes a space.
func AppendSimple(dst []byte, s string) []byte {
	return appendLine(append(dst, '+'), s)
}

// AppendError appends an error whose text, code included ("ERR no such key"), is s. A CR or LF in s becomes a space: the
// text may hold bytes of the peer.
func AppendError(dst []byte, s string) []byte {
	return appendLine(append(dst, '-'), s)
}

func appendLine(dst []byte, s string) []byte {
	start := len(dst)
	dst = append(dst, s...)
	for i, b := range dst[start:] {
		if b == '\r' || b == '\n' {
			dst[start+i] = ' '
		}
	}
	return append(dst, '\r', '\n')
}

// AppendInt appends an integer.
func AppendInt(dst []byte, n int64) []byte {
	if 0 <= n && n <= 9 {
		return append(dst, ':', '0'+byte(n), '\r', '\n')
	}
	dst = strconv.AppendInt(append(dst, ':'), n, 10)
	return append(dst, '\r', '\n')
}

// AppendBulk appends a string of any bytes.
func AppendBulk(dst, b []byte) []byte {
	dst = append(AppendBulkHeader(dst, len(b)), b...)
	return append(dst, '\r', '\n')
}

// AppendBulkString is AppendBulk for a string.
func AppendBulkString(dst []byte, s string) []byte {
	dst = append(AppendBulkHeader(dst, len(s)), s...)
	return append(dst, '\r', '\n')
}

// AppendBulkHeader appends what stands before n bytes of a bulk string. The bytes and a CR LF must follow. It adds at
// most 22 bytes.
func AppendBulkHeader(dst []byte, n int) []byte { return appendHeader(dst, '$', n) }

// AppendArray appends the header of an array; n elements must follow.
func AppendArray(dst []byte, n int) []byte { return appendHeader(dst, '*', n) }

// AppendMap appends the header of a map; n keys, each followed by its value, must follow.
func AppendMap(dst []byte, proto, n int) []byte {
	if proto < RESP3 {
		return appendHeader(dst, '*', 2*n)
	}
	return appendHeader(dst, '%', n)
}

// AppendSet appends the header of a set; n elements must follow.
func AppendSet(dst []byte, proto, n int) []byte {
	if proto < RESP3 {
		return appendHeader(dst, '*', n)
	}
	return appendHeader(dst, '~', n)
}

// AppendPush appends the header of an out-of-band message of n elements, which must follow.
func AppendPush(dst []byte, proto, n int) []byte {
	if proto < RESP3 {
		return appendHeader(dst, '*', n)
	}
	return appendHeader(dst, '>', n)
}

// AppendNull appends the null that stands for a string.
func AppendNull(dst []byte, proto int) []byte {
	if proto < RESP3 {
		return append(dst, "$-1\r\n"...)
	}
	return append(dst, "_\r\n"...)
}

// AppendNullArray appends the null that stands for an array.
func AppendNullArray(dst []byte, proto int) []byte {
	if proto < RESP3 {
		return append(dst, "*-1\r\n"...)
	}
	return append(dst, "_\r\n"...)
}

// AppendBool appends a boolean, or 1 or 0 in RESP2.
func AppendBool(dst []byte, proto int, v bool) []byte {
	switch {
	case proto >= RESP3 && v:
		return append(dst, "#t\r\n"...)
	case proto >= RESP3:
		return append(dst, "#f\r\n"...)
	case v:
		return append(dst, ":1\r\n"...)
	}
	return append(dst, ":0\r\n"...)
}

// AppendDouble appends the shortest decimal that reads back as v, as a string in RESP2.
func AppendDouble(dst []byte, proto int, v float64) []byte {
	var room [32]byte
	text := room[:0]
	switch {
	case math.IsInf(v, 1):
		text = append(text, "inf"...)
	case math.IsInf(v, -1):
		text = append(text, "-inf"...)
	case math.IsNaN(v):
		text = append(text, "nan"...)
	default:
		text = strconv.AppendFloat(text, v, 'g', -1, 64)
	}
	if proto < RESP3 {
		return AppendBulk(dst, text)
	}
	dst = append(append(dst, ','), text...)
	return append(dst, '\r', '\n')
}

// AppendVerbatim appends a text to be shown as it is, with its three-letter format ("txt", "mkd"), or a plain string in
// RESP2.
func AppendVerbatim(dst []byte, proto int, format string, text []byte) []byte {
	if proto < RESP3 {
		return AppendBulk(dst, text)
	}
	dst = appendHeader(dst, '=', len(text)+4)
	dst = append(append(dst, format[:3]...), ':')
	dst = append(dst, text...)
	return append(dst, '\r', '\n')
}

func appendHeader(dst []byte, kind byte, n int) []byte {
	switch {
	case uint(n) < 10:
		return append(dst, kind, '0'+byte(n), '\r', '\n')
	case uint(n) < 100:
		return append(dst, kind, '0'+byte(n/10), '0'+byte(n%10), '\r', '\n')
	case uint(n) < 1000:
		return append(dst, kind, '0'+byte(n/100), '0'+byte(n/10%10), '0'+byte(n%10), '\r', '\n')
	}
	dst = strconv.AppendInt(append(dst, kind), int64(n), 10)
	return append(dst, '\r', '\n')
}
