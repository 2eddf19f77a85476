package clients

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/larder-cache/larder/test/internal/server"
)

// rueidisModes are the two ways in which rueidis talks: RESP3 by HELLO 3, and
// RESP2 for servers that lack it. Client-side caching is off in both.
var rueidisModes = map[string]bool{"RESP3": false, "RESP2": true}

func forRueidis(t *testing.T, test func(t *testing.T, ctx context.Context, c rueidis.Client)) {
	t.Helper()
	for name, resp2 := range rueidisModes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := server.Start(t)
			c, err := rueidis.NewClient(rueidis.ClientOption{
				InitAddress:  []string{p.Addr},
				DisableCache: true,
				AlwaysRESP2:  resp2,
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			test(t, t.Context(), c)
		})
	}
}

func TestRueidisTypedCalls(t *testing.T) {
	forRueidis(t, func(t *testing.T, ctx context.Context, c rueidis.Client) {
		b := c.B()
		if err := c.Do(ctx, b.Get().Key("absent").Build()).Error(); !rueidis.IsRedisNil(err) {
			t.Errorf("GET of an absent key: %v", err)
		}
		same(t, "OK")(c.Do(ctx, b.Set().Key("k").Value("v").ExSeconds(60).Build()).ToString())
		same(t, "v")(c.Do(ctx, b.Set().Key("k").Value("w").Get().Build()).ToString())
		same(t, "w")(c.Do(ctx, b.Getex().Key("k").PxMilliseconds(90_000).Build()).ToString())
		same(t, int64(1))(c.Do(ctx, b.Expire().Key("k").Seconds(100).Gt().Build()).AsInt64())
		same(t, int64(0))(c.Do(ctx, b.Expire().Key("k").Seconds(10).Gt().Build()).AsInt64())
		same(t, int64(42))(c.Do(ctx, b.Incrby().Key("n").Increment(42).Build()).AsInt64())
		same(t, 42.5)(c.Do(ctx, b.Incrbyfloat().Key("n").Increment(0.5).Build()).AsFloat64())
		values, err := c.Do(ctx, b.Mget().Key("k", "absent", "n").Build()).ToArray()
		if err != nil || len(values) != 3 || !values[1].IsNil() {
			t.Fatalf("MGET: %v, %v", values, err)
		}
		same(t, "w")(values[0].ToString())
		same(t, "42.5")(values[2].ToString())
		entry, err := c.Do(ctx, b.Scan().Cursor(0).Match("*").Count(100).Build()).AsScanEntry()
		if err != nil || entry.Cursor != 0 || len(entry.Elements) != 2 {
			t.Errorf("SCAN: %+v, %v", entry, err)
		}
		config, err := c.Do(ctx, b.ConfigGet().Parameter("maxmemory").Build()).AsStrMap()
		if err != nil || config["maxmemory"] == "" {
			t.Errorf("CONFIG GET: %v, %v", config, err)
		}
		err = c.Do(ctx, b.Arbitrary("NOSUCHCOMMAND").Args("a", "b").Build()).Error()
		var reply *rueidis.RedisError
		if !errors.As(err, &reply) || !strings.HasPrefix(reply.Error(), "ERR unknown command 'NOSUCHCOMMAND'") &&
			!strings.HasPrefix(reply.Error(), "unknown command 'NOSUCHCOMMAND'") {
			t.Errorf("unknown command: %v", err)
		}
	})
}

// TestRueidisPipelinesConcurrentCallers: rueidis writes the commands of many
// goroutines into one connection and matches the replies by their order.
func TestRueidisPipelinesConcurrentCallers(t *testing.T) {
	forRueidis(t, func(t *testing.T, ctx context.Context, c rueidis.Client) {
		const callers, calls = 64, 500
		var wg sync.WaitGroup
		for caller := range callers {
			wg.Go(func() {
				for i := range calls {
					key, value := fmt.Sprintf("k:%d:%d", caller, i), strings.Repeat(strconv.Itoa(i), caller+1)
					if err := c.Do(ctx, c.B().Set().Key(key).Value(value).Px(time.Minute).Build()).Error(); err != nil {
						t.Error(err)
						return
					}
					if got, err := c.Do(ctx, c.B().Get().Key(key).Build()).ToString(); err != nil || got != value {
						t.Errorf("GET %s: %q, %v", key, got, err)
						return
					}
					if err := c.Do(ctx, c.B().Incr().Key("sum").Build()).Error(); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		same(t, int64(callers*calls))(c.Do(ctx, c.B().Get().Key("sum").Build()).AsInt64())
		same(t, int64(callers*calls+1))(c.Do(ctx, c.B().Dbsize().Build()).AsInt64())
	})
}

func TestRueidisBatches(t *testing.T) {
	forRueidis(t, func(t *testing.T, ctx context.Context, c rueidis.Client) {
		const n = 5000
		batch := make(rueidis.Commands, 0, 2*n)
		for i := range n {
			key := fmt.Sprint("k", i)
			batch = append(batch, c.B().Set().Key(key).Value(key+key).Build(), c.B().Get().Key(key).Build())
		}
		for i, reply := range c.DoMulti(ctx, batch...) {
			want := "OK"
			if i%2 == 1 {
				want = fmt.Sprint("k", i/2, "k", i/2)
			}
			same(t, want)(reply.ToString())
		}
		// MGET over many keys goes out as one command with one reply.
		keys := make([]string, n)
		for i := range keys {
			keys[i] = fmt.Sprint("k", i)
		}
		found, err := rueidis.MGet(c, ctx, keys)
		if err != nil || len(found) != n {
			t.Fatalf("MGET of %d keys: %d, %v", n, len(found), err)
		}
		for key, value := range found {
			same(t, key+key)(value.ToString())
		}
	})
}

// TestRueidisDedicatedConnection holds one connection for several commands.
func TestRueidisDedicatedConnection(t *testing.T) {
	forRueidis(t, func(t *testing.T, ctx context.Context, c rueidis.Client) {
		err := c.Dedicated(func(d rueidis.DedicatedClient) error {
			same(t, "OK")(d.Do(ctx, d.B().Select().Index(9).Build()).ToString())
			same(t, "OK")(d.Do(ctx, d.B().Set().Key("k").Value("nine").Build()).ToString())
			same(t, "OK")(d.Do(ctx, d.B().Select().Index(0).Build()).ToString())
			same(t, int64(0))(d.Do(ctx, d.B().Exists().Key("k").Build()).AsInt64())
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
