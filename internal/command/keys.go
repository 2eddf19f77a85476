package command

import (
	"github.com/larder-cache/larder/internal/index"
	"github.com/larder-cache/larder/internal/store"
)

const (
	errNoKey      = "ERR no such key"
	errSameObject = "ERR source and destination objects are the same"
)

// delCommand serves DEL and UNLINK: freeing a value is as cheap as anything here, so there is nothing to put off.
func delCommand(c *Client, args [][]byte) {
	var n int64
	c.each(args[1:], 1, func(db *store.Collection, h uint64, group [][]byte) {
		if db.Delete(h, group[0]) {
			n++
		}
	})
	c.int(n)
}

// existsCommand serves EXISTS and TOUCH. A key named twice counts twice.
func existsCommand(c *Client, args [][]byte) {
	var n int64
	c.each(args[1:], 1, func(db *store.Collection, h uint64, group [][]byte) {
		if _, found := db.Probe(h, group[0]); found {
			n++
		}
	})
	c.int(n)
}

func typeCommand(c *Client, args [][]byte) {
	if _, found := c.db().Peek(c.hash(args[1]), args[1]); found {
		c.simple("string")
	} else {
		c.simple("none")
	}
}

func renameCommand(c *Client, args [][]byte) {
	found, _, err := c.rename(args[1:3], true)
	switch {
	case err != nil:
		c.failErr(err)
	case !found:
		c.fail(errNoKey)
	default:
		c.ok()
	}
}

func renamenxCommand(c *Client, args [][]byte) {
	found, done, err := c.rename(args[1:3], false)
	if err == nil && !found {
		c.fail(errNoKey)
		return
	}
	c.changed(done, err)
}

// rename moves the value and expiry of keys[0] to keys[1] in one step. The new record is written before the old one is
// removed: when memory is short nothing is lost.
func (c *Client) rename(keys [][]byte, replace bool) (found, done bool, err error) {
	g := c.guard(keys, 1)
	defer g.Unlock()
	if !g.Txn(0).Found() {
		return false, false, nil
	}
	if string(keys[0]) == string(keys[1]) {
		return true, replace, nil
	}
	if !replace && g.Txn(1).Found() {
		return true, false, nil
	}
	if err := c.copyRecord(g); err != nil {
		return true, false, err
	}
	g.Txn(0).Delete()
	return true, true, nil
}

// copyRecord stores the value and expiry of the guard's first key, which exists, under its second. A counter stays one.
func (c *Client) copyRecord(g *index.Guard) error {
	from := g.Txn(0)
	info := from.Meta()
	if info.Flags&index.FlagInteger != 0 {
		n, err := from.Int()
		if err != nil {
			return err
		}
		return g.Txn(1).PutInt(n, info.ExpireAt, 0)
	}
	b := from.Append(c.scratch())
	err := g.Txn(1).Put(b, info.ExpireAt, 0)
	c.keepScratch(b)
	return err
}

// copyCommand copies a value and its expiry to another key, in this collection or another.
func copyCommand(c *Client, args [][]byte) {
	db, replace := []byte(c.dbName()), false
	for i := 3; i < len(args); i++ {
		switch {
		case isWord(args[i], "REPLACE"):
			replace = true
		case isWord(args[i], "DB") && i+1 < len(args):
			i++
			if refusal := c.refuseName(args[i]); refusal != "" {
				c.fail(refusal)
				return
			}
			db = args[i]
		default:
			c.fail(errSyntax)
			return
		}
	}
	if string(db) == c.dbName() && string(args[1]) == string(args[2]) {
		c.fail(errSameObject)
		return
	}
	c.changed(c.copyTo(db, args[1], args[2], replace, false))
}

// moveCommand moves a key to another collection, where it must be absent.
func moveCommand(c *Client, args [][]byte) {
	refusal := c.refuseName(args[2])
	switch {
	case refusal != "":
		c.fail(refusal)
	case string(args[2]) == c.dbName():
		c.fail(errSameObject)
	default:
		c.changed(c.copyTo(args[2], args[1], args[1], false, true))
	}
}

// copyTo copies a key of the current collection to a key of the one named db, or moves it there. done is false when the
// source is absent or the target present and not to be replaced.
func (c *Client) copyTo(db, source, target []byte, replace, move bool) (done bool, err error) {
	to, err := c.target(db, source)
	if to == nil {
		return false, err
	}
	g := &c.loop.guard
	g.Add(c.db().Table, c.hash(source), source)
	g.Add(to.Table, to.Hash(target), target)
	g.Lock()
	defer g.Unlock()
	if !g.Txn(0).Found() || !replace && g.Txn(1).Found() {
		return false, nil
	}
	if err := c.copyRecord(g); err != nil {
		return false, err
	}
	if move {
		g.Txn(0).Delete()
	}
	return true, nil
}

func randomkeyCommand(c *Client, _ [][]byte) {
	b, found := c.db().Random(c.scratch())
	if !found {
		c.null()
		return
	}
	c.bulk(b)
	c.keepScratch(b)
}
