package command

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/larder-cache/larder/internal/store"
)

// BenchmarkPipeline is the cost of one command from bytes to bytes, without sockets: random keys of 16 B, values of 256 B.
// cpu-ns/op is the time of the process, steadier than the other on a machine with neighbours.
func BenchmarkPipeline(b *testing.B) {
	value := strings.Repeat("v", 256)
	for _, records := range []int{1000, 1_000_000} {
		server := newRigServer(b, Options{Store: benchStore(b)})
		r := dial(b, server)
		key := func(i int) string { return fmt.Sprintf("key:%012d", i) }
		for i := range records {
			r.send(encode([][]byte{[]byte("SET"), []byte(key(i)), []byte(value)}))
		}
		for _, command := range []string{"GET", "SET", "PING"} {
			for _, depth := range []int{1, 16, 128} {
				b.Run(fmt.Sprintf("records=%d/command=%s/pipeline=%d", records, command, depth), func(b *testing.B) {
					rng := rand.New(rand.NewPCG(1, 2))
					var in []byte
					var digits []int // where the keys of the input have their digits
					for range depth {
						args := [][]byte{[]byte(command)}
						if command != "PING" {
							args = append(args, []byte(key(0)))
							digits = append(digits, len(in)+len("*2\r\n$3\r\nGET\r\n$16\r\nkey:"))
						}
						if command == "SET" {
							args = append(args, []byte(value))
						}
						in = append(in, encode(args)...)
					}
					b.ReportAllocs()
					b.ResetTimer()
					user, system := processTimes()
					for n := 0; n < b.N; n += depth {
						for _, at := range digits {
							writeDigits(in[at:at+12], rng.IntN(records))
						}
						for rest := in; len(rest) > 0; {
							used, _ := r.client.data(rest)
							rest = rest[used:]
							for r.out.Len() > 0 {
								r.out.Consume(len(r.out.First()))
							}
						}
					}
					after, afterSystem := processTimes()
					b.ReportMetric(float64(after-user+afterSystem-system)/float64(b.N), "cpu-ns/op")
				})
			}
		}
	}
}

func writeDigits(dst []byte, n int) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = '0' + byte(n%10)
		n /= 10
	}
}

func benchStore(b *testing.B) *store.Store {
	b.Helper()
	s, err := store.Open(store.Options{MaxMemory: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}
