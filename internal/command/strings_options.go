package command

// stringOption is one word of the options that SET and GETEX share.
type stringOption uint16

const (
	optNX stringOption = 1 << iota
	optXX
	optGet
	optKeepTTL
	optPersist
	optEX
	optPX
	optEXAT
	optPXAT

	optTimes       = optEX | optPX | optEXAT | optPXAT
	optionsOfSet   = optNX | optXX | optGet | optKeepTTL | optTimes
	optionsOfGetex = optPersist | optTimes
)

// stringOptions are the options of one call. The time is kept as it was written: Redis looks at the form of all options
// before it looks at the value of the time.
type stringOptions struct {
	set  stringOption
	time []byte
}

func (o *stringOptions) has(w stringOption) bool { return o.set&w != 0 }
func (o *stringOptions) timed() bool             { return o.has(optTimes) }

// parseStringOptions reads the words of a call; false is a syntax error. A word may be repeated (the last time counts);
// two words that contradict each other are an error, and so is a word the command does not know.
func parseStringOptions(args [][]byte, known stringOption) (o stringOptions, ok bool) {
	for i := 0; i < len(args); i++ {
		w, excludes := stringWord(args[i])
		if w&known == 0 || o.has(excludes) {
			return o, false
		}
		if w&optTimes != 0 {
			i++
			if i == len(args) {
				return o, false
			}
			o.time = args[i]
		}
		o.set |= w
	}
	return o, true
}

// stringWord returns the option that arg spells and the options it cannot stand beside.
func stringWord(arg []byte) (w, excludes stringOption) {
	const ttl = optTimes | optKeepTTL | optPersist
	switch {
	case isWord(arg, "NX"):
		return optNX, optXX
	case isWord(arg, "XX"):
		return optXX, optNX
	case isWord(arg, "EX"):
		return optEX, ttl &^ optEX
	case isWord(arg, "PX"):
		return optPX, ttl &^ optPX
	case isWord(arg, "GET"):
		return optGet, 0
	case isWord(arg, "KEEPTTL"):
		return optKeepTTL, ttl &^ optKeepTTL
	case isWord(arg, "EXAT"):
		return optEXAT, ttl &^ optEXAT
	case isWord(arg, "PXAT"):
		return optPXAT, ttl &^ optPXAT
	case isWord(arg, "PERSIST"):
		return optPersist, ttl &^ optPersist
	}
	return 0, 0
}

// deadline returns the milliseconds since the epoch that the time means, or the text that refuses it: invalid when it is
// out of range or not positive.
func (o *stringOptions) deadline(now int64, invalid string) (at int64, refusal string) {
	n, ok := integer(o.time)
	if !ok {
		return 0, errNotInt
	}
	unit := int64(second)
	if o.has(optPX | optPXAT) {
		unit = millisecond
	}
	if o.has(optEXAT | optPXAT) {
		now = 0
	}
	if at, ok = deadline(n, unit, now); !ok || n <= 0 {
		return 0, invalid
	}
	return at, ""
}

// isWord reports whether arg spells word, which is in capitals, in either case.
func isWord(arg []byte, word string) bool {
	if len(arg) != len(word) {
		return false
	}
	for i, b := range arg {
		if 'a' <= b && b <= 'z' {
			b -= 'a' - 'A'
		}
		if b != word[i] {
			return false
		}
	}
	return true
}
