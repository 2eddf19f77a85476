package differential

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/larder-cache/larder/test/internal/raw"
	"github.com/larder-cache/larder/test/internal/server"
)

const (
	// batches of batchSize commands make one random stream.
	batches   = 120
	batchSize = 60
	// databases that a stream moves between.
	databases = 3
)

// seeds are fixed: a failure repeats by its name.
var seeds = []uint64{1, 2, 3}

func TestRandomStreamsGetTheSameReplies(t *testing.T) {
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			forProtocols(t, func(t *testing.T, open func(t *testing.T) pair) {
				stream(t, open(t), newGenerator(seed))
			})
		})
	}
}

// stream sends batches to both servers as pipelines, compares every reply, and
// after each tenth batch the whole content of the databases.
func stream(t *testing.T, p pair, g *generator) {
	for b := range batches {
		batch := make([][]string, batchSize)
		var wire []byte
		for i := range batch {
			batch[i] = g.command()
			wire = raw.Append(wire, batch[i]...)
		}
		p.larder.Send(wire)
		p.redis.Send(wire)
		for i, args := range batch {
			larder, redis := p.larder.Receive(), p.redis.Receive()
			if rules[ruleOf(args)](larder, redis) {
				continue
			}
			if _, ok := accepted(args, larder, redis); ok {
				continue
			}
			t.Errorf("batch %d, command %d: %.300q\n  larder %s\n  redis  %s", b, i, args, larder, redis)
			// What follows would differ as a consequence.
			t.FailNow()
		}
		if b%10 == 9 {
			compareContent(t, p, b)
		}
	}
}

// compareContent reads every key of every database from both.
func compareContent(t *testing.T, p pair, batch int) {
	t.Helper()
	for db := range databases {
		p.do("SELECT", strconv.Itoa(db))
		larder, redis := p.do("KEYS", "*")
		if !rules["unordered"](larder, redis) {
			t.Fatalf("after batch %d the keys of database %d differ:\n  larder %s\n  redis  %s", batch, db, larder.Sorted(), redis.Sorted())
		}
		// The reference counts records that expired and that nobody read since.
		if n := p.larder.Do("DBSIZE").Int(); n != int64(len(larder.Elems)) && !server.UnderTestIsRedis() {
			t.Errorf("after batch %d DBSIZE of database %d says %d, KEYS lists %d", batch, db, n, len(larder.Elems))
		}
		if walked := walk(p.larder); !slices.Equal(walked, larder.Sorted().Strings()) {
			t.Errorf("after batch %d SCAN of database %d: %q, KEYS said %s", batch, db, walked, larder)
		}
		for _, key := range redis.Strings() {
			for _, command := range []string{"GET", "STRLEN", "TYPE"} {
				if l, r := p.do(command, key); !l.Equal(r) {
					t.Errorf("after batch %d %s %.40q in database %d: larder %s, redis %s", batch, command, key, db, l, r)
				}
			}
			if l, r := p.do("PEXPIRETIME", key); !rules["millis"](l, r) {
				t.Errorf("after batch %d PEXPIRETIME %.40q in database %d: larder %s, redis %s", batch, key, db, l, r)
			}
		}
	}
	p.do("SELECT", "0")
}

// walk returns the keys of the selected database by SCAN, sorted, each once.
func walk(c *raw.Conn) []string {
	var keys []string
	cursor := "0"
	for {
		r := c.Do("SCAN", cursor, "COUNT", "7")
		if len(r.Elems) != 2 {
			return append(keys, "SCAN said "+r.String())
		}
		keys = append(keys, r.Elems[1].Strings()...)
		if cursor = r.Elems[0].Text; cursor == "0" {
			slices.Sort(keys)
			return slices.Compact(keys)
		}
	}
}

// A generator makes commands from a seed over a small set of keys, so that
// commands meet each other's keys.
type generator struct {
	rng  *rand.Rand
	keys []string
}

