package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/larder-cache/larder/test/internal/server"
)

// protocols are the versions that go-redis can speak.
var protocols = []int{2, 3}

// forProtocols runs a test once for each protocol version, with an empty
// database.
func forProtocols(t *testing.T, test func(t *testing.T, ctx context.Context, c *redis.Client)) {
	t.Helper()
	for _, protocol := range protocols {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			t.Parallel()
			p := server.Start(t)
			test(t, t.Context(), goRedis(t, p, &redis.Options{Protocol: protocol}))
		})
	}
}

// goRedis returns a client of p that is closed when the test ends.
func goRedis(t *testing.T, p *server.Process, o *redis.Options) *redis.Client {
	t.Helper()
	o.Addr = p.Addr
	c := redis.NewClient(o)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// same fails the test when a call's result is not the wanted one. It takes the
// results of a command's Result method directly.
func same[T comparable](t *testing.T, want T) func(got T, err error) {
	return func(got T, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("got %#v, %v; want %#v", got, err, want)
		}
	}
}

// absent fails the test unless a call says that the key is not there.
func absent[T any](t *testing.T) func(got T, err error) {
	return func(got T, err error) {
		t.Helper()
		if !errors.Is(err, redis.Nil) {
			t.Errorf("got %#v, %v; want redis.Nil", got, err)
		}
	}
}

// fails fails the test unless a call gives an error with the given start.
func fails[T any](t *testing.T, prefix string) func(got T, err error) {
	return func(got T, err error) {
		t.Helper()
		if err == nil || !strings.HasPrefix(err.Error(), prefix) {
			t.Errorf("got %#v, %v; want an error that starts with %q", got, err, prefix)
		}
	}
}

// within fails the test unless a duration lies in (low, high].
func within(t *testing.T, low, high time.Duration) func(got time.Duration, err error) {
	return func(got time.Duration, err error) {
		t.Helper()
		if err != nil || got <= low || got > high {
			t.Errorf("got %v, %v; want more than %v and at most %v", got, err, low, high)
		}
	}
}

func TestGoRedisStrings(t *testing.T) {
	forProtocols(t, func(t *testing.T, ctx context.Context, c *redis.Client) {
		absent[string](t)(c.Get(ctx, "k").Result())
		same(t, "OK")(c.Set(ctx, "k", "v", 0).Result())
		same(t, "v")(c.Get(ctx, "k").Result())
		same(t, false)(c.SetNX(ctx, "k", "other", time.Minute).Result())
		same(t, true)(c.SetNX(ctx, "nx", "v", 0).Result())
		same(t, true)(c.SetXX(ctx, "k", "w", time.Minute).Result())
		same(t, false)(c.SetXX(ctx, "absent", "w", time.Minute).Result())
		within(t, 50*time.Second, time.Minute)(c.TTL(ctx, "k").Result())
		same(t, "OK")(c.Set(ctx, "k", "x", redis.KeepTTL).Result())
		within(t, 50*time.Second, time.Minute)(c.TTL(ctx, "k").Result())
		same(t, "x")(c.SetArgs(ctx, "k", "y", redis.SetArgs{Get: true}).Result())
		same(t, time.Duration(-1))(c.TTL(ctx, "k").Result())
		absent[string](t)(c.SetArgs(ctx, "fresh", "y", redis.SetArgs{Mode: "NX", Get: true}).Result())
		same(t, "y")(c.Get(ctx, "fresh").Result())
		deadline := time.Now().Add(time.Hour).Truncate(time.Second)
		same(t, "OK")(c.SetArgs(ctx, "k", "y", redis.SetArgs{ExpireAt: deadline}).Result())
		same(t, time.Duration(deadline.Unix())*time.Second)(c.ExpireTime(ctx, "k").Result())
		same(t, "OK")(c.SetEx(ctx, "k", "z", 100*time.Second).Result())
		within(t, 90*time.Second, 100*time.Second)(c.PTTL(ctx, "k").Result())
		same(t, "OK")(c.Set(ctx, "k", "z", 1500*time.Millisecond).Result())
		within(t, 500*time.Millisecond, 1500*time.Millisecond)(c.PTTL(ctx, "k").Result())

		same(t, "z")(c.GetSet(ctx, "k", "old").Result())
		same(t, "old")(c.GetEx(ctx, "k", time.Minute).Result())
		within(t, 50*time.Second, time.Minute)(c.TTL(ctx, "k").Result())
		same(t, "old")(c.GetEx(ctx, "k", 0).Result()) // go-redis says PERSIST
		same(t, time.Duration(-1))(c.TTL(ctx, "k").Result())
		same(t, "old")(c.GetDel(ctx, "k").Result())
		absent[string](t)(c.GetDel(ctx, "k").Result())

		same(t, int64(5))(c.Append(ctx, "a", "hello").Result())
		same(t, int64(11))(c.Append(ctx, "a", " world").Result())
		same(t, int64(11))(c.StrLen(ctx, "a").Result())
		same(t, "world")(c.GetRange(ctx, "a", -5, -1).Result())
		same(t, int64(11))(c.SetRange(ctx, "a", 6, "there").Result())
		same(t, "hello there")(c.Get(ctx, "a").Result())
		same(t, int64(3))(c.SetRange(ctx, "gap", 2, "x").Result())
		same(t, "\x00\x00x")(c.Get(ctx, "gap").Result())
		same(t, int64(0))(c.StrLen(ctx, "absent").Result())
	})
}

