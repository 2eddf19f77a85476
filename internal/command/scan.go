package command

import (
	"strconv"

	"github.com/larder-cache/larder/internal/glob"
	"github.com/larder-cache/larder/internal/index"
	"github.com/larder-cache/larder/internal/store"
	"github.com/larder-cache/larder/internal/wire"
)

const (
	// scanCount is how many records a SCAN visits when COUNT does not say.
	scanCount = 10
	// MaxScanCount bounds COUNT, so that one call holds its loop for a few milliseconds at most. The cursor goes on from
	// there.
	MaxScanCount = 16 << 10
	// maxScanBytes ends a SCAN early whose keys are long.
	maxScanBytes = 1 << 20
	// keysInline is the most records that KEYS walks on the loop itself.
	keysInline = 16 << 10
	// bucketsPerKey is how many empty buckets, of a table that was larger once, cost as much as one key.
	bucketsPerKey = 4
	// keysCount is how many records KEYS visits between two looks at whether its connection still is.
	keysCount = 4096
	// maxCursorText is the longest cursor in digits, leading zeros included.
	maxCursorText = 20
)

const errPatternTooLong = "ERR pattern is too long"

// scanOptions are the words behind a cursor.
type scanOptions struct {
	count   int
	match   []byte // nil: everything
	nothing bool   // TYPE names a type that no record has
}

// scanCommand visits some records and replies with the cursor to go on from and the keys that pass the filters. A key
// that is there during a whole iteration is returned at least once; one that a growing table moves may come twice.
func scanCommand(c *Client, args [][]byte) {
	cursor, ok := parseCursor(args[1])
	if !ok {
		c.fail(errCursor)
		return
	}
	o, refusal := parseScanOptions(args[2:])
	if refusal != "" {
		c.fail(refusal)
		return
	}
	p := &c.loop.pattern
	if p.Reset(o.match, false) != nil {
		c.fail(errPatternTooLong)
		return
	}
	all := o.match == nil || p.All()
	list, n := c.scratch(), 0
	next, err := c.db().Scan(cursor, o.count, false, func(key, _ []byte, _ index.Meta) bool {
		if !o.nothing && (all || p.Match(key)) {
			list = wire.AppendBulk(list, key)
			n++
		}
		return len(list) < maxScanBytes
	})
	if err != nil {
		c.failErr(err)
		return
	}
	var digits [maxIntegerText]byte
	c.array(2)
	c.bulk(strconv.AppendUint(digits[:0], next, 10))
	c.array(n)
	c.raw(list)
	c.keepScratch(list)
}

// parseCursor reads a number that may be a cursor: which of them are is the table's to say. Redis takes an empty one for 0.
func parseCursor(b []byte) (uint64, bool) {
	if len(b) == 0 {
		return 0, true
	}
	if len(b) > maxCursorText {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b), 10, 64)
	return n, err == nil
}

// parseScanOptions reads MATCH, COUNT and TYPE, each with a value.
func parseScanOptions(args [][]byte) (o scanOptions, refusal string) {
	o.count = scanCount
	for i := 0; i < len(args); i += 2 {
		if i+1 == len(args) {
			return o, errSyntax
		}
		value := args[i+1]
		switch {
		case isWord(args[i], "COUNT"):
			n, ok := integer(value)
			if !ok {
				return o, errNotInt
			}
			if n < 1 {
				return o, errSyntax
			}
			o.count = int(min(n, MaxScanCount))
		case isWord(args[i], "MATCH"):
			o.match = value
		case isWord(args[i], "TYPE"):
			o.nothing = !isWord(value, "STRING")
		default:
			return o, errSyntax
		}
	}
	return o, ""
}

// keysCommand replies with all keys that match. It walks as SCAN does, without a lock, and gathers the reply beside the
// output because its length comes first. Keys that come or go meanwhile may be there or not. In a large collection the
// walk goes on outside the loop: other clients do not wait for it. A reply beyond the output limit ends the walk and the
// connection.
func keysCommand(c *Client, args [][]byte) {
	p := &c.loop.pattern
	if p.Reset(args[1], false) != nil {
		c.fail(errPatternTooLong)
		return
	}
	db := c.db()
	if key, ok := p.Literal(); ok {
		if _, found := db.Peek(db.Hash(key), key); found {
			c.array(1)
			c.bulk(key)
		} else {
			c.array(0)
		}
		return
	}
	g := gathered{limit: c.server.o.OutputHard}
	if db.Len()+db.Buckets()/bucketsPerKey <= keysInline {
		g.last = c.scratch()
		err := c.gatherKeys(db, p, &g)
		c.keys(&g, err)
		c.keepScratch(g.last)
		return
	}
	c.keysLater(db, g.limit)
}

// keysLater walks on a goroutine of its own. The loop goes on to use its pattern; the walk takes this one away.
func (c *Client) keysLater(db *store.Collection, limit int64) {
	p := new(glob.Pattern)
	*p, c.loop.pattern = c.loop.pattern, glob.Pattern{}
	g := &gathered{limit: limit}
	var err error
	c.later(func() { err = c.gatherKeys(db, p, g) }, func() { c.keys(g, err) })
}

func (c *Client) keys(g *gathered, err error) {
	if err != nil {
		c.failErr(err)
		return
	}
	c.gathered(g)
}

// gatherKeys gathers every key that matches, until the limit, and as long as the connection lasts.
func (c *Client) gatherKeys(db *store.Collection, p *glob.Pattern, g *gathered) error {
	all := p.All()
	for cursor, more := uint64(0), true; more; more = cursor != 0 && !g.excessive() && !c.shown.gone.Load() {
		var err error
		cursor, err = db.Scan(cursor, keysCount, false, func(key, _ []byte, _ index.Meta) bool {
			return !all && !p.Match(key) || g.add(key)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