func newGenerator(seed uint64) *generator {
	g := &generator{rng: rand.New(rand.NewPCG(seed, seed))}
	g.keys = []string{"", "\x00", "a\r\nb", "\xff\xfe\xfd", "$5\r\nhello\r\n", "*", "[k]", strings.Repeat("long", 16385)}
	for i := range 24 {
		g.keys = append(g.keys, fmt.Sprintf("key:%d", i))
	}
	return g
}

func (g *generator) pick(list ...string) string { return list[g.rng.IntN(len(list))] }
func (g *generator) key() string                { return g.keys[g.rng.IntN(len(g.keys))] }

// chance is true once in n.
func (g *generator) chance(n int) bool { return g.rng.IntN(n) == 0 }

func (g *generator) someKeys() []string {
	list := make([]string, 1+g.rng.IntN(5))
	for i := range list {
		list[i] = g.key()
	}
	return list
}

func (g *generator) value() string {
	switch g.rng.IntN(12) {
	case 0:
		return ""
	case 1:
		return g.pick("9223372036854775807", "-9223372036854775808", "9223372036854775800", "007", " 1", "+1", "-0")
	case 2:
		return g.pick("1.5", "3.0e3", "-0.1", "1e17", "0.0000001", "inf", "nan")
	case 3:
		return strings.Repeat(g.pick("x", "\x00", "\r\n"), 1+g.rng.IntN(300))
	case 4:
		b := make([]byte, g.rng.IntN(64))
		for i := range b {
			b[i] = byte(g.rng.UintN(256))
		}
		return string(b)
	case 5:
		if g.chance(4) {
			return strings.Repeat("0123456789abcdef", g.rng.IntN(8192))
		}
		return "text"
	default:
		return strconv.Itoa(g.rng.IntN(20000) - 10000)
	}
}

func (g *generator) number() string {
	switch g.rng.IntN(10) {
	case 0:
		return g.pick("9223372036854775807", "-9223372036854775808", "9223372036854775808", "x", "", "1.0", " 1")
	default:
		return strconv.Itoa(g.rng.IntN(2000) - 1000)
	}
}

func (g *generator) index() string {
	return strconv.Itoa(g.rng.IntN(400) - 200)
}

// seconds is a relative life: never short enough to end during the run, never
// equal to another one by intent, sometimes refused.
func (g *generator) seconds(unit int64) string {
	switch g.rng.IntN(12) {
	case 0:
		return g.pick("0", "-1", "x", "", "9223372036854775807", "-9223372036854775808", "9223372036854775")
	default:
		return strconv.FormatInt((1000+g.rng.Int64N(100_000_000))*unit, 10)
	}
}

// deadline is an absolute time, in the future or long past.
func (g *generator) deadline(unit int64) string {
	if g.chance(8) {
		return g.pick("1", "0", "-1", "x", "1000000000")
	}
	return strconv.FormatInt((time.Now().Unix()+1000+g.rng.Int64N(100_000_000))*unit, 10)
}

// expiryOption is one of the options that give a record its life.
func (g *generator) expiryOption() []string {
	switch g.rng.IntN(4) {
	case 0:
		return []string{g.pick("EX", "ex"), g.seconds(1)}
	case 1:
		return []string{"PX", g.seconds(1000)}
	case 2:
		return []string{"EXAT", g.deadline(1)}
	default:
		return []string{"PXAT", g.deadline(1000)}
	}
}

// command makes the next command; one in forty has an argument too few or too
// many.
func (g *generator) command() []string {
	args := g.wellFormed()
	if g.chance(40) {
		if g.chance(2) && len(args) > 1 {
			return args[:len(args)-1]
		}
		return append(args, g.value())
	}
	return args
}

