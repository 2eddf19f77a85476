package command

import "encoding/binary"

// maxName is the longest name of a command: two words hold it.
const maxName = 16

// names finds a command by its name in one step. A name of up to 16 letters is loaded as two words that overlap in the
// middle; setting bit 5 of every byte lowers its letters and turns no other byte into one. The product of the words with
// a multiplier that newNames has searched picks a slot of its own for every name, so one comparison decides.
type names struct {
	slots      []nameSlot
	multiplier uint64
	shift      uint
}

type nameSlot struct {
	lo, hi uint64
	length int
	cmd    *Command
}

// lower has bit 5 set in every byte: 'A'|0x20 is 'a', and only 'A' and 'a' give 'a'. (The colon of "host:" has a double,
// 0x1a, which does no harm.)
const lower = 0x2020202020202020

// words loads a name of 1 to 16 bytes. Together with the length they are different for different names.
func words(name []byte) (lo, hi uint64) {
	n := len(name)
	switch {
	case n >= 8:
		return binary.LittleEndian.Uint64(name) | lower, binary.LittleEndian.Uint64(name[n-8:]) | lower
	case n >= 4:
		lo = uint64(binary.LittleEndian.Uint32(name)) | uint64(binary.LittleEndian.Uint32(name[n-4:]))<<32
	default:
		lo = uint64(name[0]) | uint64(name[n>>1])<<8 | uint64(name[n-1])<<16
	}
	return lo | lower, 0
}

func (t *names) slot(lo, hi uint64, n int) uint64 {
	return ((lo + uint64(n)) ^ hi>>3) * t.multiplier >> t.shift
}

// find returns the command, or nil.
func (t *names) find(name []byte) *Command {
	if uint(len(name)-1) >= maxName {
		return nil
	}
	lo, hi := words(name)
	s := &t.slots[t.slot(lo, hi, len(name))]
	if s.lo == lo && s.hi == hi && s.length == len(name) {
		return s.cmd
	}
	return nil
}

// newNames searches the multiplier. It panics on a name that words cannot tell apart from others.
func newNames(list []*Command) names {
	t := names{shift: 64}
	for size := 1; size < 8*len(list); size *= 2 {
		t.shift--
	}
	t.multiplier = 0x9e3779b97f4a7c15
search:
	for {
		t.slots = make([]nameSlot, 1<<(64-t.shift))
		for _, cmd := range list {
			checkName(cmd.Name)
			lo, hi := words([]byte(cmd.Name))
			s := &t.slots[t.slot(lo, hi, len(cmd.Name))]
			if s.cmd != nil {
				if s.cmd.Name == cmd.Name {
					panic("command: two rows for " + cmd.Name)
				}
				t.multiplier = t.multiplier*6364136223846793005 + 1442695040888963407 | 1
				continue search
			}
			*s = nameSlot{lo, hi, len(cmd.Name), cmd}
		}
		return t
	}
}

func checkName(name string) {
	if len(name) == 0 || len(name) > maxName {
		panic("command: no room for the name " + name)
	}
	for _, b := range []byte(name) {
		if (b < 'a' || b > 'z') && b != ':' {
			panic("command: not a lower case letter in " + name)
		}
	}
}
