package hostile

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/larder-cache/larder/test/internal/raw"
	"github.com/larder-cache/larder/test/internal/server"
)

// session is a stream of commands of every shape, with binary arguments, inline
// commands, empty frames and errors that keep the connection open.
func session() []byte {
	s := []byte("*0\r\n*-1\r\n\r\n")
	s = raw.Append(s, "FLUSHALL")
	s = raw.Append(s, "SET", "a\r\nb", "\x00\xff\r\n$5\r\n")
	s = raw.Append(s, "GET", "a\r\nb")
	s = append(s, "PING\r\nSET inline 'two words'\r\nGET inline\n\r\n"...)
	s = raw.Append(s, "MSET", "", "empty", "k", strings.Repeat("v", 3000))
	s = raw.Append(s, "MGET", "", "k", "absent")
	s = raw.Append(s, "NOSUCH", "x\r\ny")
	s = raw.Append(s, "GET")
	s = raw.Append(s, "INCRBY", "n", "41")
	s = raw.Append(s, "INCR", "n")
	s = raw.Append(s, "SETRANGE", "gap", "10", "x")
	s = raw.Append(s, "GETRANGE", "k", "-5", "-1")
	s = raw.Append(s, "APPEND", "k", "w")
	s = raw.Append(s, "DEL", "k", "inline", "gap", "n", "", "a\r\nb")
	s = raw.Append(s, "DBSIZE")
	return raw.Append(s, "ECHO", "the end")
}

// theEnd is the last reply of session.
const theEnd = "$7\r\nthe end\r\n"

// converse sends a stream cut at the given positions and returns all replies.
func converse(t *testing.T, p *server.Process, stream []byte, cuts ...int) []byte {
	t.Helper()
	c := raw.Dial(t, p.Addr)
	defer c.Close()
	from := 0
	for _, cut := range append(cuts, len(stream)) {
		c.Send(stream[from:cut])
		from = cut
	}
	var got []byte
	part := make([]byte, 16<<10)
	for !bytes.HasSuffix(got, []byte(theEnd)) {
		if err := c.SetReadDeadline(time.Now().Add(raw.Patience)); err != nil {
			t.Fatal(err)
		}
		n, err := c.Read(part)
		if got = append(got, part[:n]...); err != nil {
			t.Fatalf("cut at %v: %v after %.300q", cuts, err, got)
		}
	}
	return got
}

func TestStreamsGiveTheSameRepliesForEverySplit(t *testing.T) {
	t.Parallel()
	p := server.Start(t)
	stream := session()
	whole := converse(t, p, stream)
	t.Run("byte by byte", func(t *testing.T) {
		cuts := make([]int, len(stream))
		for i := range cuts {
			cuts[i] = i
		}
		if got := converse(t, p, stream, cuts...); !bytes.Equal(got, whole) {
			t.Errorf("byte by byte %.500q, at once %.500q", got, whole)
		}
	})
	t.Run("at each position", func(t *testing.T) {
		// A cut in the long value is like its neighbours.
		for cut := 1; cut < len(stream); cut++ {
			if bytes.HasPrefix(stream[max(0, cut-20):], []byte(strings.Repeat("v", 40))) {
				continue
			}
			if got := converse(t, p, stream, cut); !bytes.Equal(got, whole) {
				t.Fatalf("cut at %d: %.500q, at once %.500q", cut, got, whole)
			}
		}
	})
	t.Run("at random positions", func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		for range 100 {
			var cuts []int
			for at := rng.IntN(60); at < len(stream); at += 1 + rng.IntN(60) {
				cuts = append(cuts, at)
			}
			if got := converse(t, p, stream, cuts...); !bytes.Equal(got, whole) {
				t.Fatalf("cut at %v: %.500q, at once %.500q", cuts, got, whole)
			}
		}
	})
	t.Run("many sessions in one write", func(t *testing.T) {
		const times = 200
		c := raw.Dial(t, p.Addr)
		go func() {
			if err := c.TrySend(bytes.Repeat(stream, times)); err != nil {
				t.Error(err)
			}
		}()
		for i := range times {
			got := make([]byte, len(whole))
			if err := c.SetReadDeadline(time.Now().Add(raw.Patience)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, whole) {
				t.Fatalf("session %d: %v, %.500q", i, err, got)
			}
		}
	})
}

// TestHalfCommandsNeverRun: connections that end within a command, in order or
// by reset, leave no trace of it.
func TestHalfCommandsNeverRun(t *testing.T) {
	t.Parallel()
	p := server.Start(t)
	by := watch(t, p)
	full := raw.Append(nil, "INCR", "whole")
	half := raw.Append(nil, "INCR", "half")
	for i := range len(half) - 1 {
		for _, reset := range []bool{false, true} {
			c := raw.Dial(t, p.Addr)
			c.Send(append(bytes.Clone(full), half[:i]...))
			if r := c.Receive(); r.Kind != ':' {
				t.Fatalf("INCR before a half command: %s", r)
			}
			if reset {
				resetOnClose(t, c)
			}
			c.Close()
		}
	}
	by.c.Want(fmt.Sprintf(`$"%d"`, 2*(len(half)-1)), "GET", "whole")
	by.c.Want(":\"0\"", "EXISTS", "half")
	by.unharmed(8 * mib)
}

// TestClientsThatVanishInAPipeline: the replies have nowhere to go.
func TestClientsThatVanishInAPipeline(t *testing.T) {
	t.Parallel()
	p := server.Start(t)
	by := watch(t, p)
	by.c.Want(`+"OK"`, "SET", "big", strings.Repeat("x", 1<<16))
	var pipeline []byte
	for range 500 {
		pipeline = raw.Append(pipeline, "GET", "big")
	}
	for range 100 {
		c := raw.Dial(t, p.Addr)
		// The server may see the end of an earlier write as an error here.
		_ = c.TrySend(pipeline)
		resetOnClose(t, c)
		c.Close()
		by.c.Want(`+"PONG"`, "PING")
	}
	by.unharmed(64 * mib)
}
