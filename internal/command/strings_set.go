package command

import (
	"math"

	"github.com/larder-cache/larder/internal/index"
)

// Texts that refuse a time to live, one per command as in Redis.
const (
	invalidSetTime    = "ERR invalid expire time in 'set' command"
	invalidSetexTime  = "ERR invalid expire time in 'setex' command"
	invalidPsetexTime = "ERR invalid expire time in 'psetex' command"
	invalidGetexTime  = "ERR invalid expire time in 'getex' command"
)

const errOffset = "ERR offset is out of range"

// setCommand stores a value. Without options, and with a time alone, it is one call of the table; a condition, GET or
// KEEPTTL needs the key locked.
func setCommand(c *Client, args [][]byte) {
	key, value := args[1], args[2]
	if len(args) == 3 {
		c.store(key, value, 0)
		return
	}
	o, ok := parseStringOptions(args[3:], optionsOfSet)
	if !ok {
		c.fail(errSyntax)
		return
	}
	var at int64
	if o.timed() {
		var refusal string
		if at, refusal = o.deadline(c.now(), invalidSetTime); refusal != "" {
			c.fail(refusal)
			return
		}
	}
	if !o.has(optNX | optXX | optGet | optKeepTTL) {
		c.store(key, value, at)
		return
	}
	c.setLocked(key, value, at, &o)
}

// store sets key and replies OK. A deadline that has passed, which only an absolute time can have, leaves no key.
func (c *Client) store(key, value []byte, at int64) {
	h := c.hash(key)
	if at != 0 && at <= c.now() {
		c.db().Delete(h, key)
		c.ok()
		return
	}
	if err := c.db().Set(h, key, value, at, 0); err != nil {
		c.failErr(err)
		return
	}
	c.ok()
}

// setLocked is SET with NX, XX, GET or KEEPTTL: what the condition sees, what GET replies and what is overwritten are
// one state of the key.
func (c *Client) setLocked(key, value []byte, at int64, o *stringOptions) {
	x := c.db().Lock(c.hash(key), key)
	found := x.Found()
	var old []byte
	if found && o.has(optGet) {
		old = x.Append(c.scratch())
	}
	stored := !(o.has(optNX) && found || o.has(optXX) && !found)
	var err error
	if stored {
		if o.has(optKeepTTL) && found {
			at = x.Meta().ExpireAt
		}
		err = putUntil(x, value, at, c.now())
	}
	x.Unlock()
	switch {
	case err != nil:
		c.failErr(err)
	case o.has(optGet) && found:
		c.bulk(old)
	case o.has(optGet) || !stored:
		c.null()
	default:
		c.ok()
	}
	if old != nil {
		c.keepScratch(old)
	}
}

// putUntil stores value in a locked key, or removes the key when the deadline has passed.
func putUntil(x *index.Txn, value []byte, at, now int64) error {
	if at != 0 && at <= now {
		x.Delete()
		return nil
	}
	return x.Put(value, at, 0)
}

func setexCommand(c *Client, args [][]byte)  { setFor(c, args, second, invalidSetexTime) }
func psetexCommand(c *Client, args [][]byte) { setFor(c, args, millisecond, invalidPsetexTime) }

// setFor stores a value with a relative time to live in the given unit.
func setFor(c *Client, args [][]byte, unit int64, invalid string) {
	n, ok := integer(args[2])
	if !ok {
		c.fail(errNotInt)
		return
	}
	at, ok := deadline(n, unit, c.now())
	if !ok || n <= 0 {
		c.fail(invalid)
		return
	}
	c.store(args[1], args[3], at)
}

func setnxCommand(c *Client, args [][]byte) {
	x := c.db().Lock(c.hash(args[1]), args[1])
	found := x.Found()
	var err error
	if !found {
		err = x.Put(args[2], 0, 0)
	}
	x.Unlock()
	c.changed(!found, err)
}

// getsetCommand is SET with GET and nothing else: the expiry is dropped.
func getsetCommand(c *Client, args [][]byte) {
	c.setLocked(args[1], args[2], 0, &stringOptions{set: optGet})
}

// msetCommand stores several values. Other writers meet all of them or none: the lanes of all keys are locked together,
// which costs about 0.2 us a key more than storing each by itself. Readers take no lock, so a reader on another loop may
// meet some values before the others. With an error reply no key has changed; for that a value of another size stays until
// the last one is stored.
func msetCommand(c *Client, args [][]byte) {
	if len(args)%2 == 0 {
		c.fail("ERR wrong number of arguments for 'mset' command")
		return
	}
	if len(args) == 3 {
		c.store(args[1], args[2], 0)
		return
	}
	g := c.guard(args[1:], 2)
	err := g.PutAll(args[2:], 2)
	g.Unlock()
	if err != nil {
		c.failErr(err)
		return
	}
	c.ok()
}

// msetnxCommand stores several values when none of the keys exists. When memory runs out nothing is stored.
func msetnxCommand(c *Client, args [][]byte) {
	if len(args)%2 == 0 {
		c.fail("ERR wrong number of arguments for 'msetnx' command")
		return
	}
	g := c.guard(args[1:], 2)
	n := len(args) / 2
	free := true
	for i := 0; i < n && free; i++ {
		free = !g.Txn(i).Found()
	}
	var err error
	if free {
		err = g.PutAll(args[2:], 2)
	}
	g.Unlock()
	c.changed(free, err)
}

// guard locks every step-th argument of args, a key of the current collection. The caller unlocks.
func (c *Client) guard(args [][]byte, step int) *index.Guard {
	g, db := &c.loop.guard, c.db()
	for i := 0; i < len(args); i += step {
		h := db.Hash(args[i])
		db.Prefetch(h)
		g.Add(db.Table, h, args[i])
	}
	g.Lock()
	return g
}

// changed replies 1 when a write took place and 0 when its condition did not hold, or the error of the write.
func (c *Client) changed(done bool, err error) {
	switch {
	case err != nil:
		c.failErr(err)
	case done:
		c.int(1)
	default:
		c.int(0)
	}
}

// appendCommand writes behind the end of the value and replies with the new length.
func appendCommand(c *Client, args [][]byte) {
	x := c.db().Lock(c.hash(args[1]), args[1])
	var err error
	n := len(args[2])
	if x.Found() {
		end := x.Meta().Size
		n += end
		if len(args[2]) > 0 {
			err = x.WriteAt(end, args[2])
		}
	} else {
		err = x.Put(args[2], 0, 0)
	}
	x.Unlock()
	if err != nil {
		c.failErr(err)
		return
	}
	c.int(int64(n))
}

// setrangeCommand writes into the value at an offset, over zeros when the value is shorter, and replies with the new
// length. Writing nothing creates nothing.
func setrangeCommand(c *Client, args [][]byte) {
	off, ok := integer(args[2])
	if !ok {
		c.fail(errNotInt)
		return
	}
	if off < 0 {
		c.fail(errOffset)
		return
	}
	part := args[3]
	x := c.db().Lock(c.hash(args[1]), args[1])
	n := 0
	if x.Found() {
		n = x.Meta().Size
	}
	var err error
	switch {
	case len(part) == 0:
	case off > math.MaxInt-int64(len(part)):
		err = index.ErrValueTooLarge
	default:
		err = x.WriteAt(int(off), part)
		n = max(n, int(off)+len(part))
	}
	x.Unlock()
	if err != nil {
		c.failErr(err)
		return
	}
	c.int(int64(n))
}
