package bytesize

import (
	"errors"
	"strings"
	"testing"
)

func TestParseReadsTheUnitsOfRedisConf(t *testing.T) {
	for text, want := range map[string]Size{
		"0":                   0,
		"1":                   1,
		"1048576":             MB,
		"10b":                 10,
		"1k":                  1000,
		"1kb":                 KB,
		"1KB":                 KB,
		"1KiB":                KB,
		"512mb":               512 * MB,
		"512 MB":              512 * MB,
		" 1gb ":               GB,
		"1.5gb":               GB + 512*MB,
		"0.5k":                500,
		"2g":                  2_000_000_000,
		"3t":                  3_000_000_000_000,
		"2tb":                 2 * TB,
		"9223372036854775807": Max,
		"8388607tb":           8388607 * TB,
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestParseRefusesWhatIsNoSize(t *testing.T) {
	for _, text := range []string{
		"", " ", "mb", "-1", "-1mb", "+1", "1e3", "1.", ".5gb", "1.2.3", "0x10", "1/2", "1_000", "ten", "1xb", "1gbb", "1 g b",
		"0.5b", "1.0001k", "9223372036854775808", "8388608tb", "99999999999999999999tb", strings.Repeat("1", 1000), "NaN", "Inf", "1\x00mb",
	} {
		if got, err := Parse(text); !errors.Is(err, ErrSyntax) {
			t.Errorf("Parse(%q) = %d, %v; want ErrSyntax", text, got, err)
		}
	}
}

func TestStringIsReadBackToTheSameSize(t *testing.T) {
	for size, want := range map[Size]string{
		0: "0b", 1: "1b", 1000: "1000b", KB: "1kb", KB + 1: "1025b", 512 * MB: "512mb", GB + 512*MB: "1536mb", GB: "1gb", 5 * TB: "5tb", Max: "9223372036854775807b",
	} {
		if got := size.String(); got != want {
			t.Errorf("Size(%d).String() = %q; want %q", int64(size), got, want)
		}
		var back Size
		if err := back.UnmarshalText([]byte(want)); err != nil || back != size {
			t.Errorf("%q read back as %d, %v; want %d", want, back, err, size)
		}
	}
}

func TestHumanRoundsAsRedisDoes(t *testing.T) {
	for size, want := range map[Size]string{0: "0B", 1023: "1023B", KB: "1.00K", MB + MB/2: "1.50M", 3*GB + GB/4: "3.25G", 2 * TB: "2.00T", -KB: "-1.00K"} {
		if got := size.Human(); got != want {
			t.Errorf("Size(%d).Human() = %q; want %q", int64(size), got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1gb", "0.5k", "1e9", "-3", "12 MiB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		size, err := Parse(text)
		if err != nil {
			if !errors.Is(err, ErrSyntax) || size != 0 {
				t.Fatalf("Parse(%q) = %d, %v", text, size, err)
			}
			return
		}
		back, err := Parse(size.String())
		if size < 0 || err != nil || back != size {
			t.Fatalf("%q is %d and reads back as %d, %v", text, size, back, err)
		}
	})
}
