package wire

import (
	"math"
	"strings"
	"testing"
)

func TestRepliesInBothVersions(t *testing.T) {
	for _, tc := range []struct {
		name         string
		write        func(dst []byte, proto int) []byte
		resp2, resp3 string
	}{
		{"null", AppendNull, "$-1\r\n", "_\r\n"},
		{"null array", AppendNullArray, "*-1\r\n", "_\r\n"},
		{"map", func(b []byte, p int) []byte { return AppendMap(b, p, 3) }, "*6\r\n", "%3\r\n"},
		{"set", func(b []byte, p int) []byte { return AppendSet(b, p, 3) }, "*3\r\n", "~3\r\n"},
		{"push", func(b []byte, p int) []byte { return AppendPush(b, p, 3) }, "*3\r\n", ">3\r\n"},
		{"true", func(b []byte, p int) []byte { return AppendBool(b, p, true) }, ":1\r\n", "#t\r\n"},
		{"false", func(b []byte, p int) []byte { return AppendBool(b, p, false) }, ":0\r\n", "#f\r\n"},
		{"double", func(b []byte, p int) []byte { return AppendDouble(b, p, 1.5) }, "$3\r\n1.5\r\n", ",1.5\r\n"},
		{"whole double", func(b []byte, p int) []byte { return AppendDouble(b, p, -3) }, "$2\r\n-3\r\n", ",-3\r\n"},
		{"inf", func(b []byte, p int) []byte { return AppendDouble(b, p, math.Inf(1)) }, "$3\r\ninf\r\n", ",inf\r\n"},
		{"-inf", func(b []byte, p int) []byte { return AppendDouble(b, p, math.Inf(-1)) }, "$4\r\n-inf\r\n", ",-inf\r\n"},
		{"nan", func(b []byte, p int) []byte { return AppendDouble(b, p, math.NaN()) }, "$3\r\nnan\r\n", ",nan\r\n"},
		{
			"verbatim", func(b []byte, p int) []byte { return AppendVerbatim(b, p, "txt", []byte("a\nb")) },
			"$3\r\na\nb\r\n", "=7\r\ntxt:a\nb\r\n",
		},
	} {
		if got := string(tc.write(nil, RESP2)); got != tc.resp2 {
			t.Errorf("%s in RESP2: %q, want %q", tc.name, got, tc.resp2)
		}
		if got := string(tc.write(nil, RESP3)); got != tc.resp3 {
			t.Errorf("%s in RESP3: %q, want %q", tc.name, got, tc.resp3)
		}
	}
}

func TestRepliesOfOneForm(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{string(AppendSimple(nil, "OK")), "+OK\r\n"},
		{string(AppendError(nil, "ERR no such key")), "-ERR no such key\r\n"},
		{string(AppendInt(nil, 0)), ":0\r\n"},
		{string(AppendInt(nil, 9)), ":9\r\n"},
		{string(AppendInt(nil, 10)), ":10\r\n"},
		{string(AppendInt(nil, -1)), ":-1\r\n"},
		{string(AppendInt(nil, math.MinInt64)), ":-9223372036854775808\r\n"},
		{string(AppendInt(nil, math.MaxInt64)), ":9223372036854775807\r\n"},
		{string(AppendBulk(nil, nil)), "$0\r\n\r\n"},
		{string(AppendBulk(nil, []byte("a\r\n\x00"))), "$4\r\na\r\n\x00\r\n"},
		{string(AppendBulkString(nil, "abc")), "$3\r\nabc\r\n"},
		{string(AppendArray(nil, 0)), "*0\r\n"},
		{string(AppendArray(nil, 1048576)), "*1048576\r\n"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
}

func TestBulkHeadersOfEveryLength(t *testing.T) {
	for n := 0; n < 12_000; n++ {
		in := append(AppendBulkHeader([]byte("*1\r\n"), n), strings.Repeat("x", n)+"\r\n"...)
		p := Parser{trusted: true}
		args, used, err := p.Parse(nil, in)
		if err != nil || used != len(in) || len(args) != 1 || len(args[0]) != n {
			t.Fatal(n, used, err)
		}
	}
	if got := string(AppendBulkHeader(nil, math.MaxInt)); len(got) > 22 {
		t.Errorf("%q has %d bytes", got, len(got))
	}
}

func TestTextNeverCarriesALineEnd(t *testing.T) {
	if got := string(AppendError(nil, "ERR a\r\nb\nc\rd")); got != "-ERR a  b c d\r\n" {
		t.Errorf("%q", got)
	}
	if got := string(AppendSimple(nil, "a\r\n+OK")); got != "+a  +OK\r\n" {
		t.Errorf("%q", got)
	}
}
