package wire

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// parseAll reads a stream that arrives in the given pieces and returns a line for each thing that Parse found, in the
// form of testdata.
func parseAll(trusted bool, pieces ...[]byte) (lines []string) {
	var p Parser
	p.SetAuthenticated(trusted)
	var in []byte
	for _, piece := range pieces {
		// The bytes move with every piece: nothing may point into the buffer of the last call.
		in = append(append(make([]byte, 0, len(in)+len(piece)), in...), piece...)
		for {
			args, n, err := p.Parse(nil, in)
			if err != nil {
				return append(lines, "! "+err.Error())
			}
			if n == 0 {
				if need := p.Need(); need != 0 && need <= len(in) {
					return append(lines, fmt.Sprintf("needs %d of %d", need, len(in)))
				}
				break
			}
			line := "="
			for _, a := range args {
				line += " " + strconv.Quote(string(a))
			}
			lines = append(lines, line)
			in = in[n:]
		}
	}
	if len(in) > 0 {
		lines = append(lines, "~")
	}
	return lines
}

// requote writes the arguments of a line of testdata as strconv.Quote does.
func requote(t *testing.T, line string) string {
	if !strings.HasPrefix(line, "= ") {
		return line
	}
	out := "="
	for rest := line[2:]; rest != ""; rest = strings.TrimLeft(rest, " ") {
		prefix, err := strconv.QuotedPrefix(rest)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		text, _ := strconv.Unquote(prefix)
		out += " " + strconv.Quote(text)
		rest = rest[len(prefix):]
	}
	return out
}

func golden(t *testing.T) (streams []string, want [][]string) {
	text, err := os.ReadFile("testdata/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		switch {
		case line == "", line[0] == '#':
		case line[0] == '"':
			stream, err := strconv.Unquote(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			streams, want = append(streams, stream), append(want, nil)
		default:
			want[len(want)-1] = append(want[len(want)-1], requote(t, line))
		}
	}
	return streams, want
}

func TestParserReadsWhatRedisReads(t *testing.T) {
	streams, want := golden(t)
	for i, stream := range streams {
		got := parseAll(true, []byte(stream))
		if strings.Join(got, "\n") != strings.Join(want[i], "\n") {
			t.Errorf("%q\ngot  %s\nwant %s", stream, got, want[i])
		}
	}
}

func TestEverySplitGivesTheSameCommands(t *testing.T) {
	streams, want := golden(t)
	for i, stream := range streams {
		// The mistake may be seen before the last byte is there: then nothing more is read.
		expect := strings.Join(want[i], "\n")
		for cut := range len(stream) + 1 {
			got := strings.Join(parseAll(true, []byte(stream[:cut]), []byte(stream[cut:])), "\n")
			if got != expect {
				t.Errorf("%q cut at %d\ngot  %s\nwant %s", stream, cut, got, expect)
			}
		}
		var bytewise [][]byte
		for k := range len(stream) {
			bytewise = append(bytewise, []byte{stream[k]})
		}
		if got := strings.Join(parseAll(true, bytewise...), "\n"); got != expect {
			t.Errorf("%q byte by byte\ngot  %s\nwant %s", stream, got, expect)
		}
	}
}

func TestStrangerMaySendLittle(t *testing.T) {
	arg := func(n int) string { return fmt.Sprintf("$%d\r\n%s\r\n", n, strings.Repeat("x", n)) }
	for _, tc := range []struct {
		stream string
		err    error
	}{
		{"*10\r\n" + strings.Repeat(arg(StrangerMaxBulk), 10), nil},
		{"*11\r\n", ErrStrangerArgs},
		{"*1\r\n$16385\r\n", ErrStrangerBulk},
		{"*1\r\n$99999999999999999999\r\n", ErrBulkLength},
		{"*1048577\r\n", ErrMultibulkLength},
		{strings.Repeat("x ", StrangerMaxArgs) + "\r\n", nil},
		{strings.Repeat("x ", StrangerMaxArgs+1) + "\r\n", ErrStrangerArgs},
		{strings.Repeat("x", StrangerMaxBulk-1) + "\n", nil},
		{strings.Repeat("x", StrangerMaxBulk), ErrInlineLength},
	} {
		var p Parser
		_, n, err := p.Parse(nil, []byte(tc.stream))
		if !errors.Is(err, tc.err) || err == nil && n != len(tc.stream) {
			t.Errorf("%.20q: %d, %v, want %v", tc.stream, n, err, tc.err)
		}
	}
}

func TestInlineCommandHasAnEnd(t *testing.T) {
	for _, split := range []int{1, 1000, MaxInline - 1, MaxInline, MaxInline + 100} {
		long := bytes.Repeat([]byte("x"), MaxInline+100)
		if got := parseAll(true, long[:split], long[split:]); got[0] != "! "+ErrInlineLength.Error() {
			t.Errorf("split at %d: %.60s", split, got)
		}
	}
	longest := append(bytes.Repeat([]byte("x"), MaxInline-1), '\n')
	if got := parseAll(true, longest); len(got) != 1 || got[0][0] != '=' {
		t.Errorf("longest line: %.60s", got)
	}
}

func TestMaxBulkIsAnOption(t *testing.T) {
	var p Parser
	p.SetAuthenticated(true)
	p.SetMaxBulk(5)
	if _, _, err := p.Parse(nil, []byte("*1\r\n$6\r\n")); !errors.Is(err, ErrBulkLength) {
		t.Error(err)
	}
	p.Reset()
	if _, n, err := p.Parse(nil, []byte("*1\r\n$5\r\nhello\r\n")); n != 15 || err != nil {
		t.Error(n, err)
	}
}

