// Package bytesize reads and prints amounts of bytes, for every part of the server: flags, environment, file,
// CONFIG SET and logs.
//
// The units are those of redis.conf, so that a setting copied from there means the same: k, m, g, t are powers of
// 1000 and kb, mb, gb, tb powers of 1024, in any case. The forms KiB, MiB, GiB and TiB are read too. A fraction is
// allowed when the result is a whole number of bytes: 1.5gb.
package bytesize

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Powers of 1024, for defaults and limits in code.
const (
	KB Size = 1 << 10
	MB Size = 1 << 20
	GB Size = 1 << 30
	TB Size = 1 << 40
)

// Max is the largest Size.
const Max Size = math.MaxInt64

// ErrSyntax is wrapped by every error of Parse.
var ErrSyntax = errors.New("not a size")

// A Size is a number of bytes.
type Size int64

var units = map[string]int64{
	"": 1, "b": 1,
	"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12,
	"kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// maxText bounds what Parse looks at: the longest sensible size is far shorter.
const maxText = 32

// Parse reads a size such as 1048576, 512mb or 1.5gb. Sizes are never negative.
func Parse(s string) (Size, error) {
	text := strings.TrimSpace(s)
	if text == "" {
		return 0, fmt.Errorf("%w: empty", ErrSyntax)
	}
	if len(text) > maxText {
		return 0, fmt.Errorf("%w: %q... is too long", ErrSyntax, text[:maxText])
	}
	end := strings.LastIndexAny(text, "0123456789") + 1
	number, unit := text[:end], strings.ToLower(strings.TrimSpace(text[end:]))
	factor, known := units[unit]
	switch {
	case strings.HasPrefix(text, "-"):
		return 0, fmt.Errorf("%w: %q is negative", ErrSyntax, s)
	case !plain(number):
		return 0, fmt.Errorf("%w: %q (write it like 512mb or 1gb)", ErrSyntax, s)
	case !known:
		return 0, fmt.Errorf("%w: %q has the unknown unit %q (known: b k kb m mb g gb t tb)", ErrSyntax, s, unit)
	}
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		return 0, fmt.Errorf("%w: %q (write it like 512mb or 1gb)", ErrSyntax, s)
	}
	r.Mul(r, new(big.Rat).SetInt64(factor))
	if !r.IsInt() {
		return 0, fmt.Errorf("%w: %q is not a whole number of bytes", ErrSyntax, s)
	}
	if !r.Num().IsInt64() {
		return 0, fmt.Errorf("%w: %q is more than %d bytes", ErrSyntax, s, int64(Max))
	}
	return Size(r.Num().Int64()), nil
}

// plain says whether s is digits with at most one point inside: big.Rat would take exponents, signs and fractions too.
func plain(s string) bool {
	whole, fraction, point := strings.Cut(s, ".")
	return digits(whole) && (!point || digits(fraction))
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// String prints the size exactly, in the largest unit of 1024 that divides it; Parse reads it back to the same Size.
func (s Size) String() string {
	for _, u := range [...]struct {
		size Size
		name string
	}{{TB, "tb"}, {GB, "gb"}, {MB, "mb"}, {KB, "kb"}} {
		if s != 0 && s%u.size == 0 {
			return strconv.FormatInt(int64(s/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "b"
}

// Human prints the size rounded to two decimals, as Redis does in the used_memory_human fields: 1.50M, 512B.
func (s Size) Human() string {
	abs := s
	if abs < 0 {
		abs = -abs
	}
	for _, u := range [...]struct {
		size Size
		name string
	}{{TB, "T"}, {GB, "G"}, {MB, "M"}, {KB, "K"}} {
		if abs >= u.size {
			return strconv.FormatFloat(float64(s)/float64(u.size), 'f', 2, 64) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// MarshalText prints as String does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads as Parse does.
func (s *Size) UnmarshalText(text []byte) error {
	v, err := Parse(string(text))
	if err != nil {
		return err
	}
	*s = v
	return nil
}
