package command

import (
	"slices"
	"strconv"
	"time"
)

const (
	errNoClient = "ERR No such client"
	errClientID = "ERR Invalid client ID"
	errKillID   = "ERR client-id should be greater than 0"
	// maxClientText is the longest name of a connection, and of its library and that one's version, in bytes. Redis has
	// no limit there; but no other limit counts these bytes, and CLIENT LIST shows them all.
	maxClientText = 256
)

func sortClients(list []*Client) {
	slices.SortFunc(list, func(a, b *Client) int {
		if a.shown.id < b.shown.id {
			return -1
		}
		return 1
	})
}

// printable reports whether a text can stand in a line of CLIENT LIST.
func printable(text []byte) bool {
	for _, b := range text {
		if b < '!' || b > '~' {
			return false
		}
	}
	return true
}

// refuseText says what is wrong with what a client tells of itself; empty: nothing. what and verb name it at the start of
// the sentence ("Client names", "have").
func refuseText(text []byte, what, verb string) (refusal string) {
	switch {
	case len(text) > maxClientText:
		return "ERR " + what + " " + verb + " at most " + strconv.Itoa(maxClientText) + " bytes"
	case !printable(text):
		return "ERR " + what + " cannot contain spaces, newlines or special characters."
	}
	return ""
}

func refuseName(name []byte) (refusal string) { return refuseText(name, "Client names", "have") }

// setName names the connection; an empty name takes the name away.
func (c *Client) setName(name []byte) {
	if len(name) == 0 {
		c.shown.name.Store(nil)
		return
	}
	text := string(name)
	c.shown.name.Store(&text)
}

func clientSetname(c *Client, args [][]byte) {
	if refusal := refuseName(args[2]); refusal != "" {
		c.fail(refusal)
		return
	}
	c.setName(args[2])
	c.ok()
}

func clientGetname(c *Client, _ [][]byte) {
	if name := c.shown.name.Load(); name != nil {
		c.text(*name)
		return
	}
	c.null()
}

func clientID(c *Client, _ [][]byte) { c.int(int64(c.shown.id)) }

// clientSetinfo is CLIENT SETINFO LIB-NAME|LIB-VER text, which newer client libraries send first of all.
func clientSetinfo(c *Client, args [][]byte) {
	var library [2]string
	if old := c.shown.library.Load(); old != nil {
		library = *old
	}
	var field string
	var place int
	switch {
	case isWord(args[2], "LIB-NAME"):
		field, place = "lib-name", 0
	case isWord(args[2], "LIB-VER"):
		field, place = "lib-ver", 1
	default:
		c.fail("ERR Unrecognized option '" + clip(args[2], maxEchoedArgument) + "'")
		return
	}
	if refusal := refuseText(args[3], field, "has"); refusal != "" {
		c.fail(refusal)
		return
	}
	library[place] = string(args[3])
	c.shown.library.Store(&library)
	c.ok()
}

// clientReply is CLIENT REPLY ON|OFF|SKIP. Only ON is answered.
func clientReply(c *Client, args [][]byte) {
	switch {
	case isWord(args[2], "ON"):
		c.mode = replyOn
		if c.muted {
			c.unmute()
		}
		c.ok()
	case isWord(args[2], "OFF"):
		c.mode = replyOff
	case isWord(args[2], "SKIP"):
		if c.mode != replyOff {
			c.mode = replySkip
		}
	default:
		c.fail(errSyntax)
		return
	}
	c.moded = true
}

// clientNoEvict takes note for CLIENT LIST: connections are not closed to free memory, they have limits of their own.
func clientNoEvict(c *Client, args [][]byte) {
	on, ok := onOff(args[2])
	if !ok {
		c.fail(errSyntax)
		return
	}
	c.shown.noEvict.Store(on)
	c.ok()
}

// clientNoTouch changes nothing: reads leave no trace in a record.
func clientNoTouch(c *Client, args [][]byte) {
	if _, ok := onOff(args[2]); !ok {
		c.fail(errSyntax)
		return
	}
	c.ok()
}

func onOff(arg []byte) (on, ok bool) {
	on = isWord(arg, "ON")
	return on, on || isWord(arg, "OFF")
}

func clientInfo(c *Client, _ [][]byte) {
	c.show()
	c.verbatim(append(c.describe(nil, time.Now()), '\n'))
}

