package command

// maxEmbedded is the longest value for which Redis keeps object and bytes in one allocation.
const maxEmbedded = 44

const errNoFrequency = "ERR An LFU maxmemory policy is not selected, access frequency not tracked. " +
	"Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust."

// objectEncoding names the encoding Redis would choose for a value that was just set. Larder has one layout for all
// values and one for counters, so a value that APPEND or SETRANGE changed is not "raw" because of it.
func objectEncoding(c *Client, args [][]byte) {
	x := c.db().Lock(c.db().Hash(args[2]), args[2])
	found, size := x.Found(), x.Meta().Size
	_, err := x.Int()
	x.Unlock()
	switch {
	case !found:
		c.null()
	case err == nil:
		c.text("int")
	case size <= maxEmbedded:
		c.text("embstr")
	default:
		c.text("raw")
	}
}

// objectRefcount replies 1: a record belongs to its key alone.
func objectRefcount(c *Client, args [][]byte) {
	if _, found := c.db().Peek(c.db().Hash(args[2]), args[2]); !found {
		c.null()
		return
	}
	c.int(1)
}

// objectFreq refuses as Redis does under every policy that counts no accesses, which holds here.
func objectFreq(c *Client, args [][]byte) {
	if _, found := c.db().Peek(c.db().Hash(args[2]), args[2]); !found {
		c.null()
		return
	}
	c.fail(errNoFrequency)
}

// objectIdletime replies 0 for every key: records carry no time of their last access, and 0 is the one idle time that
// never makes a client drop a key in use.
func objectIdletime(c *Client, args [][]byte) {
	if _, found := c.db().Peek(c.db().Hash(args[2]), args[2]); !found {
		c.null()
		return
	}
	c.int(0)
}

func objectHelp(c *Client, _ [][]byte) {
	c.lines(
		"OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"ENCODING <key>",
		"    Reply with the name of the encoding of the value of <key>.",
		"FREQ <key>",
		"    Reply with how often <key> is used, where a policy counts that.",
		"IDLETIME <key>",
		"    Reply with the seconds since the last use of <key>; 0 as long as no policy needs it.",
		"REFCOUNT <key>",
		"    Reply with the number of references to the value of <key>, which is 1.",
		"HELP",
		"    Print this text.",
	)
}

func memoryHelp(c *Client, _ [][]byte) {
	c.lines(
		"MEMORY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"USAGE <key> [SAMPLES <count>]",
		"    Reply with the bytes that <key> and its value take. <count> changes nothing.",
		"HELP",
		"    Print this text.",
	)
}

// lines replies with an array of lines of text.
func (c *Client) lines(text ...string) {
	c.array(len(text))
	for _, line := range text {
		c.simple(line)
	}
}

// memoryUsage replies with the bytes a record takes: its cell and its share of the index. SAMPLES is checked and changes
// nothing, for there are no nested values to sample.
func memoryUsage(c *Client, args [][]byte) {
	for i := 3; i < len(args); i += 2 {
		if !isWord(args[i], "SAMPLES") || i+1 == len(args) {
			c.fail(errSyntax)
			return
		}
		n, ok := integer(args[i+1])
		switch {
		case !ok:
			c.fail(errNotInt)
			return
		case n < 0:
			c.fail(errSyntax)
			return
		}
	}
	n, found := c.db().Usage(c.db().Hash(args[2]), args[2])
	if !found {
		c.null()
		return
	}
	c.int(int64(n))
}