func (g *generator) wellFormed() []string {
	switch g.rng.IntN(44) {
	case 0, 1, 2, 3, 4, 5:
		return []string{"GET", g.key()}
	case 6, 7, 8, 9, 10:
		return g.set()
	case 11:
		return append([]string{"MGET"}, g.someKeys()...)
	case 12, 13:
		args := []string{g.pick("MSET", "MSETNX")}
		for _, k := range g.someKeys() {
			args = append(args, k, g.value())
		}
		return args
	case 14:
		return []string{"SETEX", g.key(), g.seconds(1), g.value()}
	case 15:
		return []string{"PSETEX", g.key(), g.seconds(1000), g.value()}
	case 16:
		return []string{g.pick("SETNX", "GETSET"), g.key(), g.value()}
	case 17:
		return []string{"GETDEL", g.key()}
	case 18, 19:
		args := []string{"GETEX", g.key()}
		switch g.rng.IntN(4) {
		case 0:
		case 1:
			args = append(args, "PERSIST")
		default:
			args = append(args, g.expiryOption()...)
		}
		return args
	case 20, 21:
		return []string{"APPEND", g.key(), g.value()}
	case 22:
		return []string{"STRLEN", g.key()}
	case 23, 24:
		return []string{"GETRANGE", g.key(), g.index(), g.index()}
	case 25:
		return []string{"SETRANGE", g.key(), strconv.Itoa(g.rng.IntN(300) - 5), g.value()}
	case 26, 27, 28:
		return []string{g.pick("INCR", "DECR"), g.key()}
	case 29, 30:
		return []string{g.pick("INCRBY", "DECRBY"), g.key(), g.number()}
	case 31:
		return []string{"INCRBYFLOAT", g.key(), g.pick("0.5", "-1.25", "1e3", "3", "x", "0.1", "1e-5", "123456.789")}
	case 32, 33:
		return append([]string{g.pick("DEL", "UNLINK", "EXISTS", "TOUCH")}, g.someKeys()...)
	case 34:
		return []string{g.pick("TYPE", "TTL", "PTTL", "PERSIST", "EXPIRETIME", "PEXPIRETIME"), g.key()}
	case 35, 36, 37:
		return g.expire()
	case 38:
		return []string{g.pick("RENAME", "RENAMENX"), g.key(), g.key()}
	case 39:
		args := []string{"COPY", g.key(), g.key()}
		if g.chance(3) {
			args = append(args, "DB", strconv.Itoa(g.rng.IntN(databases)))
		}
		if g.chance(2) {
			args = append(args, "REPLACE")
		}
		return args
	case 40:
		return []string{"SELECT", strconv.Itoa(g.rng.IntN(databases))}
	case 41:
		return []string{"KEYS", g.pick("*", "key:?", "key:1*", "[k]", "*\r\n*", "key:[0-5]", "\\*", "\xff*")}
	case 42:
		return []string{"OBJECT", "ENCODING", g.key()}
	default:
		if g.chance(25) {
			return []string{g.pick("FLUSHDB", "FLUSHALL")}
		}
		return []string{g.pick("PING", "ECHO", "RANDOMKEY", "NOSUCH"), g.value()}
	}
}

func (g *generator) set() []string {
	args := []string{"SET", g.key(), g.value()}
	if g.chance(3) {
		args = append(args, g.pick("NX", "XX", "nx", "xX"))
	}
	if g.chance(4) {
		args = append(args, "GET")
	}
	switch g.rng.IntN(6) {
	case 0:
		args = append(args, "KEEPTTL")
	case 1, 2:
		args = append(args, g.expiryOption()...)
	}
	return args
}

func (g *generator) expire() []string {
	var args []string
	switch g.rng.IntN(4) {
	case 0:
		args = []string{"EXPIRE", g.key(), g.seconds(1)}
	case 1:
		args = []string{"PEXPIRE", g.key(), g.seconds(1000)}
	case 2:
		args = []string{"EXPIREAT", g.key(), g.deadline(1)}
	default:
		args = []string{"PEXPIREAT", g.key(), g.deadline(1000)}
	}
	if g.chance(2) {
		args = append(args, g.pick("NX", "XX", "GT", "LT", "gt"))
	}
	if g.chance(8) {
		args = append(args, g.pick("NX", "XX", "GT", "LT"))
	}
	return args
}
