package command

import (
	"math/big"
)

const (
	errNotFloat  = "ERR value is not a valid float"
	errNotFinite = "ERR increment would produce NaN or Infinity"

	// floatBits is the mantissa of the x87 long double.
	floatBits = 64
	// maxFloatExp bounds a long double: it is below 2^maxFloatExp. 2^minFloatExp, half of the smallest, rounds to zero.
	maxFloatExp, minFloatExp = 16384, -16446
	// maxFloatText is the length at which Redis stops to take a text for a number (MAX_LONG_DOUBLE_CHARS). With it, an
	// exponent outside maxDecimalExp or maxBinaryExp is out of range whatever the digits before it are.
	maxFloatText  = 5 * 1024
	maxDecimalExp = 12_000
	maxBinaryExp  = 50_000
	// floatDecimals is how many decimals of a sum are kept.
	floatDecimals = 17
)

// incrbyfloatCommand adds to a number and stores the sum as text; the expiry stays as it is.
//
// Redis computes with the C type long double, which on its usual machines is the x87 format with 64 bits of mantissa, and
// prints 17 decimals. A big.Float of the same precision gives the same digits on every machine.
func incrbyfloatCommand(c *Client, args [][]byte) {
	delta, ok := parseFloat(args[2])
	x := c.db().Lock(c.hash(args[1]), args[1])
	old := new(big.Float)
	var at int64
	if x.Found() {
		info := x.Meta()
		at = info.ExpireAt
		valid := info.Size < maxFloatText
		if valid {
			b := x.Append(c.scratch())
			old, valid = parseFloat(b)
			c.keepScratch(b)
		}
		ok = ok && valid
	}
	var text []byte
	var err error
	refusal := errNotFloat
	if ok {
		refusal = errNotFinite
		var sum *big.Float
		if sum, ok = addFloats(old, delta); ok {
			text = appendFloat(text, sum)
			err = x.Put(text, at, 0)
		}
	}
	x.Unlock()
	switch {
	case !ok:
		c.fail(refusal)
	case err != nil:
		c.failErr(err)
	default:
		c.bulk(text)
	}
}

// parseFloat reads what the C function strtold reads, the whole of b and without spaces around it: decimal or
// hexadecimal digits with an optional exponent, "inf" or "infinity" in any case. "nan" is refused, and so is a number
// that a long double cannot hold or rounds to zero.
func parseFloat(b []byte) (*big.Float, bool) {
	if len(b) == 0 || len(b) >= maxFloatText {
		return nil, false
	}
	digits := b
	negative := b[0] == '-'
	if negative || b[0] == '+' {
		digits = b[1:]
	}
	if isWord(digits, "INF") || isWord(digits, "INFINITY") {
		return new(big.Float).SetInf(negative), true
	}
	form, ok := scanFloat(digits)
	if !ok {
		return nil, false
	}
	f := new(big.Float).SetPrec(floatBits)
	if form.zero {
		return f, true
	}
	if form.outOfRange {
		return nil, false
	}
	// A Rat holds the text exactly, so the only rounding is the one to 64 bits.
	r, ok := new(big.Rat).SetString(string(digits))
	if !ok {
		return nil, false
	}
	f.SetRat(r)
	if negative {
		f.Neg(f)
	}
	// f is at least 2^(exp-1) and below 2^exp.
	exp := f.MantExp(nil)
	tooSmall := exp <= minFloatExp || exp == minFloatExp+1 && f.MinPrec() == 1
	return f, exp <= maxFloatExp && !tooSmall
}

// floatForm is what can be said of a number's text before it is computed.
type floatForm struct {
	zero       bool // all digits are 0
	outOfRange bool // the exponent alone exceeds what a long double can hold
}

// scanFloat checks the form of an unsigned number. The check is needed before big.Rat reads the text: that one takes
// fractions, underscores and other prefixes too, and computes any exponent it is given.
func scanFloat(b []byte) (form floatForm, ok bool) {
	mark, limit := byte('e'), maxDecimalExp
	hex := len(b) > 2 && b[0] == '0' && b[1]|0x20 == 'x'
	if hex {
		b, mark, limit = b[2:], 'p', maxBinaryExp
	}
	i, digits, point := 0, 0, false
	form.zero = true
	for ; i < len(b); i++ {
		c := b[i]
		switch {
		case c == '.' && !point:
			point = true
			continue
		case '0' <= c && c <= '9', hex && 'a' <= c|0x20 && c|0x20 <= 'f':
			digits++
			form.zero = form.zero && c == '0'
			continue
		}
		break
	}
	if digits == 0 {
		return form, false
	}
	if i == len(b) {
		return form, true
	}
	if b[i]|0x20 != mark {
		return form, false
	}
	b = b[i+1:]
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		b = b[1:]
	}
	exp := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return form, false
		}
		exp = min(exp*10+int(c-'0'), limit+1)
	}
	form.outOfRange = exp > limit
	return form, len(b) > 0
}

// addFloats returns the sum, or false when it is not finite.
func addFloats(a, b *big.Float) (*big.Float, bool) {
	if a.IsInf() || b.IsInf() {
		return nil, false
	}
	sum := new(big.Float).SetPrec(floatBits).Add(a, b)
	return sum, sum.MantExp(nil) <= maxFloatExp
}

// appendFloat appends f with at most floatDecimals decimals and no zeros behind the last digit that says something.
func appendFloat(dst []byte, f *big.Float) []byte {
	start := len(dst)
	dst = f.Append(dst, 'f', floatDecimals)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	if dst[len(dst)-1] == '.' {
		dst = dst[:len(dst)-1]
	}
	if string(dst[start:]) == "-0" {
		return append(dst[:start], '0')
	}
	return dst
}