func TestGoRedisSeveralKeys(t *testing.T) {
	forProtocols(t, func(t *testing.T, ctx context.Context, c *redis.Client) {
		same(t, "OK")(c.MSet(ctx, "a", "1", "b", "2", "c", "").Result())
		values, err := c.MGet(ctx, "a", "absent", "c", "b").Result()
		if err != nil || !slices.Equal(values, []any{"1", nil, "", "2"}) {
			t.Errorf("MGET: %#v, %v", values, err)
		}
		same(t, false)(c.MSetNX(ctx, "d", "4", "a", "9").Result())
		same(t, int64(0))(c.Exists(ctx, "d").Result())
		same(t, true)(c.MSetNX(ctx, "d", "4", "e", "5").Result())
		same(t, int64(4))(c.Exists(ctx, "a", "a", "d", "e", "absent").Result())
		same(t, int64(2))(c.Touch(ctx, "a", "b", "absent").Result())
		same(t, int64(2))(c.Del(ctx, "a", "b", "absent").Result())
		same(t, int64(1))(c.Unlink(ctx, "c", "c").Result())
		same(t, int64(2))(c.DBSize(ctx).Result())
	})
}

func TestGoRedisCounters(t *testing.T) {
	forProtocols(t, func(t *testing.T, ctx context.Context, c *redis.Client) {
		same(t, int64(1))(c.Incr(ctx, "n").Result())
		same(t, int64(11))(c.IncrBy(ctx, "n", 10).Result())
		same(t, int64(10))(c.Decr(ctx, "n").Result())
		same(t, int64(-5))(c.DecrBy(ctx, "n", 15).Result())
		same(t, "-5")(c.Get(ctx, "n").Result())
		same(t, "int")(c.ObjectEncoding(ctx, "n").Result())
		same(t, -4.5)(c.IncrByFloat(ctx, "n", 0.5).Result())
		same(t, "OK")(c.Set(ctx, "n", "9223372036854775807", 0).Result())
		fails[int64](t, "ERR increment or decrement would overflow")(c.Incr(ctx, "n").Result())
		same(t, "9223372036854775807")(c.Get(ctx, "n").Result())
		same(t, "OK")(c.Set(ctx, "n", " 1", 0).Result())
		fails[int64](t, "ERR value is not an integer or out of range")(c.Incr(ctx, "n").Result())
		fails[float64](t, "ERR value is not a valid float")(c.IncrByFloat(ctx, "n", 1).Result())
	})
}

func TestGoRedisExpiry(t *testing.T) {
	forProtocols(t, func(t *testing.T, ctx context.Context, c *redis.Client) {
		same(t, false)(c.Expire(ctx, "absent", time.Minute).Result())
		same(t, time.Duration(-2))(c.TTL(ctx, "absent").Result())
		same(t, "OK")(c.Set(ctx, "k", "v", 0).Result())
		same(t, false)(c.ExpireXX(ctx, "k", time.Minute).Result())
		same(t, true)(c.ExpireNX(ctx, "k", time.Minute).Result())
		same(t, false)(c.ExpireGT(ctx, "k", time.Second).Result())
		same(t, true)(c.ExpireGT(ctx, "k", time.Hour).Result())
		same(t, false)(c.ExpireLT(ctx, "k", 2*time.Hour).Result())
		same(t, true)(c.ExpireLT(ctx, "k", time.Minute).Result())
		same(t, true)(c.PExpire(ctx, "k", 90500*time.Millisecond).Result())
		within(t, 80*time.Second, 90500*time.Millisecond)(c.PTTL(ctx, "k").Result())
		deadline := time.Now().Add(time.Hour)
		same(t, true)(c.PExpireAt(ctx, "k", deadline).Result())
		same(t, time.Duration(deadline.UnixMilli())*time.Millisecond)(c.PExpireTime(ctx, "k").Result())
		same(t, true)(c.ExpireAt(ctx, "k", deadline).Result())
		same(t, time.Duration(deadline.Unix())*time.Second)(c.ExpireTime(ctx, "k").Result())
		same(t, true)(c.Persist(ctx, "k").Result())
		same(t, false)(c.Persist(ctx, "k").Result())
		same(t, true)(c.ExpireAt(ctx, "k", time.Now().Add(-time.Hour)).Result())
		same(t, int64(0))(c.Exists(ctx, "k").Result())
	})
}

