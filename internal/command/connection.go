package command

import (
	"github.com/larder-cache/larder/internal/wire"
)

// browserQuiet is how long, in milliseconds, the log stays quiet about browsers after a line about one.
const browserQuiet = 60 * second

// pingCommand replies with PONG or with its argument.
func pingCommand(c *Client, args [][]byte) {
	switch len(args) {
	case 1:
		c.b = append(c.grow(7), "+PONG\r\n"...)
	case 2:
		c.bulk(args[1])
	default:
		c.fail("ERR wrong number of arguments for 'ping' command")
	}
}

func echoCommand(c *Client, args [][]byte) { c.bulk(args[1]) }

func quitCommand(c *Client, _ [][]byte) {
	c.ok()
	c.close()
}

// browserCommand closes the connection without a reply: a page that makes a browser post to this port must not run what
// stands in the lines of its request.
func browserCommand(c *Client, _ [][]byte) {
	s := c.server
	if now, last := s.clock.Now(), s.browserSeen.Load(); now-last >= browserQuiet && s.browserSeen.CompareAndSwap(last, now) {
		s.log.Warn("HTTP request on the Redis port, connection closed", "client", c.conn.RemoteAddr())
	}
	c.close()
}

// resetCommand makes the connection like a new one.
func resetCommand(c *Client, _ [][]byte) {
	c.use(c.server.first, "")
	c.setProto(wire.RESP2)
	c.setName(nil)
	c.trust(c.server.password.Load() == nil)
	c.mode, c.moded = replyOn, true
	if c.muted {
		c.unmute()
	}
	c.shown.noEvict.Store(false)
	c.simple("RESET")
}

// helloCommand is HELLO [version [AUTH user password] [SETNAME name]]. Nothing changes unless everything is right.
func helloCommand(c *Client, args [][]byte) {
	proto := c.proto
	if len(args) > 1 {
		n, ok := integer(args[1])
		switch {
		case !ok:
			c.fail("ERR Protocol version is not an integer or out of range")
			return
		case n < wire.RESP2 || n > wire.RESP3:
			c.fail("NOPROTO unsupported protocol version")
			return
		}
		proto = int(n)
	}
	var user, password, name []byte
	for i := 2; i < len(args); i++ {
		switch more := len(args) - 1 - i; {
		case isWord(args[i], "AUTH") && more >= 2:
			user, password = args[i+1], args[i+2]
			i += 2
		case isWord(args[i], "SETNAME") && more >= 1:
			name = args[i+1]
			i++
			if refusal := refuseName(name); refusal != "" {
				c.fail(refusal)
				return
			}
		default:
			c.fail("ERR Syntax error in HELLO option '" + clip(args[i], maxEchoedName) + "'")
			return
		}
	}
	if user != nil && !c.login(user, password) {
		c.fail(errWrongPass)
		return
	}
	if !c.trusted {
		c.fail(errHelloNoAuth)
		return
	}
	if name != nil {
		c.setName(name)
	}
	c.setProto(proto)
	c.mapHeader(7)
	c.text("server")
	c.text("redis")
	c.text("version")
	c.text(redisVersion)
	c.text("proto")
	c.int(int64(c.proto))
	c.text("id")
	c.int(int64(c.shown.id))
	c.text("mode")
	c.text("standalone")
	c.text("role")
	c.text("master")
	c.text("modules")
	c.array(0)
}

func (c *Client) setProto(proto int) {
	c.proto = proto
	c.shown.proto.Store(int32(proto))
}
