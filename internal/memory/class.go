package memory

import "math/bits"

const (
	// GroupSize is the unit of commitment, in bytes: one huge page.
	GroupSize = 2 << 20
	// SlotSize is the unit that serves one size class, in bytes.
	SlotSize = 256 << 10
	// MaxCell is the largest cell below a whole slot, in bytes.
	MaxCell = 32 << 10

	fineStep  = 8   // distance of classes up to fineLimit, in bytes
	fineLimit = 256 // bytes
	minCell   = 16  // bytes
	fineCount = (fineLimit-minCell)/fineStep + 1
	perDouble = 8
	doublings = 7 // 256 B to 32 KiB
	wholeSlot = Class(fineCount + perDouble*doublings)

	firstIndex = wholeSlot + 1
	indexCount = 8
	firstHead  = firstIndex + indexCount
	headCount  = 10
	minHead    = 32 // bytes
	classCount = int(firstHead) + headCount

	// noClass marks a slot that no class has.
	noClass = 0xFF
)

// indexSizes are the cells of an index: buckets of one line, segments of 2 KiB, directories that grow four times.
var indexSizes = [indexCount]int{64, 256, 1 << 10, 2 << 10, 4 << 10, 16 << 10, 64 << 10, SlotSize}

// A purpose is what the cells of a class are for. Slots of one purpose share groups, because those of an index can never be
// moved and would pin the groups of records.
type purpose uint8

const (
	forRecords purpose = iota
	forIndex
	purposes = 2
)

// The largest class of the stepped range must be MaxCell.
var _ = [1]struct{}{}[fineLimit<<doublings-MaxCell]

// A Class numbers a size of cells and what they are for: records and their parts, heads of records in several cells, or
// an index.
type Class uint8

// ClassFor returns the smallest class for records whose cells hold n bytes, for n from 0 to SlotSize. Above MaxCell that
// is a whole slot.
func ClassFor(n int) Class {
	switch {
	case n <= minCell:
		return 0
	case n <= fineLimit:
		return Class((n - minCell + fineStep - 1) / fineStep)
	case n <= MaxCell:
		e := bits.Len(uint(n-1)) - 1 // 2^e < n <= 2^(e+1)
		k := (n - 1 - 1<<e) >> (e - 3)
		return Class(fineCount + (e-8)*perDouble + k)
	default:
		return wholeSlot
	}
}

// HeadClassFor returns the class of a head, a cell of up to 16 KiB that names other cells. Heads have slots of their own, so
// that one look at the slot tells them from other records.
func HeadClassFor(n int) Class {
	return firstHead + Class(max(bits.Len(uint(n-1))-bits.Len(minHead-1), 0))
}

// IndexClassFor returns the class for n bytes of an index, up to SlotSize. Its cells are not moved by evacuation.
func IndexClassFor(n int) Class {
	for i, size := range indexSizes {
		if n <= size {
			return firstIndex + Class(i)
		}
	}
	return firstIndex + indexCount - 1
}

// IsHead reports whether the cells of c name other cells.
func (c Class) IsHead() bool { return c >= firstHead && int(c) < classCount }

func (c Class) purpose() purpose {
	if c >= firstIndex && c < firstHead {
		return forIndex
	}
	return forRecords
}

// largest returns the last class of the kind of c that is smaller than a slot.
func (c Class) largest() Class {
	switch {
	case c <= wholeSlot:
		return wholeSlot - 1
	case c < firstHead:
		return firstHead - 2
	default:
		return Class(classCount - 1)
	}
}

// nominalSize is the size of a class before rounding to the arena's unit.
func nominalSize(c Class) int {
	switch {
	case int(c) < fineCount:
		return minCell + int(c)*fineStep
	case c < wholeSlot:
		k := int(c) - fineCount
		e := 8 + k/perDouble
		return 1<<e + (k%perDouble+1)<<(e-3)
	case c == wholeSlot:
		return SlotSize
	case c < firstHead:
		return indexSizes[c-firstIndex]
	default:
		return minHead << (c - firstHead)
	}
}

// A shape is what the arena knows about a class under its unit.
type shape struct {
	size  uint32 // bytes per cell
	cells uint32 // cells per slot
	recip uint32 // ceil(2^32 / size): index = offset * recip >> 32 is exact for multiples of size below SlotSize
	batch uint16 // cells that move between class and magazine at once, at most; 0 = no magazine
}

const (
	magazineBytes = 8 << 10 // most bytes in one magazine
	magazineCells = 64      // most cells in one magazine
)

func shapeOf(c Class, unit int) shape {
	size := (nominalSize(c) + unit - 1) &^ (unit - 1)
	s := shape{size: uint32(size), cells: uint32(SlotSize / size), recip: uint32((1<<32 + uint64(size) - 1) / uint64(size))}
	if size < magazineBytes {
		s.batch = uint16(max(1, min(magazineCells, magazineBytes/size)/2))
	}
	return s
}

// cellIndex returns the number of the cell at offset off of a slot, and whether a cell starts there.
func (s *shape) cellIndex(off uint32) (uint32, bool) {
	i := uint32(uint64(off) * uint64(s.recip) >> 32)
	return i, i < s.cells && i*s.size == off
}
