package command

import "github.com/larder-cache/larder/internal/wire"

// gatherPiece is the size of the pieces of a reply that is gathered beside the output.
const gatherPiece = 1 << 20

// gathered is an array of strings whose number is known only at its end, which therefore waits beside the output. It is in
// pieces, because one slice would be copied again and again as it grows and leave twice its size to the garbage collector.
type gathered struct {
	full  [][]byte // pieces that are RESP already
	last  []byte
	bytes int64
	n     int   // strings
	limit int64 // bytes; 0 = none
}

// add appends a string. It reports whether the limit allows more.
func (g *gathered) add(b []byte) bool {
	const frame = 16 // "$", a length below 2^31, and two line ends
	if n := len(b) + frame; len(g.last) > 0 && len(g.last)+n > gatherPiece {
		g.full = append(g.full, g.last)
		g.last = make([]byte, 0, max(n, gatherPiece))
	}
	before := len(g.last)
	g.last = wire.AppendBulk(g.last, b)
	g.bytes += int64(len(g.last) - before)
	g.n++
	return !g.excessive()
}

// excessive reports whether more was gathered than the reply may have.
func (g *gathered) excessive() bool { return g.limit > 0 && g.bytes > g.limit }

// gathered replies with what was gathered, or cuts the connection when that is too much. Each piece is let go when the
// output has it.
func (c *Client) gathered(g *gathered) {
	if g.excessive() {
		c.cut()
		return
	}
	c.array(g.n)
	for i, piece := range g.full {
		if c.excessive() {
			return
		}
		c.raw(piece)
		g.full[i] = nil
	}
	c.raw(g.last)
}
