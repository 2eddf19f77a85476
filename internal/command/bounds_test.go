package command

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// maxErrorLine is above every error text: the longest echo of a client's bytes, twice, and the words around it.
const maxErrorLine = 512

func TestWhatAClientTellsOfItselfIsBounded(t *testing.T) {
	server := newRigServer(t, Options{})
	r := dial(t, server)
	most, more := strings.Repeat("n", maxClientText), strings.Repeat("n", maxClientText+1)
	for line, refusal := range map[string]string{
		"CLIENT SETNAME %s":          "-ERR Client names have at most 256 bytes",
		"HELLO 2 SETNAME %s":         "-ERR Client names have at most 256 bytes",
		"CLIENT SETINFO LIB-NAME %s": "-ERR lib-name has at most 256 bytes",
		"CLIENT SETINFO LIB-VER %s":  "-ERR lib-ver has at most 256 bytes",
	} {
		if got := r.do(fmt.Sprintf(line, most)); got[0] == '-' {
			t.Errorf("%s at the limit: %s", line, got)
		}
		before := r.do("CLIENT INFO")
		r.expect(fmt.Sprintf(line, more), refusal)
		if after := r.do("CLIENT INFO"); strings.Count(after, "n") != strings.Count(before, "n") {
			t.Errorf("%s above the limit took effect", line)
		}
	}
	// The longest name of a collection quotes to four bytes each.
	r.do(`SELECT "` + strings.Repeat(`\x00`, 255) + `"`)
	if got := len(r.send(pipeline(t, "CLIENT LIST"))); got > 3*maxClientText+4*255+1024 {
		t.Errorf("the line of one client has %d bytes", got)
	}
}

// TestErrorTextsAreOneShortLine puts bytes of an enemy in the place of every argument of every command.
func TestErrorTextsAreOneShortLine(t *testing.T) {
	server := newRigServer(t, Options{Databases: 1})
	enemies := [][]byte{
		bytes.Repeat([]byte("\r\n-ERR forged\r\n"), 100), bytes.Repeat([]byte("x"), 1000), []byte("a\r\nb\r\n"), []byte("\x00\r\n"), {},
	}
	plain := []byte("1")
	check := func(args [][]byte) {
		r := dial(t, server)
		defer server.disconnect(r.client)
		reply := r.send(encode(args))
		if len(reply) == 0 || reply[0] != '-' {
			return
		}
		line, rest, _ := bytes.Cut(reply, []byte("\r\n"))
		if len(line) > maxErrorLine || bytes.ContainsAny(line, "\r\n\x00") || len(rest) > 0 {
			t.Errorf("%.20q: %d bytes of error %.80q, then %.20q", args, len(line), line, rest)
		}
	}
	words := []string{"EX", "DB", "MATCH", "COUNT", "ID", "TYPE", "USER", "LIB-NAME", "timeout", "maxmemory", "loglevel", "SETNAME", "SLEEP", "FILTERBY", "AUTH"}
	for _, cmd := range rows {
		var name [][]byte
		if cmd.parent != nil {
			name = append(name, []byte(cmd.parent.Name))
		}
		name = append(name, []byte(cmd.Name))
		if cmd.Name == "shutdown" {
			continue
		}
		for _, enemy := range enemies {
			for extra := range 5 {
				for place := range extra {
					args := append([][]byte{}, name...)
					for i := range extra {
						if i == place {
							args = append(args, enemy)
						} else {
							args = append(args, plain)
						}
					}
					check(args)
					for _, word := range words {
						if place > 0 {
							args[len(name)+place-1] = []byte(word)
							check(args)
						}
					}
				}
			}
		}
	}
	for _, enemy := range enemies {
		check([][]byte{enemy, enemy, enemy})
	}
}