func TestGoRedisKeys(t *testing.T) {
	forProtocols(t, func(t *testing.T, ctx context.Context, c *redis.Client) {
		absent[string](t)(c.RandomKey(ctx).Result())
		for i := range 1000 {
			same(t, "OK")(c.Set(ctx, fmt.Sprintf("k%03d", i), i, 0).Result())
		}
		same(t, "string")(c.Type(ctx, "k000").Result())
		same(t, "none")(c.Type(ctx, "absent").Result())
		seen := map[string]bool{}
		for it := c.Scan(ctx, 0, "", 100).Iterator(); it.Next(ctx); {
			seen[it.Val()] = true
		}
		if len(seen) != 1000 {
			t.Errorf("SCAN returned %d different keys, want 1000", len(seen))
		}
		found := 0
		for it := c.ScanType(ctx, 0, "k99?", 10, "string").Iterator(); it.Next(ctx); {
			found++
		}
		if found != 10 {
			t.Errorf("SCAN MATCH TYPE returned %d keys, want 10", found)
		}
		keys, err := c.Keys(ctx, "k[01]5*").Result()
		if err != nil || len(keys) != 20 {
			t.Errorf("KEYS: %d keys, %v; want 20", len(keys), err)
		}
		if key, err := c.RandomKey(ctx).Result(); err != nil || !seen[key] {
			t.Errorf("RANDOMKEY: %q, %v", key, err)
		}
		same(t, "OK")(c.Rename(ctx, "k000", "renamed").Result())
		same(t, "0")(c.Get(ctx, "renamed").Result())
		fails[string](t, "ERR no such key")(c.Rename(ctx, "k000", "renamed").Result())
		same(t, false)(c.RenameNX(ctx, "k001", "renamed").Result())
		same(t, true)(c.RenameNX(ctx, "k001", "k000").Result())
		same(t, int64(0))(c.Copy(ctx, "k002", "k003", 0, false).Result())
		same(t, int64(1))(c.Copy(ctx, "k002", "k003", 0, true).Result())
		same(t, int64(1))(c.Copy(ctx, "k002", "k002", 5, false).Result())
		if n, err := c.MemoryUsage(ctx, "k002").Result(); err != nil || n < 8 || n > 1024 {
			t.Errorf("MEMORY USAGE: %d, %v", n, err)
		}
		if idle, err := c.ObjectIdleTime(ctx, "k002").Result(); err != nil || idle > time.Minute {
			t.Errorf("OBJECT IDLETIME: %v, %v", idle, err)
		}
		same(t, "OK")(c.FlushDB(ctx).Result())
		same(t, int64(0))(c.DBSize(ctx).Result())
	})
}

func TestGoRedisConnection(t *testing.T) {
	forProtocols(t, func(t *testing.T, ctx context.Context, c *redis.Client) {
		same(t, "PONG")(c.Ping(ctx).Result())
		conn := c.Conn()
		defer conn.Close()
		hello, err := conn.Hello(ctx, 3, "", "", "app").Result()
		if err != nil || hello["server"] != "redis" || hello["proto"] != int64(3) || hello["role"] != "master" {
			t.Errorf("HELLO 3: %v, %v", hello, err)
		}
		same(t, "app")(conn.ClientGetName(ctx).Result())
		same(t, true)(conn.ClientSetName(ctx, "renamed").Result())
		same(t, "renamed")(conn.ClientGetName(ctx).Result())
		library := "shop"
		fails := func(err error) {
			// Redis 7.0 has no CLIENT SETINFO: an error reply is allowed, a broken connection is not.
			var reply redis.Error
			if err != nil && !errors.As(err, &reply) {
				t.Errorf("CLIENT SETINFO: %v", err)
			}
		}
		fails(conn.ClientSetInfo(ctx, redis.LibraryInfo{LibName: &library}).Err())
		id, err := conn.ClientID(ctx).Result()
		if err != nil || id <= 0 {
			t.Errorf("CLIENT ID: %d, %v", id, err)
		}
		info, err := conn.ClientInfo(ctx).Result()
		if err != nil || info.ID != id || info.Name != "renamed" {
			t.Errorf("CLIENT INFO: %+v, %v", info, err)
		}
		list, err := conn.ClientList(ctx).Result()
		if err != nil || !strings.Contains(list, "id="+strconv.FormatInt(id, 10)+" ") {
			t.Errorf("CLIENT LIST: %q, %v", list, err)
		}
		same(t, "OK")(conn.Select(ctx, 7).Result())
		same(t, "OK")(conn.Set(ctx, "k", "seven", 0).Result())
		absent[string](t)(c.Get(ctx, "k").Result())
		same[any](t, "hi")(c.Echo(ctx, "hi").Result())
	})
}