func TestAnnouncedLengthAllocatesNothing(t *testing.T) {
	var p Parser
	p.SetAuthenticated(true)
	args := make([][]byte, 0, 4)
	for _, stream := range []string{"*1048576\r\n", "*1048576\r\n$536870912\r\n", "*1\r\n$536870912\r\nabc"} {
		in := []byte(stream)
		if n := testing.AllocsPerRun(100, func() {
			p.Reset()
			if _, n, err := p.Parse(args, in); n != 0 || err != nil {
				t.Fatal(n, err)
			}
		}); n != 0 {
			t.Errorf("%q: %v allocations", stream, n)
		}
	}
}

func TestNeedIsTheEndOfTheArgument(t *testing.T) {
	var p Parser
	p.SetAuthenticated(true)
	stream := "*2\r\n$3\r\nGET\r\n$1000\r\n"
	if _, _, _ = p.Parse(nil, []byte(stream)); p.Need() != len(stream)+1002 {
		t.Errorf("need %d, want %d", p.Need(), len(stream)+1002)
	}
	whole := []byte(stream + strings.Repeat("v", 1000) + "\r\n")
	args, n, err := p.Parse(nil, whole)
	if n != len(whole) || err != nil || len(args) != 2 || p.Need() != 0 {
		t.Error(len(args), n, err, p.Need())
	}
}

func TestCommandOfManyPiecesCostsEachArgumentOnce(t *testing.T) {
	const count = 20_000
	stream := []byte(fmt.Sprintf("*%d\r\n", count))
	for i := range count {
		stream = fmt.Appendf(stream, "$5\r\n%05d\r\n", i)
	}
	var p Parser
	p.SetAuthenticated(true)
	for n := 0; n < len(stream); n += 7 {
		if args, used, err := p.Parse(nil, stream[:n]); len(args) != 0 || used != 0 || err != nil {
			t.Fatal(n, len(args), used, err)
		}
	}
	args, used, err := p.Parse(nil, stream)
	if len(args) != count || used != len(stream) || err != nil {
		t.Fatal(len(args), used, err)
	}
	for i, a := range args {
		if string(a) != fmt.Sprintf("%05d", i) {
			t.Fatalf("argument %d is %q", i, a)
		}
	}
	if cap(p.spans) > keepSpans {
		t.Errorf("keeps room for %d arguments", cap(p.spans))
	}
}

func TestWholeCommandsAllocateNothing(t *testing.T) {
	var p Parser
	p.SetAuthenticated(true)
	args := make([][]byte, 0, 16)
	in := []byte("*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\nGET key\r\n*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n")
	if n := testing.AllocsPerRun(100, func() {
		for rest := in; len(rest) > 0; {
			_, n, err := p.Parse(args, rest)
			if n == 0 || err != nil {
				t.Fatal(n, err)
			}
			rest = rest[n:]
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestResetForgetsTheUnfinishedCommand(t *testing.T) {
	for _, start := range []string{"*2\r\n$3\r\nGET\r\n$3\r\n", "PIN", "*2"} {
		var p Parser
		_, _, _ = p.Parse(nil, []byte(start))
		p.Reset()
		args, n, err := p.Parse(nil, []byte("*1\r\n$4\r\nPING\r\n"))
		if len(args) != 1 || n != 14 || err != nil {
			t.Errorf("after %q: %q, %d, %v", start, args, n, err)
		}
	}
}

func FuzzParserSplits(f *testing.F) {
	text, err := os.ReadFile("testdata/commands.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if stream, err := strconv.Unquote(line); err == nil {
			f.Add([]byte(stream), uint16(3), uint16(9), true)
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, a, b uint16, trusted bool) {
		if len(stream) > 4<<10 {
			return
		}
		want := strings.Join(parseAll(trusted, stream), "\n")
		i := int(a) % (len(stream) + 1)
		k := i + int(b)%(len(stream)-i+1)
		if got := strings.Join(parseAll(trusted, stream[:i], stream[i:k], stream[k:]), "\n"); got != want {
			t.Errorf("%q cut at %d and %d\ngot  %s\nwant %s", stream, i, k, got, want)
		}
		if len(stream) > 256 {
			return
		}
		pieces := make([][]byte, len(stream))
		for n := range stream {
			pieces[n] = stream[n : n+1]
		}
		if got := strings.Join(parseAll(trusted, pieces...), "\n"); got != want {
			t.Errorf("%q byte by byte\ngot  %s\nwant %s", stream, got, want)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, bench := range []struct{ name, one string }{
		{"command=GET", "*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000001\r\n"},
		{"command=SET", "*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000001\r\n$256\r\n" + strings.Repeat("v", 256) + "\r\n"},
		{"command=inline", "GET key:000000000001\r\n"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			const batch = 64
			stream := []byte(strings.Repeat(bench.one, batch))
			args := make([][]byte, 0, 4)
			var p Parser
			p.SetAuthenticated(true)
			b.SetBytes(int64(len(bench.one)))
			b.ReportAllocs()
			at := 0
			for b.Loop() {
				if at == len(stream) {
					at = 0
				}
				_, n, err := p.Parse(args[:0], stream[at:])
				if n == 0 || err != nil {
					b.Fatal(n, err)
				}
				at += n
			}
		})
	}
}
