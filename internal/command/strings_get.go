package command

import (
	"github.com/larder-cache/larder/internal/store"
)

// touchAhead is how many keys of one command are hashed and touched before the first is read, so that their cache misses
// overlap. More would only push the first buckets out of the nearest cache again.
const touchAhead = 16

// getCommand replies with the value, copied once, from the table into the output.
func getCommand(c *Client, args [][]byte) {
	c.value(c.hash(args[1]), args[1])
}

// mgetCommand replies with an array of values. Each is read by itself, without a lock: keys written together by MSET on
// another loop at the same time may be met half old, half new.
func mgetCommand(c *Client, args [][]byte) {
	c.array(len(args) - 1)
	c.each(args[1:], 1, func(_ *store.Collection, h uint64, pair [][]byte) {
		if !c.excessive() {
			c.value(h, pair[0])
		}
	})
}

// each calls fn for every step-th argument of args, a key, with the key and the arguments that follow it. The buckets
// of touchAhead keys are brought into the cache before the first of them is used.
func (c *Client) each(args [][]byte, step int, fn func(db *store.Collection, h uint64, group [][]byte)) {
	db := c.db()
	if len(args) == step {
		fn(db, c.hash(args[0]), args)
		return
	}
	var hashes [touchAhead]uint64
	for len(args) > 0 {
		n := 0
		for i := 0; i < len(args) && n < touchAhead; i += step {
			hashes[n] = db.Hash(args[i])
			db.Prefetch(hashes[n])
			n++
		}
		for i := range n {
			fn(db, hashes[i], args[i*step:(i+1)*step])
		}
		args = args[n*step:]
	}
}

func strlenCommand(c *Client, args [][]byte) {
	info, found := c.db().Probe(c.hash(args[1]), args[1])
	if !found {
		info.Size = 0
	}
	c.int(int64(info.Size))
}

// getrangeCommand serves GETRANGE and SUBSTR: both ends inclusive, negative ones count from the end of the value and stop
// at its first byte.
func getrangeCommand(c *Client, args [][]byte) {
	from, ok := integer(args[2])
	to, ok2 := integer(args[3])
	if !ok || !ok2 {
		c.fail(errNotInt)
		return
	}
	if from < 0 && to < 0 && from > to {
		c.bulk(nil)
		return
	}
	b, _, _ := c.db().GetRange(c.hash(args[1]), c.scratch(), args[1], from, to)
	c.bulk(b)
	c.keepScratch(b)
}

// getdelCommand replies with the value and removes the key in one step.
func getdelCommand(c *Client, args [][]byte) {
	x := c.db().Lock(c.hash(args[1]), args[1])
	found := x.Found()
	var b []byte
	if found {
		b = x.Append(c.scratch())
		x.Delete()
	}
	x.Unlock()
	if !found {
		c.null()
		return
	}
	c.bulk(b)
	c.keepScratch(b)
}

// getexCommand replies with the value and changes its expiry in one step. Without options it is GET. As in Redis, a missing
// key answers null before the time is looked at, and a deadline that has passed deletes the key.
func getexCommand(c *Client, args [][]byte) {
	o, ok := parseStringOptions(args[2:], optionsOfGetex)
	if !ok {
		c.fail(errSyntax)
		return
	}
	if !o.timed() && !o.has(optPersist) {
		getCommand(c, args)
		return
	}
	x := c.db().Lock(c.hash(args[1]), args[1])
	if !x.Found() {
		x.Unlock()
		c.null()
		return
	}
	var at int64
	if o.timed() {
		var refusal string
		if at, refusal = o.deadline(c.now(), invalidGetexTime); refusal != "" {
			x.Unlock()
			c.fail(refusal)
			return
		}
	}
	b := x.Append(c.scratch())
	var err error
	if o.timed() && at <= c.now() {
		x.Delete()
	} else {
		err = x.SetExpire(at)
	}
	x.Unlock()
	if err != nil {
		c.failErr(err)
	} else {
		c.bulk(b)
	}
	c.keepScratch(b)
}
