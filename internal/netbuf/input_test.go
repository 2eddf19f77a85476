package netbuf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/larder-cache/larder/internal/invariants"
)

// framed reads frames with a length of two bytes, the length included, out of an Input as a loop would.
type framed struct {
	in      Input
	blocks  *Blocks
	size    int
	need    int
	frames  [][]byte
	keep    bool // remember the frames
	compact bool // move the remainder to the front after every frame, for comparison
	moved   uint64
}

func newFramed(size int) *framed {
	return &framed{blocks: NewPool().NewBlocks(DefaultBudget), size: size, keep: true}
}

// room returns the space to read into.
func (f *framed) room() []byte { return f.in.Space(f.blocks, f.size, f.need) }

// feed reads p, as much at a time as there is space, and takes the frames out after every read.
func (f *framed) feed(p []byte) {
	for len(p) > 0 {
		n := copy(f.room(), p)
		p = p[n:]
		f.in.Filled(n)
		f.deliver()
	}
}

func (f *framed) deliver() {
	if f.in.Len() < f.need {
		return
	}
	f.need = 0
	in, used := f.in.Bytes(), 0
	for {
		rest := in[used:]
		if len(rest) < 2 {
			break
		}
		n := int(binary.BigEndian.Uint16(rest))
		if len(rest) < n {
			f.need = n
			break
		}
		if f.keep {
			f.frames = append(f.frames, bytes.Clone(rest[:n]))
		}
		used += n
		if f.compact {
			f.moved += uint64(len(rest) - n)
			copy(rest, rest[n:])
			f.in.end -= n
			in = f.in.Bytes()
			used -= n
		}
	}
	f.in.Consume(f.blocks, used)
}

// frame returns a frame of n bytes.
func frame(n int, seed byte) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = seed + byte(i)
	}
	binary.BigEndian.PutUint16(p, uint16(n))
	return p
}

func TestHeaderAndBodyApartMakeOneFrame(t *testing.T) {
	f := newFramed(1024)
	p := frame(300, 1)
	f.feed(p[:2])
	if len(f.frames) != 0 {
		t.Fatal("a header alone made a frame")
	}
	f.feed(p[2:])
	if len(f.frames) != 1 || !bytes.Equal(f.frames[0], p) {
		t.Fatalf("%d frames", len(f.frames))
	}
}

func TestBytesMoveOnlyWhenTheTailCannotHoldTheFrame(t *testing.T) {
	f := newFramed(1024)
	first, second, third := frame(904, 1), frame(28, 2), frame(604, 3)
	f.feed(append(append([]byte(nil), first...), second[:27]...))
	if f.blocks.moved != 0 || len(f.frames) != 1 {
		t.Fatalf("%d bytes moved, %d frames", f.blocks.moved, len(f.frames))
	}
	f.feed(append(second[27:], third...))
	if len(f.frames) != 3 || !bytes.Equal(f.frames[1], second) || !bytes.Equal(f.frames[2], third) {
		t.Fatalf("%d frames", len(f.frames))
	}
	if f.blocks.moved != 92 {
		t.Errorf("%d bytes moved, want the 92 of the one move", f.blocks.moved)
	}
}

func TestKnownFrameHasRoomForOneRead(t *testing.T) {
	f := newFramed(1024)
	f.feed(append(frame(800, 2), frame(400, 3)[:100]...))
	if f.need != 400 {
		t.Fatalf("a frame of %d is known, want 400", f.need)
	}
	if n := len(f.room()); n < 300 {
		t.Errorf("room for %d bytes, the frame lacks 300", n)
	}
}

func TestLargeFrameGrowsOnceAndGoesBack(t *testing.T) {
	f := newFramed(4096)
	large := frame(60_000, 1)
	f.feed(large[:100])
	f.feed(large[100:101])
	if n := len(f.in.buf); n != len(large) {
		t.Fatalf("a block of %d for a frame of %d", n, len(large))
	}
	f.feed(large[101:])
	if f.in.buf != nil || f.blocks.pool.Stats().Large != 0 {
		t.Error("the large block was not given back")
	}
	f.feed(frame(10, 2)[:5])
	if n := len(f.in.buf); n != 4096 {
		t.Errorf("the next frame has a block of %d", n)
	}
}

func TestAnnouncedLengthReservesLittle(t *testing.T) {
	b := NewPool().NewBlocks(DefaultBudget)
	var q Input
	const need = 512 << 20
	q.Filled(copy(q.Space(b, InputBlock, 0), "header"))
	for q.Len() < 16<<20 {
		space := q.Space(b, InputBlock, need)
		if size := len(q.buf); size > max(trustedFrame, growthFactor*q.Len()) {
			t.Fatalf("a block of %d with %d bytes received", size, q.Len())
		}
		q.Filled(min(len(space), 64<<10))
	}
	if b.moved > uint64(q.Len()) {
		t.Errorf("%d bytes moved while %d came", b.moved, q.Len())
	}
	q.Release(b)
}

func TestFrameThatKeepsGrowingIsMovedLinearly(t *testing.T) {
	b := NewPool().NewBlocks(DefaultBudget)
	var q Input
	const total = 32 << 20
	for q.Len() < total {
		// One more argument of 100 bytes is known at a time.
		space := q.Space(b, InputBlock, q.Len()+100)
		q.Filled(min(len(space), 100))
	}
	if b.moved > 2*total {
		t.Errorf("%d bytes moved for %d received", b.moved, total)
	}
	q.Release(b)
}

