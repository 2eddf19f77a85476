package glob

// Reset compiles pattern into p in place of what p held, reusing its memory. The pattern is not retained. On an error
// (ErrTooLong) p matches only the empty string.
func (p *Pattern) Reset(pattern []byte, fold bool) error {
	p.clear(fold)
	if len(pattern) > MaxPattern {
		return ErrTooLong
	}
	start, plain := 0, true
	cut := func() {
		p.segments = append(p.segments, segment{from: int32(start), to: int32(len(p.elems)), plain: plain})
		start, plain = len(p.elems), true
	}
	for i := 0; i < len(pattern); {
		switch c := pattern[i]; c {
		case '*':
			// Stars in a row are one star: only the first of all segments may be empty here.
			if !p.stars || start != len(p.elems) {
				cut()
			}
			p.stars = true
			i++
		case '?':
			p.add(anyByte)
			plain = false
			i++
		case '[':
			e, n := p.set(pattern[i+1:])
			p.add(e)
			plain = plain && e < anyByte
			i += 1 + n
		default:
			if c == '\\' && i+1 < len(pattern) {
				i++
				c = pattern[i]
			}
			p.add(element(c))
			plain = plain && !fold
			i++
		}
	}
	cut()
	if !p.plan() {
		p.clear(fold)
		return ErrTooLong
	}
	return nil
}

// plan gives a table to each segment between two stars that may need one; false when they exceed MaxSearch.
func (p *Pattern) plan() bool {
	searched := 0
	for i := 1; i < len(p.segments)-1; i++ {
		g := &p.segments[i]
		if g.plain || g.len() <= shortSearch {
			continue
		}
		if searched += g.len(); searched > MaxSearch {
			return false
		}
		p.tables = append(p.tables, shiftAnd{})
		g.table = int32(len(p.tables))
	}
	return true
}

func (p *Pattern) clear(fold bool) {
	if cap(p.elems) > keepElements || cap(p.segments) > keepElements || cap(p.sets) > keepElements {
		*p = Pattern{}
	}
	p.elems, p.lits, p.segments, p.sets = p.elems[:0], p.lits[:0], p.segments[:0], p.sets[:0]
	p.tables = p.tables[:0]
	p.stars, p.fold = false, fold
}

func (p *Pattern) add(e element) {
	p.elems = append(p.elems, e)
	var lit byte
	if e < anyByte {
		lit = byte(e)
	}
	p.lits = append(p.lits, lit)
}

// set compiles what follows a '[' and returns its element and the bytes it took, the ']' included. A set of exactly one
// byte becomes that byte.
func (p *Pattern) set(in []byte) (element, int) {
	var s set
	i := 0
	not := len(in) > 0 && in[0] == '^'
	if not {
		i++
	}
	members := 0
	var only byte
	for ; i < len(in) && in[i] != ']'; i++ {
		lo := in[i]
		hi := lo
		switch {
		case lo == '\\' && i+1 < len(in):
			i++
			lo = in[i]
			hi = lo
			// An escaped byte of a set is compared exactly even when case is folded, as in Redis.
			s.add(lo)
		case i+2 < len(in) && in[i+1] == '-':
			hi = in[i+2]
			i += 2
			if lo > hi {
				lo, hi = hi, lo
			}
			p.members(&s, lo, hi)
		default:
			p.members(&s, lo, hi)
		}
		members += 1 + int(hi) - int(lo)
		only = lo
	}
	if i < len(in) {
		i++ // the ']'
	}
	if members == 1 && !not && !p.fold {
		return element(only), i
	}
	if not {
		s.invert()
	}
	p.sets = append(p.sets, s)
	return firstSet + element(len(p.sets)-1), i
}

// members adds the bytes from lo to hi. Folding lowers the ends first and the byte of the key too, as in Redis: "[Z-a]"
// is an empty range then.
func (p *Pattern) members(s *set, lo, hi byte) {
	if !p.fold {
		s.addRange(lo, hi)
		return
	}
	lo, hi = lower(lo), lower(hi)
	if lo > hi {
		return
	}
	var folded set
	folded.addRange(lo, hi)
	for c := range 256 {
		if folded.has(lower(byte(c))) {
			s.add(byte(c))
		}
	}
}