func TestGoRedisServer(t *testing.T) {
	forProtocols(t, func(t *testing.T, ctx context.Context, c *redis.Client) {
		limits, err := c.ConfigGet(ctx, "maxmemory*").Result()
		if err != nil || limits["maxmemory"] == "" || limits["maxmemory-policy"] == "" {
			t.Errorf("CONFIG GET maxmemory*: %v, %v", limits, err)
		}
		same(t, "OK")(c.ConfigResetStat(ctx).Result())
		if _, err := c.ConfigSet(ctx, "no-such-option", "1").Result(); err == nil {
			t.Error("CONFIG SET of an unknown option is no error")
		}
		commands, err := c.Command(ctx).Result()
		if err != nil || commands["get"] == nil || commands["get"].Arity != 2 || !commands["get"].ReadOnly {
			t.Errorf("COMMAND: %d commands, get %+v, %v", len(commands), commands["get"], err)
		}
		names, err := c.CommandList(ctx, nil).Result()
		if err != nil || !slices.Contains(names, "pexpiretime") {
			t.Errorf("COMMAND LIST: %d names, %v", len(names), err)
		}
		now, err := c.Time(ctx).Result()
		if err != nil || time.Since(now).Abs() > time.Minute {
			t.Errorf("TIME: %v, %v", now, err)
		}
		info, err := c.InfoMap(ctx, "server").Result()
		if err != nil || !strings.HasPrefix(info["Server"]["redis_version"], "7.") {
			t.Errorf("INFO server: %v, %v", info, err)
		}
		same(t, "OK")(c.FlushAll(ctx).Result())
		same(t, "OK")(c.FlushAllAsync(ctx).Result())
		same(t, "OK")(c.FlushDBAsync(ctx).Result())
	})
}

func TestGoRedisPipelines(t *testing.T) {
	forProtocols(t, func(t *testing.T, ctx context.Context, c *redis.Client) {
		const n = 10_000
		pipe := c.Pipeline()
		sums := make([]*redis.IntCmd, n)
		reads := make([]*redis.StringCmd, n)
		for i := range n {
			pipe.Set(ctx, fmt.Sprint("k", i), strings.Repeat(strconv.Itoa(i), i%50+1), time.Minute)
			sums[i] = pipe.IncrBy(ctx, "sum", int64(i))
			reads[i] = pipe.Get(ctx, fmt.Sprint("k", i))
		}
		wrong := pipe.Incr(ctx, "k11") // "11111..." overflows nothing, but is too long for an integer
		last := pipe.Get(ctx, "sum")
		if _, err := pipe.Exec(ctx); err == nil {
			t.Error("the pipeline hides the error of one of its commands")
		}
		sum := 0
		for i := range n {
			sum += i
			same(t, int64(sum))(sums[i].Result())
			same(t, strings.Repeat(strconv.Itoa(i), i%50+1))(reads[i].Result())
		}
		fails[int64](t, "ERR value is not an integer or out of range")(wrong.Result())
		same(t, strconv.Itoa(sum))(last.Result())
	})
}

func TestGoRedisPassword(t *testing.T) {
	forProtocols(t, func(t *testing.T, ctx context.Context, c *redis.Client) {
		same(t, "OK")(c.ConfigSet(ctx, "requirepass", "open sesame").Result())
		protocol := c.Options().Protocol
		with := redis.NewClient(&redis.Options{Addr: c.Options().Addr, Protocol: protocol, Password: "open sesame"})
		defer with.Close()
		same(t, "OK")(with.Set(ctx, "k", "v", 0).Result())
		named := redis.NewClient(&redis.Options{Addr: c.Options().Addr, Protocol: protocol, Username: "default", Password: "open sesame"})
		defer named.Close()
		same(t, "v")(named.Get(ctx, "k").Result())
		without := redis.NewClient(&redis.Options{Addr: c.Options().Addr, Protocol: protocol, MaxRetries: -1})
		defer without.Close()
		fails[string](t, "NOAUTH")(without.Get(ctx, "k").Result())
		wrong := redis.NewClient(&redis.Options{Addr: c.Options().Addr, Protocol: protocol, Password: "guess", MaxRetries: -1})
		defer wrong.Close()
		fails[string](t, "WRONGPASS")(wrong.Get(ctx, "k").Result())
	})
}
