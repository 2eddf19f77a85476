// Package loops lets many clients on several event loops, and on the portable
// reactor, meet on the same keys: what one command promises must hold whichever
// loop runs it.
package loops

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-cache/larder/test/internal/raw"
	"github.com/larder-cache/larder/test/internal/server"
)

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

const (
	clients = 12
	// perPipeline commands of a client travel in one write.
	perPipeline = 50
	pipelines   = 120
)

// forLoops runs a test on one loop, on four, and on the portable reactor.
func forLoops(t *testing.T, test func(t *testing.T, p *server.Process)) {
	t.Helper()
	if server.UnderTestIsRedis() {
		t.Run("redis", func(t *testing.T) { test(t, server.Start(t)) })
		return
	}
	for name, flags := range map[string][]string{
		"one loop":   {"--loops", "1"},
		"four loops": {"--loops", "4"},
		"portable":   {"--reactor", "portable"},
	} {
		t.Run(name, func(t *testing.T) { test(t, server.Start(t, flags...)) })
	}
}

// atOnce runs a body for each of the clients, each with a connection and a
// source of random numbers of its own.
func atOnce(t *testing.T, p *server.Process, body func(client int, c *raw.Conn, rng *rand.Rand) error) {
	t.Helper()
	var wg sync.WaitGroup
	for client := range clients {
		c := raw.Dial(t, p.Addr)
		wg.Go(func() {
			if err := body(client, c, rand.New(rand.NewPCG(uint64(client), 3))); err != nil {
				t.Errorf("client %d: %v", client, err)
			}
		})
	}
	wg.Wait()
}

// pipeline sends commands in one write and returns their replies.
func pipeline(c *raw.Conn, commands [][]string) ([]raw.Reply, error) {
	var wire []byte
	for _, args := range commands {
		wire = raw.Append(wire, args...)
	}
	if err := c.TrySend(wire); err != nil {
		return nil, err
	}
	replies := make([]raw.Reply, len(commands))
	for i := range replies {
		r, err := c.TryReceive()
		if err != nil {
			return nil, err
		}
		replies[i] = r
	}
	return replies, nil
}

