package netbuf

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/larder-cache/larder/internal/invariants"
)

func newOutput() (*Output, *Blocks) {
	b := NewPool().NewBlocks(DefaultBudget)
	o := new(Output)
	o.Bind(b)
	return o, b
}

// contents returns the unwritten bytes.
func contents(o *Output) []byte {
	return bytes.Join(o.Vector(make([][]byte, 0, 1000)), nil)
}

func TestRepliesAreBuiltInPlace(t *testing.T) {
	o, b := newOutput()
	tail := o.Tail(10)
	if len(tail) != 0 || cap(tail) < 10 {
		t.Fatalf("an empty chain has a tail of %d, %d", len(tail), cap(tail))
	}
	o.SetTail(append(tail, "hello"...))
	again := o.Tail(10)
	if &again[0] != &tail[:1][0] || string(again) != "hello" || o.Len() != 5 || o.Pieces() != 1 {
		t.Fatalf("tail %q, %d bytes in %d pieces", again, o.Len(), o.Pieces())
	}
	big := o.Tail(100_000)
	if len(big) != 0 || cap(big) != 100_000 {
		t.Fatalf("a reply of 100,000 has a block of %d", cap(big))
	}
	o.SetTail(big[:100_000])
	if o.Len() != 100_005 || o.Pieces() != 2 || len(o.First()) != 5 {
		t.Fatalf("%d bytes in %d pieces", o.Len(), o.Pieces())
	}
	o.Consume(100_005)
	checkBooks(t, b.pool, b)
	if s := b.pool.Stats(); s.Large != 0 || s.Classes[2].InUse != 0 {
		t.Errorf("blocks in use after everything is written: %+v", s)
	}
	if o.tail != nil || o.full != nil {
		t.Error("an empty chain holds memory")
	}
}

func TestAppendBeyondTheTailIsNotLost(t *testing.T) {
	o, b := newOutput()
	o.SetTail(append(o.Tail(1), "start "...))
	long := bytes.Repeat([]byte("x"), 3*OutputBlock)
	o.SetTail(append(o.Tail(1), long...))
	o.Append([]byte(" end"))
	want := append(append([]byte("start "), long...), " end"...)
	if !bytes.Equal(contents(o), want) || o.Len() != len(want) {
		t.Fatalf("%d bytes, want %d", o.Len(), len(want))
	}
	// A chain without a block takes bytes of any origin too.
	o.Consume(o.Len())
	o.SetTail([]byte("foreign"))
	if string(contents(o)) != "foreign" || o.Len() != 7 {
		t.Fatalf("got %q", contents(o))
	}
	o.Release()
	if s := checkBooks(t, b.pool, b); s.Classes[2].InUse != 0 || s.Large != 0 {
		t.Errorf("blocks in use: %+v", s)
	}
}

func TestOutputAgainstModel(t *testing.T) {
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 3))
		o, b := newOutput()
		var model []byte
		next := byte(0)
		for range 250 {
			switch r.IntN(3) {
			case 0, 1:
				n := r.IntN(3000)
				if r.IntN(20) == 0 {
					n = r.IntN(60_000)
				}
				p := make([]byte, n)
				for i := range p {
					p[i] = next
					next += 7
				}
				room := n
				if r.IntN(10) == 0 {
					room = n / 2
				}
				o.SetTail(append(o.Tail(room), p...))
				model = append(model, p...)
			case 2:
				n := r.IntN(len(model) + 1)
				if len(model) > 120_000 {
					n = len(model)
				}
				o.Consume(n)
				model = model[n:]
			}
			if o.Len() != len(model) {
				t.Fatalf("seed %d: %d bytes, want %d", seed, o.Len(), len(model))
			}
			if !bytes.Equal(contents(o), model) {
				t.Fatalf("seed %d: contents differ", seed)
			}
			if len(model) > 0 && (len(o.First()) == 0 || !bytes.HasPrefix(model, o.First())) {
				t.Fatalf("seed %d: the first piece is not the oldest", seed)
			}
			if o.Pieces() != len(o.Vector(make([][]byte, 0, 1000))) {
				t.Fatalf("seed %d: %d pieces", seed, o.Pieces())
			}
			if v := o.Vector(make([][]byte, 0, 2)); len(v) > 2 {
				t.Fatalf("seed %d: vector of %d for room of 2", seed, len(v))
			}
		}
		o.Release()
		s := checkBooks(t, b.pool, b)
		for _, c := range s.Classes {
			if c.InUse != 0 {
				t.Fatalf("seed %d: %+v", seed, c)
			}
		}
	}
}

func TestSwapHandsTheChainOver(t *testing.T) {
	o, b := newOutput()
	var other Output
	other.Bind(b)
	o.Append([]byte("first"))
	other.Swap(o)
	o.Append([]byte("second"))
	if string(contents(&other)) != "first" || string(contents(o)) != "second" {
		t.Fatalf("%q and %q", contents(&other), contents(o))
	}
	other.Release()
	o.Release()
	checkBooks(t, b.pool, b)
}

func TestChainAllocatesNothingInSteadyUse(t *testing.T) {
	if invariants.Enabled {
		t.Log("the guard of this build allocates; only the plain build promises this")
		return
	}
	o, _ := newOutput()
	reply := bytes.Repeat([]byte("r"), 300)
	run := func() {
		for range 500 {
			o.SetTail(append(o.Tail(len(reply)), reply...))
		}
		for o.Len() > 0 {
			o.Consume(min(o.Len(), 10_000))
		}
	}
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations for 500 replies", n)
	}
}

func BenchmarkReply(b *testing.B) {
	o, _ := newOutput()
	reply := []byte("$5\r\nhello\r\n")
	for b.Loop() {
		o.SetTail(append(o.Tail(64), reply...))
		o.Consume(o.Len())
	}
}