// moves feeds frames of the given sizes at saturation and returns bytes moved per byte received.
func moves(size, total int, next func() int) float64 {
	f := newFramed(size)
	f.keep = false
	var pending []byte
	received := 0
	for received < total {
		space := f.room()
		for len(pending) < len(space) {
			pending = append(pending, frame(next(), 1)...)
		}
		n := copy(space, pending)
		pending = pending[n:]
		received += n
		f.in.Filled(n)
		f.deliver()
	}
	return float64(f.blocks.moved) / float64(received)
}

// mixed returns frame sizes as a server of many kinds of values sees them.
func mixed() func() int {
	r := rand.New(rand.NewPCG(1, 2))
	return func() int {
		switch r.IntN(20) {
		case 0:
			return 1000 + r.IntN(3000)
		default:
			return 30 + r.IntN(900)
		}
	}
}

func TestBytesMovedPerByteReceived(t *testing.T) {
	for _, c := range []struct {
		name  string
		block int
		next  func() int
		most  float64
	}{
		{"64 B in 1 KiB", 1024, func() int { return 64 }, 0},
		{"100 B in 1 KiB", 1024, func() int { return 100 }, 0.03},
		{"300 B in 1 KiB", 1024, func() int { return 300 }, 0.14},
		{"mixed in 16 KiB", 16 << 10, mixed(), 0.09},
	} {
		if got := moves(c.block, 8<<20, c.next); got > c.most {
			t.Errorf("%s: %.4f moved per byte received, want at most %.2f", c.name, got, c.most)
		}
	}
}

// TestInputAgainstModel reads a stream in pieces of every size and looks at the bytes behind the block and at the
// invariants after every step. The offset must count when the free space is computed.
func TestInputAgainstModel(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		sizes := []int{64, 100, 1024, 4096}
		f := newFramed(sizes[r.IntN(len(sizes))])
		var want [][]byte
		var stream []byte
		for len(stream) < 30_000 {
			n := 2 + r.IntN(200)
			if r.IntN(10) == 0 {
				n = 2 + r.IntN(9000)
			}
			want = append(want, frame(n, byte(len(want))))
			stream = append(stream, want[len(want)-1]...)
		}
		for rest := stream; len(rest) > 0; {
			space := f.room()
			guard := space[len(space):cap(space)]
			for i := range guard {
				guard[i] = 0xee
			}
			n := copy(space[:1+r.IntN(len(space))], rest)
			rest = rest[n:]
			f.in.Filled(n)
			f.deliver()
			for i, v := range guard {
				if v != 0xee && len(f.in.buf) == len(space) {
					t.Fatalf("seed %d: byte %d behind the block was written", seed, i)
				}
			}
			q := &f.in
			if q.off < 0 || q.off > q.end || q.end > len(q.buf) || (q.off == q.end && (q.off != 0 || q.buf != nil)) {
				t.Fatalf("seed %d: off %d end %d of %d", seed, q.off, q.end, len(q.buf))
			}
		}
		if len(f.frames) != len(want) {
			t.Fatalf("seed %d: %d frames, want %d", seed, len(f.frames), len(want))
		}
		for i := range want {
			if !bytes.Equal(f.frames[i], want[i]) {
				t.Fatalf("seed %d: frame %d differs", seed, i)
			}
		}
		checkBooks(t, f.blocks.pool, f.blocks)
	}
}

// FuzzInputSplit gives the same frames for every way to cut a stream.
func FuzzInputSplit(f *testing.F) {
	f.Add([]byte{3, 1, 200, 7}, []byte{1, 2, 3})
	f.Add([]byte{255, 255, 255}, []byte{255})
	f.Add([]byte{1}, []byte{})
	f.Fuzz(func(t *testing.T, lengths, cuts []byte) {
		var stream []byte
		var want [][]byte
		for i, n := range lengths {
			p := frame(2+int(n)*(1+i%40), byte(i))
			want = append(want, p)
			stream = append(stream, p...)
		}
		in := newFramed(256)
		for i := 0; len(stream) > 0; i++ {
			n := len(stream)
			if i < len(cuts) {
				n = min(n, 1+int(cuts[i]))
			}
			in.feed(stream[:n])
			stream = stream[n:]
		}
		if in.in.Len() != 0 || len(in.frames) != len(want) {
			t.Fatalf("%d frames and %d bytes left, want %d frames", len(in.frames), in.in.Len(), len(want))
		}
		for i := range want {
			if !bytes.Equal(in.frames[i], want[i]) {
				t.Fatalf("frame %d differs", i)
			}
		}
	})
}

func TestSmallFramesAllocateNothing(t *testing.T) {
	if invariants.Enabled {
		t.Log("the guard of this build allocates; only the plain build promises this")
		return
	}
	f := newFramed(InputBlock)
	f.keep = false
	for _, size := range []int{64, 1000, 4096, 16 << 10, 32 << 10} {
		p := frame(size, 1)
		f.feed(p)
		if n := testing.AllocsPerRun(100, func() { f.feed(p) }); n != 0 {
			t.Errorf("a frame of %d costs %v allocations", size, n)
		}
	}
}

func BenchmarkInput(b *testing.B) {
	for _, compact := range []bool{false, true} {
		for _, size := range []int{1 << 10, 16 << 10, 64 << 10} {
			b.Run(fmt.Sprintf("compact=%v/block=%d/frame=mixed", compact, size), func(b *testing.B) {
				f := newFramed(size)
				f.keep, f.compact = false, compact
				var stream []byte
				for next := mixed(); len(stream) < 4<<20; {
					stream = append(stream, frame(next(), 1)...)
				}
				b.SetBytes(int64(len(stream)))
				for b.Loop() {
					f.feed(stream)
				}
				b.ReportMetric(float64(f.moved+f.blocks.moved)/float64(b.N*len(stream)), "moved/B")
			})
		}
	}
}
