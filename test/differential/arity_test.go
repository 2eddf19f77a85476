package differential

import (
	"strings"
	"testing"
)

// commands are the names that Larder answers, with subcommands spelled out.
var commands = strings.Fields(`
	PING ECHO HELLO AUTH SELECT DBSIZE FLUSHDB FLUSHALL
	GET SET SETEX PSETEX SETNX GETSET GETDEL GETEX MGET MSET MSETNX
	APPEND STRLEN GETRANGE SETRANGE INCR DECR INCRBY DECRBY INCRBYFLOAT
	DEL UNLINK EXISTS TYPE TTL PTTL EXPIRE PEXPIRE EXPIREAT PEXPIREAT
	EXPIRETIME PEXPIRETIME PERSIST TOUCH RENAME RENAMENX COPY RANDOMKEY KEYS SCAN
	INFO CONFIG|GET CONFIG|SET CONFIG|RESETSTAT
	COMMAND COMMAND|COUNT COMMAND|INFO COMMAND|DOCS COMMAND|LIST
	CLIENT|ID CLIENT|INFO CLIENT|LIST CLIENT|GETNAME CLIENT|SETNAME CLIENT|NO-EVICT
	TIME OBJECT|ENCODING OBJECT|FREQ OBJECT|IDLETIME MEMORY|USAGE`)

// TestEveryCommandChecksItsArgumentCount sends each command with none to six
// words that mean nothing to it, which meets every arity error and most of the
// syntax errors. Where redis-server answers with something other than an error
// the kinds must agree.
func TestEveryCommandChecksItsArgumentCount(t *testing.T) {
	forProtocols(t, func(t *testing.T, open func(t *testing.T) pair) {
		p := open(t)
		for _, spelled := range commands {
			for _, word := range []string{"zzz", "7", "-1", ""} {
				for n := range 7 {
					args := strings.Split(spelled, "|")
					for range n {
						args = append(args, word)
					}
					if args[0] == "CLIENT" && n == 0 && len(args) == 1 || args[0] == "HELLO" && word == "7" {
						continue
					}
					// What an earlier command left could expire between the two servers.
					p.do("FLUSHALL")
					larder, redis := p.do(args...)
					same := rules["kind"](larder, redis)
					if redis.Error() {
						same = larder.Equal(redis)
					}
					if _, ok := accepted(args, larder, redis); !same && !ok {
						t.Errorf("%q\n  larder %s\n  redis  %s", args, larder, redis)
					}
				}
			}
		}
	})
}

// TestCommandInfoDescribesTheSameArguments compares what clients use to route:
// name, arity and the positions of keys, and the flags that are about keys and
// connections.
func TestCommandInfoDescribesTheSameArguments(t *testing.T) {
	forProtocols(t, func(t *testing.T, open func(t *testing.T) pair) {
		p := open(t)
		for _, spelled := range commands {
			name := strings.ToLower(spelled)
			larder, redis := p.do("COMMAND", "INFO", name)
			if len(larder.Elems) != 1 || len(redis.Elems) != 1 || len(larder.Elems[0].Elems) < 6 {
				t.Errorf("COMMAND INFO %s: larder %s, redis %s", name, larder, redis)
				continue
			}
			l, r := larder.Elems[0].Elems, redis.Elems[0].Elems
			for i, what := range []string{"name", "arity", "", "first key", "last key", "step"} {
				if what != "" && !l[i].Equal(r[i]) {
					t.Errorf("%s of %s: larder %s, redis %s", what, name, l[i], r[i])
				}
			}
			for _, flag := range []string{"write", "readonly", "denyoom", "fast", "no_auth"} {
				if has(l[2].Strings(), flag) != has(r[2].Strings(), flag) {
					t.Errorf("flag %s of %s: larder %v, redis %v", flag, name, l[2].Strings(), r[2].Strings())
				}
			}
		}
	})
}

func has(list []string, word string) bool {
	for _, w := range list {
		if w == word {
			return true
		}
	}
	return false
}
