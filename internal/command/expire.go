package command

import (
	"bytes"
	"math"
)

// Units of times on the wire, in milliseconds.
const (
	millisecond = 1
	second      = 1000
)

// What TTL and EXPIRETIME reply for a key that is absent, and for one without expiry.
const (
	ttlMissing = -2
	ttlNone    = -1
)

const (
	errExpireNX   = "ERR NX and XX, GT or LT options at the same time are not compatible"
	errExpireGTLT = "ERR GT and LT options at the same time are not compatible"
)

// deadline returns base plus n units in milliseconds, or false when that is no int64.
func deadline(n, unit, base int64) (at int64, ok bool) {
	if n > math.MaxInt64/unit || n < math.MinInt64/unit {
		return 0, false
	}
	n *= unit
	if n > math.MaxInt64-base {
		return 0, false
	}
	return n + base, true
}

// roundSeconds turns milliseconds, not negative, into the nearest second.
func roundSeconds(ms int64) int64 {
	s := ms / second
	if ms%second >= second/2 {
		s++
	}
	return s
}

func ttlCommand(c *Client, args [][]byte) {
	if at := c.expiry(args[1]); at > 0 {
		c.int(roundSeconds(max(0, at-c.now())))
	} else {
		c.int(at)
	}
}

func pttlCommand(c *Client, args [][]byte) {
	if at := c.expiry(args[1]); at > 0 {
		c.int(max(0, at-c.now()))
	} else {
		c.int(at)
	}
}

func expiretimeCommand(c *Client, args [][]byte) {
	if at := c.expiry(args[1]); at > 0 {
		c.int(roundSeconds(at))
	} else {
		c.int(at)
	}
}

func pexpiretimeCommand(c *Client, args [][]byte) { c.int(c.expiry(args[1])) }

// expiry returns when the key expires, ttlNone or ttlMissing.
func (c *Client) expiry(key []byte) int64 {
	info, found := c.db().Peek(c.hash(key), key)
	switch {
	case !found:
		return ttlMissing
	case info.ExpireAt == 0:
		return ttlNone
	}
	return info.ExpireAt
}

// expireCall is what distinguishes the four commands that set an expiry.
type expireCall struct {
	unit     int64
	absolute bool
	invalid  string // the refusal of a time out of range
}

var (
	expireSeconds   = expireCall{second, false, "ERR invalid expire time in 'expire' command"}
	expireMillis    = expireCall{millisecond, false, "ERR invalid expire time in 'pexpire' command"}
	expireAtSeconds = expireCall{second, true, "ERR invalid expire time in 'expireat' command"}
	expireAtMillis  = expireCall{millisecond, true, "ERR invalid expire time in 'pexpireat' command"}
)

func expireCommand(c *Client, args [][]byte)    { c.expire(args, &expireSeconds) }
func pexpireCommand(c *Client, args [][]byte)   { c.expire(args, &expireMillis) }
func expireatCommand(c *Client, args [][]byte)  { c.expire(args, &expireAtSeconds) }
func pexpireatCommand(c *Client, args [][]byte) { c.expire(args, &expireAtMillis) }

// expire sets a key's deadline when its condition holds and replies 1, else 0. A deadline that has passed deletes the
// key and replies 1 too.
func (c *Client) expire(args [][]byte, call *expireCall) {
	when, ok := c.expireConditions(args[3:])
	if !ok {
		return
	}
	n, ok := integer(args[2])
	if !ok {
		c.fail(errNotInt)
		return
	}
	now := c.now()
	base := now
	if call.absolute {
		base = 0
	}
	at, ok := deadline(n, call.unit, base)
	if !ok {
		c.fail(call.invalid)
		return
	}
	x := c.db().Lock(c.hash(args[1]), args[1])
	done := x.Found() && when.hold(x.Meta().ExpireAt, at)
	var err error
	switch {
	case !done:
	case at <= now:
		x.Delete()
	default:
		err = x.SetExpire(at)
	}
	x.Unlock()
	c.changed(done, err)
}

// expireConditions is a set of the words NX, XX, GT and LT.
type expireConditions uint8

const (
	expireNX expireConditions = 1 << iota
	expireXX
	expireGT
	expireLT
)

// expireConditions reads the words; false means that the refusal has been replied.
func (c *Client) expireConditions(words [][]byte) (when expireConditions, ok bool) {
	for _, w := range words {
		switch {
		case isWord(w, "NX"):
			when |= expireNX
		case isWord(w, "XX"):
			when |= expireXX
		case isWord(w, "GT"):
			when |= expireGT
		case isWord(w, "LT"):
			when |= expireLT
		default:
			c.fail("ERR Unsupported option " + clip(bytes.TrimRight(w, "\r\n"), maxEchoedArgument))
			return 0, false
		}
	}
	switch {
	case when&expireNX != 0 && when != expireNX:
		c.fail(errExpireNX)
	case when&expireGT != 0 && when&expireLT != 0:
		c.fail(errExpireGTLT)
	default:
		return when, true
	}
	return 0, false
}

// hold reports whether a deadline may replace the current one, which is 0 when there is none. No expiry counts as later
// than every deadline.
func (when expireConditions) hold(current, at int64) bool {
	if current == 0 {
		return when&(expireXX|expireGT) == 0
	}
	return when&expireNX == 0 &&
		(when&expireGT == 0 || at > current) &&
		(when&expireLT == 0 || at < current)
}

// persistCommand removes the expiry and replies 1, or 0 when there is no key or no expiry.
func persistCommand(c *Client, args [][]byte) {
	x := c.db().Lock(c.hash(args[1]), args[1])
	done := x.Found() && x.Meta().ExpireAt != 0
	var err error
	if done {
		err = x.SetExpire(0)
	}
	x.Unlock()
	c.changed(done, err)
}
