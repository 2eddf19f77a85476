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
	// keysCount is how many records KEYS visits between two looks at the size of its reply.
	keysCount = 4096
	// maxKeysBytes bounds the reply of KEYS, which must be whole before its first byte can be sent.
	maxKeysBytes = 1 << 30
	// maxCursorText is the longest cursor in digits, leading zeros included.
	maxCursorText = 20
)

const (
	errPatternTooLong = "ERR pattern is too long"
	errReplyTooLong   = "ERR the keys exceed the largest reply, use SCAN"
)

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
	next, err := c.db().Scan(cursor, o.count, false, func(key, _ []byte, _ index.Info) bool {
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
// walk goes on outside the loop: other clients do not wait for it.
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
	if db.Len() <= keysInline {
		list, n, refusal := gatherKeys(db, p, c.scratch())
		c.keys(list, n, refusal)
		c.keepScratch(list)
		return
	}
	// The loop goes on to use its pattern; the walk takes this one away.
	own := new(glob.Pattern)
	*own, *p = *p, glob.Pattern{}
	var list []byte
	var n int
	var refusal string
	c.later(func() { list, n, refusal = gatherKeys(db, own, nil) }, func() { c.keys(list, n, refusal) })
}

// keys replies with n keys that are RESP already, or with the refusal.
func (c *Client) keys(list []byte, n int, refusal string) {
	if refusal != "" {
		c.fail(refusal)
		return
	}
	c.array(n)
	c.raw(list)
}

// gatherKeys appends every key that matches as a bulk string and returns their number.
func gatherKeys(db *store.Collection, p *glob.Pattern, list []byte) (_ []byte, n int, refusal string) {
	all := p.All()
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		var err error
		cursor, err = db.Scan(cursor, keysCount, false, func(key, _ []byte, _ index.Info) bool {
			if all || p.Match(key) {
				list = wire.AppendBulk(list, key)
				n++
			}
			return true
		})
		switch {
		case err != nil:
			return list, 0, errorReply(err)
		case len(list) > maxKeysBytes:
			return nil, 0, errReplyTooLong
		}
	}
	return list, n, ""
}
