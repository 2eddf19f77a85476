package capacity

import (
	"fmt"
	"testing"

	"github.com/larder-cache/larder/test/internal/raw"
	"github.com/larder-cache/larder/test/internal/server"
)

const (
	// million keys of keyBytes with values of valueBytes are loaded.
	million    = 1_000_000
	keyBytes   = 16
	valueBytes = 100
	// residentBound is the most memory the whole process may have resident then.
	residentBound = 175 * mib
	// perPipeline commands travel in one write.
	perPipeline = 1000
)

func key(i int) string { return fmt.Sprintf("key:%0*d", keyBytes-4, i) }

// value depends on every bit of i, so that a reply for another key shows.
func value(generation, i int) string {
	v := fmt.Sprintf("%d:%d:%x:", generation, i, uint64(i+1)*0x9e3779b97f4a7c15)
	for len(v) < valueBytes {
		v += v
	}
	return v[:valueBytes]
}

// pipelined sends n commands made by command over one connection and gives each
// reply to check.
func pipelined(t *testing.T, p *server.Process, n int, command func(dst []byte, i int) []byte, check func(i int, r raw.Reply)) {
	t.Helper()
	c := raw.Dial(t, p.Addr)
	defer c.Close()
	sent := make(chan error, 1)
	go func() {
		var batch []byte
		for from := 0; from < n; from += perPipeline {
			batch = batch[:0]
			for i := from; i < min(n, from+perPipeline); i++ {
				batch = command(batch, i)
			}
			if err := c.TrySend(batch); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for i := range n {
		check(i, c.Receive())
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, p *server.Process, generation int) {
	t.Helper()
	pipelined(t, p, million,
		func(dst []byte, i int) []byte { return raw.Append(dst, "SET", key(i), value(generation, i)) },
		func(i int, r raw.Reply) {
			if r.Text != "OK" {
				t.Fatalf("SET %s: %s", key(i), r)
			}
		})
}

func verify(t *testing.T, p *server.Process, generation int) {
	t.Helper()
	wrong := 0
	pipelined(t, p, million,
		func(dst []byte, i int) []byte { return raw.Append(dst, "GET", key(i)) },
		func(i int, r raw.Reply) {
			if r.Text != value(generation, i) {
				if wrong++; wrong <= 5 {
					t.Errorf("GET %s: %s, want %q", key(i), r, value(generation, i))
				}
			}
		})
	if wrong > 0 {
		t.Errorf("%d of %d values were wrong", wrong, million)
	}
}

// TestAMillionRecordsFitTheStatedMemory loads a million records, reads each
// back, and overwrites all of them, which must not grow the process.
func TestAMillionRecordsFitTheStatedMemory(t *testing.T) {
	p := server.Start(t)
	load(t, p, 1)
	c := raw.Dial(t, p.Addr)
	c.Want(":\"1000000\"", "DBSIZE")
	resident := p.Resident(t)
	t.Logf("resident with a million records: %.1f MiB", float64(resident)/mib)
	verify(t, p, 1)
	resident = max(resident, p.Resident(t))
	if resident > residentBound && !server.UnderTestIsRedis() {
		t.Errorf("resident memory %.1f MiB, allowed are %d MiB", float64(resident)/mib, residentBound/mib)
	}
	load(t, p, 2)
	verify(t, p, 2)
	c.Want(":\"1000000\"", "DBSIZE")
	after := p.Resident(t)
	t.Logf("resident after every record was overwritten: %.1f MiB", float64(after)/mib)
	if grown := after - resident; grown > 16*mib {
		t.Errorf("overwriting every record grew the process by %.1f MiB", float64(grown)/mib)
	}
	seen := make([]bool, million)
	count := 0
	cursor := "0"
	for {
		r := c.Do("SCAN", cursor, "COUNT", "5000")
		if len(r.Elems) != 2 {
			t.Fatalf("SCAN %s: %s", cursor, r)
		}
		for _, k := range r.Elems[1].Elems {
			var i int
			if _, err := fmt.Sscanf(k.Text, "key:%d", &i); err != nil || i >= million {
				t.Fatalf("SCAN returned %s", k)
			}
			if !seen[i] {
				seen[i] = true
				count++
			}
		}
		if cursor = r.Elems[0].Text; cursor == "0" {
			break
		}
	}
	if count != million {
		t.Errorf("SCAN returned %d different keys, want %d", count, million)
	}
}

// TestAFullCacheRefusesByNameAndKeepsWhatItHas: beyond the limit writes get the
// OOM error, reads and deletes go on, and room that is freed is used.
func TestAFullCacheRefusesByNameAndKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	p := server.Start(t, "--max-memory", "32mb")
	stored, refused := 0, 0
	pipelined(t, p, million/2,
		func(dst []byte, i int) []byte { return raw.Append(dst, "SET", key(i), value(1, i)) },
		func(i int, r raw.Reply) {
			switch r.String() {
			case `+"OK"`:
				stored++
			case `-"OOM command not allowed when used memory > 'maxmemory'."`:
				refused++
			default:
				t.Fatalf("SET %s: %s", key(i), r)
			}
		})
	if refused == 0 || stored < 100_000 {
		t.Fatalf("%d stored and %d refused within 32 MiB", stored, refused)
	}
	c := raw.Dial(t, p.Addr)
	c.Want(fmt.Sprintf(":\"%d\"", stored), "DBSIZE")
	found := 0
	pipelined(t, p, million/2,
		func(dst []byte, i int) []byte { return raw.Append(dst, "GET", key(i)) },
		func(i int, r raw.Reply) {
			if r.Null {
				return
			}
			if found++; r.Text != value(1, i) {
				t.Fatalf("GET %s: %s", key(i), r)
			}
		})
	if found != stored {
		t.Errorf("%d records are readable, %d were stored", found, stored)
	}
	// Another size uses the memory that the first one leaves.
	c.Want(`+"OK"`, "FLUSHALL")
	for i := range 5000 {
		if r := c.Do("SETRANGE", fmt.Sprint("large", i), "3999", "x"); r.Int() != 4000 {
			t.Fatalf("record %d of 4000 bytes after FLUSHALL: %s", i, r)
		}
	}
	if resident := p.Resident(t); resident > 96*mib {
		t.Errorf("resident memory %d MiB under a limit of 32 MiB", resident/mib)
	}
}
