// Command garbage shows what a garbage collection costs while a cache holds
// millions of entries, for Larder and for a Go map, and the memory of an entry.
package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/larder-cache/larder"
)

const (
	keyBytes   = 16
	valueBytes = 100
	// collections are forced for each store; the medians are over these.
	collections = 9
)

// A store takes entries and keeps them alive.
type store interface {
	set(key, value []byte) error
	len() int
	close() error
}

type larderStore struct {
	cache *larder.Cache
	c     *larder.Collection
}

func newLarder(entries int) (store, error) {
	cache, err := larder.Open(larder.Options{MaxMemory: max(int64(entries)*400, 64<<20)})
	if err != nil {
		return nil, err
	}
	c, err := cache.Collection("bench")
	return &larderStore{cache, c}, err
}

func (l *larderStore) set(key, value []byte) error { return l.c.Set(key, value, 0) }
func (l *larderStore) len() int                    { return l.c.Len() }
func (l *larderStore) close() error                { return l.cache.Close() }

type mapStore map[string][]byte

func newMap(int) (store, error) { return mapStore{}, nil }

func (m mapStore) set(key, value []byte) error {
	m[string(key)] = slices.Clone(value)
	return nil
}
func (m mapStore) len() int     { return len(m) }
func (m mapStore) close() error { return nil }

func main() {
	entries := flag.Int("entries", 5_000_000, "entries that are resident")
	flag.Parse()
	fmt.Printf("%d entries of %d + %d B, %s %s/%s, %d CPUs, medians of %d forced collections\n\n",
		*entries, keyBytes, valueBytes, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), collections)
	fmt.Println("| store | forced runtime.GC, ms | stop of the world in it, us | resident bytes per entry |")
	fmt.Println("|---|---:|---:|---:|")
	for _, s := range []struct {
		name string
		open func(entries int) (store, error)
	}{{"larder", newLarder}, {"map[string][]byte", newMap}} {
		if err := measure(s.name, s.open, *entries); err != nil {
			fmt.Fprintln(os.Stderr, "garbage:", err)
			os.Exit(2)
		}
	}
}

func measure(name string, open func(int) (store, error), entries int) error {
	debug.FreeOSMemory()
	before, err := resident()
	if err != nil {
		return err
	}
	s, err := open(entries)
	if err != nil {
		return err
	}
	key, value := make([]byte, keyBytes), make([]byte, valueBytes)
	for i := range entries {
		binary.BigEndian.PutUint64(key, uint64(i))
		binary.BigEndian.PutUint64(value, uint64(i))
		if err := s.set(key, value); err != nil {
			return fmt.Errorf("%s, entry %d: %w", name, i, err)
		}
	}
	debug.FreeOSMemory()
	after, err := resident()
	if err != nil {
		return err
	}
	var wall, pause []time.Duration
	for range collections {
		var stats debug.GCStats
		start := time.Now()
		runtime.GC()
		wall = append(wall, time.Since(start))
		debug.ReadGCStats(&stats)
		pause = append(pause, stats.Pause[0])
	}
	slices.Sort(wall)
	slices.Sort(pause)
	if s.len() != entries {
		return fmt.Errorf("%s holds %d entries, want %d", name, s.len(), entries)
	}
	fmt.Printf("| %s | %.3f | %.1f | %.1f |\n", name, wall[collections/2].Seconds()*1e3,
		pause[collections/2].Seconds()*1e6, float64(after-before)/float64(entries))
	return s.close()
}

// resident returns VmRSS of this process in bytes.
func resident() (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("no VmRSS in /proc/self/status")
}