// clientList is CLIENT LIST [TYPE type] [ID id ...].
func clientList(c *Client, args [][]byte) {
	list := c.server.list()
	switch {
	case len(args) == 2:
	case len(args) == 4 && isWord(args[2], "TYPE"):
		normal, ok := clientType(args[3])
		if !ok {
			c.fail("ERR Unknown client type '" + clip(args[3], maxEchoedArgument) + "'")
			return
		}
		if !normal {
			list = nil
		}
	case len(args) > 3 && isWord(args[2], "ID"):
		wanted := map[uint64]bool{}
		for _, a := range args[3:] {
			id, ok := integer(a)
			if !ok {
				c.fail(errClientID)
				return
			}
			wanted[uint64(id)] = true
		}
		list = slices.DeleteFunc(list, func(other *Client) bool { return !wanted[other.shown.id] })
	default:
		c.fail(errSyntax)
		return
	}
	c.show()
	now := time.Now()
	var text []byte
	for _, other := range list {
		text = append(other.describe(text, now), '\n')
		if c.tooLong(int64(len(text))) {
			c.cut()
			return
		}
	}
	c.verbatim(text)
}

// clientType reports whether arg names the type that every connection has, and whether it names one at all.
func clientType(arg []byte) (normal, ok bool) {
	switch {
	case isWord(arg, "NORMAL"):
		return true, true
	case isWord(arg, "MASTER"), isWord(arg, "REPLICA"), isWord(arg, "SLAVE"), isWord(arg, "PUBSUB"):
		return false, true
	}
	return false, false
}

// describe appends the line of CLIENT LIST. It reads only what the client shows to all loops; the state of its buffers
// is its loop's own and appears as 0.
func (c *Client) describe(dst []byte, now time.Time) []byte {
	field := func(name, value string) {
		dst = append(append(append(dst, name...), '='), value...)
		dst = append(dst, ' ')
	}
	number := func(name string, n int64) { field(name, strconv.FormatInt(n, 10)) }
	s := &c.shown
	name := ""
	if p := s.name.Load(); p != nil {
		name = *p
	}
	var library [2]string
	if p := s.library.Load(); p != nil {
		library = *p
	}
	last := "NULL"
	if p := s.last.Load(); p != nil {
		last = p.full()
	}
	flags := "N"
	if s.noEvict.Load() {
		flags = "e"
	}
	age := int64(now.Sub(s.created) / time.Second)
	number("id", int64(s.id))
	field("addr", c.conn.RemoteAddr())
	field("laddr", c.conn.LocalAddr())
	number("fd", -1)
	field("name", name)
	number("age", age)
	number("idle", min(age, c.idleFor()))
	field("flags", flags)
	field("db", quoteName(*s.db.Load()))
	field("sub", "0")
	field("psub", "0")
	field("ssub", "0")
	field("multi", "-1")
	field("qbuf", "0")
	field("qbuf-free", "0")
	field("argv-mem", "0")
	field("multi-mem", "0")
	field("rbs", "0")
	field("rbp", "0")
	field("obl", "0")
	field("oll", "0")
	field("omem", "0")
	field("tot-mem", "0")
	field("events", "r")
	field("cmd", last)
	field("user", defaultUser)
	field("redir", "-1")
	number("resp", int64(s.proto.Load()))
	field("lib-name", library[0])
	field("lib-ver", library[1])
	return dst[:len(dst)-1]
}

// idleFor returns the seconds since the last command.
func (c *Client) idleFor() int64 {
	return max(0, c.server.clock.Now()-c.shown.active.Load()) / second
}

// quoteName makes the name of a collection fit to stand in a line of text: as it is, or quoted.
func quoteName(name string) string {
	if printable([]byte(name)) && name[0] != '"' {
		return name
	}
	return strconv.QuoteToASCII(name)
}

func clientHelp(c *Client, _ [][]byte) {
	c.lines(
		"CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"GETNAME",
		"    Reply with the name of the connection.",
		"ID",
		"    Reply with the number of the connection.",
		"INFO",
		"    Reply with the line of CLIENT LIST for this connection.",
		"KILL <ip:port>",
		"    Close the connection from <ip:port>.",
		"KILL <option> <value> [<option> <value> [...]]",
		"    Close connections. Options are:",
		"    * ADDR <ip:port>    * LADDR <ip:port>    * ID <id>    * USER <name>",
		"    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)    * SKIPME (YES|NO)",
		"LIST [TYPE (NORMAL|MASTER|REPLICA|PUBSUB) | ID <id> [<id> ...]]",
		"    Reply with a line for each connection.",
		"NO-EVICT (ON|OFF)",
		"    Mark the connection as one that is not closed to free memory; none is.",
		"NO-TOUCH (ON|OFF)",
		"    Leave the time of last access of keys alone; there is none.",
		"REPLY (ON|OFF|SKIP)",
		"    Switch replies on or off, or skip the next one.",
		"SETINFO (LIB-NAME|LIB-VER) <text>",
		"    Tell the name or version of the client library.",
		"SETNAME <name>",
		"    Name the connection.",
		"HELP",
		"    Print this text.",
	)
}
