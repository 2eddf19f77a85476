package command

import (
	"github.com/larder-cache/larder/internal/index"
	"github.com/larder-cache/larder/internal/wire"
)

// replyRoom is how much a reply other than a long string needs at most; also what value asks for at first.
const replyRoom = 128

// grow returns the reply buffer with room for n more bytes.
func (c *Client) grow(n int) []byte {
	if cap(c.b)-len(c.b) >= n {
		return c.b
	}
	return c.room(n)
}

// room gives the filled buffer to the output and takes the next. Replies that CLIENT REPLY suppresses go to a buffer
// that is thrown away.
func (c *Client) room(n int) []byte {
	if c.muted {
		if cap(c.loop.waste) < n {
			c.loop.waste = make([]byte, 0, max(n, 4<<10))
		}
		c.b = c.loop.waste[:0]
		return c.b
	}
	if c.b != nil {
		c.out.SetTail(c.b)
	}
	c.b = c.out.Tail(n)
	return c.b
}

// flush hands what was replied to the output. It ends every call from the reactor.
func (c *Client) flush() {
	if c.b != nil && !c.muted {
		c.out.SetTail(c.b)
	}
	c.b = nil
}

func (c *Client) ok()               { c.b = append(c.grow(5), "+OK\r\n"...) }
func (c *Client) simple(s string)   { c.b = wire.AppendSimple(c.grow(len(s)+3), s) }
func (c *Client) int(n int64)       { c.b = wire.AppendInt(c.grow(replyRoom), n) }
func (c *Client) bulk(b []byte)     { c.b = wire.AppendBulk(c.grow(len(b)+32), b) }
func (c *Client) text(s string)     { c.b = wire.AppendBulkString(c.grow(len(s)+32), s) }
func (c *Client) null()             { c.b = wire.AppendNull(c.grow(replyRoom), c.proto) }
func (c *Client) array(n int)       { c.b = wire.AppendArray(c.grow(replyRoom), n) }
func (c *Client) set(n int)         { c.b = wire.AppendSet(c.grow(replyRoom), c.proto, n) }
func (c *Client) mapHeader(n int)   { c.b = wire.AppendMap(c.grow(replyRoom), c.proto, n) }
func (c *Client) verbatim(s []byte) { c.b = wire.AppendVerbatim(c.grow(len(s)+40), c.proto, "txt", s) }

// raw replies with bytes that are RESP already.
func (c *Client) raw(b []byte) { c.b = append(c.grow(len(b)), b...) }

// fail replies with an error; msg starts with its code ("ERR no such key").
func (c *Client) fail(msg string) {
	c.failed = true
	c.b = wire.AppendError(c.grow(len(msg)+3), msg)
}

// failErr replies with what an error of the store means to a client.
func (c *Client) failErr(err error) { c.fail(errorReply(err)) }

// value replies with the value of a key of the current collection, or null. It is copied once, from its record to the
// output.
func (c *Client) value(h uint64, key []byte) {
	db := c.db()
	const crlf = 2
	for n := replyRoom; ; {
		b := c.grow(n)
		got, info, status := db.GetInto(h, b[:len(b):cap(b)-crlf], key, wire.AppendBulkHeader)
		switch status {
		case index.Found:
			end := len(got)
			got = b[:end+crlf]
			got[end], got[end+1] = '\r', '\n'
			c.b = got
			return
		case index.Missing:
			c.null()
			return
		}
		// The value may have grown again by the next round; it has an upper limit, so the rounds end.
		n = max(2*n, info.Size+replyRoom)
	}
}
