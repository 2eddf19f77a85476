package command

import (
	"math"

	"github.com/larder-cache/larder/internal/index"
)

const (
	errDecrOverflow = "ERR decrement would overflow"
	// maxIntegerText is the length of the longest int64 in decimal, its sign included.
	maxIntegerText = 20
)

func incrCommand(c *Client, args [][]byte) { c.add(args[1], 1) }
func decrCommand(c *Client, args [][]byte) { c.add(args[1], -1) }

func incrbyCommand(c *Client, args [][]byte) {
	n, ok := integer(args[2])
	if !ok {
		c.fail(errNotInt)
		return
	}
	c.add(args[1], n)
}

func decrbyCommand(c *Client, args [][]byte) {
	n, ok := integer(args[2])
	if !ok {
		c.fail(errNotInt)
		return
	}
	if n == math.MinInt64 {
		c.fail(errDecrOverflow)
		return
	}
	c.add(args[1], -n)
}

// add changes a counter and replies with its new value. The expiry stays as it is.
func (c *Client) add(key []byte, delta int64) {
	n, err := c.db().Add(c.hash(key), key, delta, 0, false)
	if err != nil {
		c.failErr(err)
		return
	}
	c.int(n)
}

// integer reads an argument that is a number: a decimal int64 without plus sign, spaces or leading zeros, the same text
// that the table takes for a counter.
func integer(b []byte) (int64, bool) { return index.ParseInt(b) }
