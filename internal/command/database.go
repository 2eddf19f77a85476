package command

import (
	"github.com/larder-cache/larder/internal/store"
)

// A collection costs memory, so one that was only selected is not made: until a command needs memory in it, its clients
// read from a collection that is always empty.

// selectCommand chooses the collection. A number is checked against the number of databases, as in Redis; any other text
// is the name of a collection, which need not exist.
func selectCommand(c *Client, args [][]byte) {
	if refusal := c.refuseName(args[1]); refusal != "" {
		c.fail(refusal)
		return
	}
	if db, ok := c.server.store.Lookup(string(args[1])); ok {
		c.use(db, "")
		c.ok()
		return
	}
	c.use(c.server.absent, string(args[1]))
	c.ok()
}

// use makes db the current collection; wanted is the name of the one that does not exist and for which db stands.
func (c *Client) use(db *store.Collection, wanted string) {
	if db == c.current && wanted == c.wanted {
		return
	}
	c.current, c.wanted, c.base = db, wanted, nil
	name := c.dbName()
	c.shown.db.Store(&name)
}

// dbName returns the name of the current collection.
func (c *Client) dbName() string {
	if c.wanted != "" {
		return c.wanted
	}
	return c.current.Name()
}

// arrive looks again for the collection that did not exist when it was selected, and makes it for a command that needs
// memory. It reports false after an error reply.
func (c *Client) arrive(cmd *Command) bool {
	db, ok := c.server.store.Lookup(c.wanted)
	if !ok {
		if cmd.Flags&FlagDenyOOM == 0 {
			return true
		}
		var err error
		if db, err = c.server.store.Collection(c.wanted); err != nil {
			c.failErr(err)
			return false
		}
	}
	c.use(db, "")
	return true
}

// refuseName returns the reply to a name that no collection can have, or nothing.
func (c *Client) refuseName(arg []byte) string {
	if numeric(arg) {
		n, ok := integer(arg)
		switch {
		case !ok:
			return errNotInt
		case n < 0 || n >= int64(c.server.o.Databases):
			return errDBRange
		}
	}
	if len(arg) < 1 || len(arg) > store.MaxNameBytes {
		return errName
	}
	return ""
}

// target returns the collection that an argument means, making it when it is missing and source, a key of the current
// collection, exists; nil when neither does.
func (c *Client) target(arg, source []byte) (*store.Collection, error) {
	if string(arg) == c.dbName() {
		return c.current, nil
	}
	if db, ok := c.server.store.Lookup(string(arg)); ok {
		return db, nil
	}
	if _, found := c.db().Peek(c.hash(source), source); !found {
		return nil, nil
	}
	return c.server.store.Collection(string(arg))
}

// numeric reports whether an argument can only be meant as a number.
func numeric(arg []byte) bool {
	digits := arg
	if len(digits) > 1 && digits[0] == '-' {
		digits = digits[1:]
	}
	for _, d := range digits {
		if d < '0' || d > '9' {
			return false
		}
	}
	return len(digits) > 0
}
