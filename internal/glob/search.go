package glob

// shiftAnd searches one segment: for each byte value it has one bit per element that accepts the byte.
type shiftAnd struct {
	words int
	masks []uint64 // words per byte value; built at the first search
	state []uint64
}

// find is Pattern.find in time len(s) * elements/64: bit k of the state says that the elements 0 to k match the bytes
// that end here.
func (a *shiftAnd) find(p *Pattern, g segment, s []byte) int {
	if a.masks == nil {
		a.build(p, g)
	}
	clear(a.state)
	lastWord, lastBit := a.words-1, uint64(1)<<(uint(g.len()-1)&63)
	top := 0 // the words above it are zero
	for i, c := range s {
		mask := a.masks[int(c)*a.words:][:a.words]
		carry := uint64(1)
		highest := 0
		for w := 0; w <= top; w++ {
			v := a.state[w]
			next := (v<<1 | carry) & mask[w]
			carry = v >> 63
			a.state[w] = next
			if next != 0 {
				highest = w
			}
		}
		if carry != 0 && top < lastWord && mask[top+1]&1 != 0 {
			a.state[top+1] = 1
			highest = top + 1
		}
		top = highest
		if a.state[lastWord]&lastBit != 0 {
			return i + 1 - g.len()
		}
	}
	return -1
}

func (a *shiftAnd) build(p *Pattern, g segment) {
	a.words = (g.len() + 63) / 64
	a.masks = make([]uint64, 256*a.words)
	a.state = make([]uint64, a.words)
	for k, e := range p.elems[g.from:g.to] {
		word, bit := k>>6, uint64(1)<<(uint(k)&63)
		for c := range 256 {
			if p.is(e, byte(c)) {
				a.masks[c*a.words+word] |= bit
			}
		}
	}
}
