package differential

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/larder-cache/larder/test/internal/raw"
	"github.com/larder-cache/larder/test/internal/server"
)

// streams are byte streams whose whole answer, up to the PING that ends each or
// the closing of the connection, must be the same bytes from both servers.
var streams = map[string]string{
	"inline command":               "SET k v\r\nGET k\r\n",
	"inline with bare line feed":   "SET k v\nGET k\n",
	"inline quotes":                `SET "a b" 'c d'` + "\r\n" + `GET "a b"` + "\r\n",
	"inline escapes":               `ECHO "\x41\n\r\t\a\b\\\"\q"` + "\r\n",
	"inline single quote escapes":  `ECHO 'it\'s \n'` + "\r\n",
	"inline unbalanced double":     "ECHO \"abc\r\n",
	"inline unbalanced single":     "ECHO 'abc\r\n",
	"inline text after quote":      "ECHO \"abc\"def\r\n",
	"inline empty lines":           "\r\n\r\n\n  \r\nECHO x\r\n",
	"inline many blanks":           "   ECHO    x   \r\n",
	"inline lower case":            "echo x\r\n",
	"inline binary":                "ECHO \xff\x01\x7f\r\n",
	"empty array":                  "*0\r\n",
	"null array":                   "*-1\r\n",
	"array of negative length":     "*-5\r\n",
	"empty command name":           "*1\r\n$0\r\n\r\n",
	"array too long":               "*2147483648\r\n",
	"array just too long":          "*1048577\r\n",
	"array length no number":       "*abc\r\n",
	"array length empty":           "*\r\n",
	"array length with plus":       "*+1\r\n$4\r\nPING\r\n",
	"array length with blank":      "* 1\r\n",
	"array length with zero":       "*01\r\n$4\r\nPING\r\n",
	"bulk without dollar":          "*1\r\nPING\r\n",
	"bulk without dollar, binary":  "*1\r\n\xffPING\r\n",
	"bulk of integer":              "*1\r\n:1\r\n",
	"bulk too long":                "*1\r\n$536870913\r\n",
	"bulk of 2^63-1":               "*1\r\n$9223372036854775807\r\n",
	"bulk beyond 2^64":             "*1\r\n$18446744073709551620\r\n",
	"bulk of -1":                   "*1\r\n$-1\r\n",
	"bulk of -2":                   "*1\r\n$-2\r\n",
	"bulk length with plus":        "*1\r\n$+4\r\nPING\r\n",
	"bulk length with blank":       "*1\r\n$ 4\r\nPING\r\n",
	"bulk length with zero":        "*1\r\n$04\r\nPING\r\n",
	"bulk length no number":        "*1\r\n$x\r\n",
	"bulk length empty":            "*1\r\n$\r\n",
	"bulk in second argument":      "*2\r\n$4\r\nECHO\r\n$-3\r\n",
	"nested array":                 "*2\r\n$4\r\nECHO\r\n*1\r\n$1\r\nx\r\n",
	"array header too long":        "*" + strings.Repeat("1", 70000),
	"bulk header too long":         "*1\r\n$" + strings.Repeat("1", 70000),
	"inline too long":              strings.Repeat("a", 70000),
	"inline too long in blanks":    strings.Repeat(" ", 70000),
	"commands before an error":     "*2\r\n$4\r\nECHO\r\n$1\r\na\r\nECHO b\r\n*1\r\n$-9\r\nECHO c\r\n",
	"commands after QUIT":          "ECHO a\r\nQUIT\r\nECHO b\r\n",
	"HTTP request":                 "GET / HTTP/1.1\r\nAccept: */*\r\n\r\n",
	"HTTP post":                    "POST / HTTP/1.1\r\nHost: example.org\r\n\r\n",
	"client reply off and on":      "CLIENT REPLY OFF\r\nECHO a\r\nNOSUCH\r\nCLIENT REPLY ON\r\nECHO b\r\n",
	"client reply skip":            "CLIENT REPLY SKIP\r\nECHO a\r\nECHO b\r\n",
	"client reply skip twice":      "CLIENT REPLY SKIP\r\nCLIENT REPLY SKIP\r\nECHO a\r\nECHO b\r\n",
	"client reply skip while off":  "CLIENT REPLY OFF\r\nCLIENT REPLY SKIP\r\nECHO a\r\nECHO b\r\nCLIENT REPLY ON\r\n",
	"hello with replies off":       "CLIENT REPLY OFF\r\nHELLO 3\r\nCLIENT REPLY ON\r\nGET absent\r\n",
	"arguments with CR LF":         "*3\r\n$3\r\nSET\r\n$2\r\n\r\n\r\n$4\r\na\r\nb\r\n*2\r\n$3\r\nGET\r\n$2\r\n\r\n\r\n",
	"error text never breaks line": "*2\r\n$4\r\nX\r\nY\r\n$4\r\n\r\n+O\r\n",
}

// ending closes every stream of whole lines; both servers answer it or have
// closed before. A stream that ends within a line must make them close.
const ending = "*1\r\n$4\r\nPING\r\n"

func TestByteStreamsGetTheSameAnswer(t *testing.T) {
	t.Parallel()
	larder, redis := servers(t)
	for name, stream := range streams {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.HasSuffix(stream, "\n") {
				stream += ending
			}
			want := answer(t, redis.Addr, []byte(stream), len(stream))
			if other, ok := wireDifferences[name]; ok && !server.UnderTestIsRedis() {
				want = []byte(other)
			}
			for _, chunk := range []int{len(stream), 1} {
				if chunk == 1 && len(stream) > 1000 {
					chunk = 997
				}
				if got := answer(t, larder.Addr, []byte(stream), chunk); !bytes.Equal(got, want) {
					t.Errorf("in pieces of %d bytes:\n  larder %.300q\n  redis  %.300q", chunk, got, want)
				}
			}
		})
	}
}

// answer sends a stream in pieces and returns everything that comes back until
// the server closes, or until the answer to ending, which is the last reply.
func answer(t *testing.T, addr string, stream []byte, chunk int) []byte {
	t.Helper()
	c := raw.Dial(t, addr)
	defer c.Close()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for len(stream) > 0 {
			n := min(chunk, len(stream))
			// A server that closed meanwhile makes this fail, as it should.
			if c.TrySend(stream[:n]) != nil {
				return
			}
			stream = stream[n:]
		}
	}()
	defer func() { <-sent }()
	var got []byte
	part := make([]byte, 4096)
	for !bytes.HasSuffix(got, []byte("+PONG\r\n")) {
		if err := c.SetReadDeadline(time.Now().Add(raw.Patience)); err != nil {
			t.Fatal(err)
		}
		n, err := c.Read(part)
		got = append(got, part[:n]...)
		if err == io.EOF || n == 0 && isReset(err) {
			return append(got, "(closed)"...)
		}
		if err != nil {
			t.Fatalf("after %.300q: %v", got, fmt.Errorf("reading from %s: %w", addr, err))
		}
	}
	return got
}