func TestCountersLoseNothing(t *testing.T) {
	forLoops(t, func(t *testing.T, p *server.Process) {
		const counters = 5
		atOnce(t, p, func(_ int, c *raw.Conn, rng *rand.Rand) error {
			last := map[string]int64{}
			for range pipelines {
				commands := make([][]string, perPipeline)
				for i := range commands {
					commands[i] = []string{"INCRBY", fmt.Sprint("counter:", rng.IntN(counters)), "3"}
				}
				replies, err := pipeline(c, commands)
				if err != nil {
					return err
				}
				for i, r := range replies {
					// A counter that only grows never shows a client an older number.
					if key := commands[i][1]; r.Int() <= last[key] {
						return fmt.Errorf("%q: %s after %d", commands[i], r, last[key])
					}
					last[commands[i][1]] = r.Int()
				}
			}
			return nil
		})
		c := raw.Dial(t, p.Addr)
		sum := int64(0)
		for i := range counters {
			n, err := strconv.ParseInt(c.Do("GET", fmt.Sprint("counter:", i)).Text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		if want := int64(3 * clients * pipelines * perPipeline); sum != want {
			t.Errorf("the counters add up to %d, want %d", sum, want)
		}
	})
}

// TestRenamesKeepEveryToken: clients move tokens between keys with RENAMENX, which
// refuses a taken place; in the end every token is there, once.
func TestRenamesKeepEveryToken(t *testing.T) {
	forLoops(t, func(t *testing.T, p *server.Process) {
		const places, tokens = 40, 20
		place := func(i int) string { return fmt.Sprint("place:", i) }
		c := raw.Dial(t, p.Addr)
		for i := range tokens {
			c.Want(`+"OK"`, "SET", place(i), strings.Repeat(fmt.Sprint("token:", i, ";"), 1+i*20))
		}
		atOnce(t, p, func(_ int, c *raw.Conn, rng *rand.Rand) error {
			for range pipelines {
				commands := make([][]string, perPipeline)
				for i := range commands {
					commands[i] = []string{"RENAMENX", place(rng.IntN(places)), place(rng.IntN(places))}
				}
				replies, err := pipeline(c, commands)
				if err != nil {
					return err
				}
				for i, r := range replies {
					if r.Kind != ':' && r.Text != "ERR no such key" {
						return fmt.Errorf("%q: %s", commands[i], r)
					}
				}
			}
			return nil
		})
		found := map[string]bool{}
		for i := range places {
			if r := c.Do("GET", place(i)); !r.Null {
				found[r.Text] = true
			}
		}
		for i := range tokens {
			if !found[strings.Repeat(fmt.Sprint("token:", i, ";"), 1+i*20)] {
				t.Errorf("token %d is lost or torn", i)
			}
		}
		c.Want(fmt.Sprintf(`:"%d"`, tokens), "DBSIZE")
	})
}

// TestSeveralKeysChangeTogether: MSET, MSETNX, DEL and COPY of the same keys in
// different orders neither deadlock nor show a torn value; MSETNX sets all or
// nothing.
func TestSeveralKeysChangeTogether(t *testing.T) {
	forLoops(t, func(t *testing.T, p *server.Process) {
		const keys = 6
		name := func(i int) string { return fmt.Sprint("k", i) }
		atOnce(t, p, func(client int, c *raw.Conn, rng *rand.Rand) error {
			value := strings.Repeat(string(rune('a'+client)), 10+client*97)
			for range pipelines {
				var commands [][]string
				for range perPipeline / 5 {
					order := rng.Perm(keys)
					mset := []string{[]string{"MSET", "MSETNX"}[rng.IntN(2)]}
					mget, del := []string{"MGET"}, []string{"DEL"}
					for _, i := range order {
						mset, mget, del = append(mset, name(i), value), append(mget, name(i)), append(del, name(i))
					}
					commands = append(commands, mset, mget, []string{"COPY", name(order[0]), name(order[1]), "REPLACE"},
						[]string{"RENAME", name(order[2]), name(order[3])}, del)
				}
				replies, err := pipeline(c, commands)
				if err != nil {
					return err
				}
				for i, r := range replies {
					if r.Error() && r.Text != "ERR no such key" {
						return fmt.Errorf("%.80q: %s", commands[i], r)
					}
					if commands[i][0] != "MGET" {
						continue
					}
					for _, v := range r.Strings() {
						if v != "" && (strings.Trim(v, v[:1]) != "" || len(v) != 10+int(v[0]-'a')*97) {
							return fmt.Errorf("MGET shows a torn value of %d bytes: %.60q", len(v), v)
						}
					}
				}
			}
			return nil
		})
		c := raw.Dial(t, p.Addr)
		c.Want(`+"OK"`, "FLUSHALL")
		winners := make(chan int, clients)
		atOnce(t, p, func(client int, c *raw.Conn, rng *rand.Rand) error {
			args := []string{"MSETNX"}
			for _, i := range rng.Perm(keys) {
				args = append(args, name(i), fmt.Sprint(client))
			}
			r, err := pipeline(c, [][]string{args})
			if err == nil && r[0].Int() == 1 {
				winners <- client
			}
			return err
		})
		close(winners)
		won := -1
		for w := range winners {
			if won >= 0 {
				t.Errorf("MSETNX of the same keys succeeded for %d and %d", won, w)
			}
			won = w
		}
		for i := range keys {
			c.Want(fmt.Sprintf(`$"%d"`, won), "GET", name(i))
		}
	})
}

// TestWalksSeeEveryStableKey: while clients write, delete and expire other keys,
// which makes the table grow, a SCAN meets every key that stays.
func TestWalksSeeEveryStableKey(t *testing.T) {
	forLoops(t, func(t *testing.T, p *server.Process) {
		const stable = 2000
		c := raw.Dial(t, p.Addr)
		for i := range stable {
			c.Want(`+"OK"`, "SET", fmt.Sprint("stable:", i), "v")
		}
		stop := make(chan struct{})
		var churn sync.WaitGroup
		churn.Go(func() {
			atOnce(t, p, func(client int, c *raw.Conn, rng *rand.Rand) error {
				for round := 0; ; round++ {
					select {
					case <-stop:
						return nil
					default:
					}
					commands := make([][]string, perPipeline)
					for i := range commands {
						key := fmt.Sprintf("churn:%d:%d", client, rng.IntN(20_000))
						switch rng.IntN(4) {
						case 0:
							commands[i] = []string{"DEL", key}
						case 1:
							commands[i] = []string{"SET", key, "short", "PX", "20"}
						default:
							commands[i] = []string{"SET", key, strings.Repeat("x", rng.IntN(300))}
						}
					}
					if _, err := pipeline(c, commands); err != nil {
						return err
					}
				}
			})
		})
		end := time.Now().Add(2 * time.Second)
		for walks := 0; walks < 2 || time.Now().Before(end); walks++ {
			seen := map[string]bool{}
			cursor := "0"
			for {
				r := c.Do("SCAN", cursor, "COUNT", "200", "MATCH", "stable:*")
				if len(r.Elems) != 2 {
					t.Errorf("SCAN %s: %s", cursor, r)
					break
				}
				for _, key := range r.Elems[1].Strings() {
					seen[key] = true
				}
				cursor = r.Elems[0].Text
				if n, err := strconv.ParseInt(cursor, 10, 32); err != nil || n < 0 {
					t.Errorf("cursor %s does not fit a signed 32-bit integer", cursor)
				}
				if cursor == "0" {
					break
				}
			}
			if len(seen) != stable {
				t.Errorf("a walk saw %d of %d stable keys", len(seen), stable)
			}
		}
		close(stop)
		churn.Wait()
	})
}
