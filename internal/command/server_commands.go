package command

import (
	"strconv"
	"time"

	"github.com/larder-cache/larder/internal/store"
)

const (
	// flushInline is the most keys that FLUSHDB removes while the loop waits: a fraction of a millisecond.
	flushInline = 4096
	// maxSleepSeconds bounds DEBUG SLEEP: a sleeper is never idle, so nothing else would end it.
	maxSleepSeconds = 3600

	errDebug      = "ERR unknown subcommand or wrong number of arguments for '"
	errNoShutdown = "ERR No shutdown in progress."
	errSleep      = "ERR DEBUG SLEEP takes 0 to 3600 seconds"
	errCannotStop = "ERR Errors trying to SHUTDOWN. Check logs."
)

func dbsizeCommand(c *Client, _ [][]byte) { c.int(int64(c.db().Len())) }

func flushdbCommand(c *Client, args [][]byte) {
	c.flushCollections(args, func() []*store.Collection { return []*store.Collection{c.current} })
}

func flushallCommand(c *Client, args [][]byte) {
	c.flushCollections(args, c.server.store.Collections)
}

// flushCollections empties collections and replies when they are empty. ASYNC and SYNC make no difference: many keys are
// removed on another goroutine while this connection alone waits.
func (c *Client) flushCollections(args [][]byte, choose func() []*store.Collection) {
	if len(args) > 2 || len(args) == 2 && !isWord(args[1], "SYNC") && !isWord(args[1], "ASYNC") {
		c.fail(errSyntax)
		return
	}
	list := choose()
	n := 0
	for _, db := range list {
		n += db.Len() + db.Buckets()/bucketsPerKey
	}
	empty := func() {
		for _, db := range list {
			db.Flush()
		}
	}
	if n <= flushInline {
		empty()
		c.ok()
		return
	}
	c.later(empty, c.ok)
}

// timeCommand replies with the seconds and the microseconds of the wall clock.
func timeCommand(c *Client, _ [][]byte) {
	us := time.Now().UnixMicro()
	var digits [maxIntegerText]byte
	c.array(2)
	c.bulk(strconv.AppendInt(digits[:0], us/1e6, 10))
	c.bulk(strconv.AppendInt(digits[:0], us%1e6, 10))
}

// debugCommand is DEBUG SLEEP seconds. The connection waits, and the commands behind this one with it; the loop serves
// others meanwhile, whereas Redis holds everybody up.
func debugCommand(c *Client, args [][]byte) {
	switch {
	case isWord(args[1], "SLEEP") && len(args) == 3:
		d, refusal := sleepTime(args[2])
		switch {
		case refusal != "":
			c.fail(refusal)
		case d == 0:
			c.ok()
		default:
			c.sleep(d, c.ok)
		}
	case isWord(args[1], "HELP") && len(args) == 2:
		c.lines(
			"DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
			"SLEEP <seconds>",
			"    Keep this connection waiting for <seconds>, at most 3600, decimals allowed.",
			"HELP",
			"    Print this text.",
		)
	default:
		c.fail(errDebug + clip(args[1], maxEchoedName) + "'. Try DEBUG HELP.")
	}
}

// sleepTime reads seconds. Redis gives them to the C function strtod unchecked and replies OK to whatever is no number, a
// negative one or too large, at once; here a mistake in a test shows instead of making a pause that is none.
func sleepTime(arg []byte) (d time.Duration, refusal string) {
	f, ok := parseFloat(arg)
	if !ok {
		return 0, errNotFloat
	}
	s, _ := f.Float64()
	if s < 0 || s > maxSleepSeconds {
		return 0, errSleep
	}
	return time.Duration(s * float64(time.Second)), ""
}

// shutdownCommand is SHUTDOWN [NOSAVE|SAVE] [NOW] [FORCE] [ABORT]. There is no reply when the server stops; the
// connection ends with it.
func shutdownCommand(c *Client, args [][]byte) {
	var save, nosave, abort, other bool
	for _, a := range args[1:] {
		switch {
		case isWord(a, "NOSAVE"):
			nosave = true
		case isWord(a, "SAVE"):
			save = true
		case isWord(a, "NOW"), isWord(a, "FORCE"):
			other = true
		case isWord(a, "ABORT"):
			abort = true
		default:
			c.fail(errSyntax)
			return
		}
	}
	switch {
	case save && nosave, abort && (save || nosave || other):
		c.fail(errSyntax)
	case abort:
		c.fail(errNoShutdown)
	case c.server.o.Shutdown == nil:
		c.fail(errCannotStop)
	default:
		c.server.log.Info("shutdown requested", "client", c.conn.RemoteAddr())
		if !c.server.shutdown.Swap(true) {
			go c.server.o.Shutdown()
		}
		c.close()
	}
}
