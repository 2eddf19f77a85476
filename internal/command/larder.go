package command

import (
	"strconv"

	"github.com/larder-cache/larder/internal/memory"
	"github.com/larder-cache/larder/internal/store"
)

const (
	// leakPlaces is the most places that LARDER LEAKCHECK REPORT shows.
	leakPlaces = 30
	// maxLeakRate is the largest distance of two cells that the leak check looks at.
	maxLeakRate = 1 << 20

	errLeakcheck = "ERR LARDER LEAKCHECK is ON [RATE n], OFF or REPORT; n is 1 to 1048576"
	errMemoryMap = "ERR LARDER MEMORY is MAP"
)

// larderAudit replies with a map of figures and the list of what is wrong, on a goroutine of its own.
func larderAudit(c *Client, _ [][]byte) {
	var (
		r   store.AuditReport
		err error
	)
	c.later(func() { r, err = c.server.store.Audit() }, func() {
		if err != nil {
			c.failErr(err)
			return
		}
		number := func(name string, n int64) {
			c.text(name)
			c.int(n)
		}
		c.mapHeader(9)
		c.text("healthy")
		if r.Healthy() {
			c.text("yes")
		} else {
			c.text("no")
		}
		number("collections", int64(r.Collections))
		number("records", r.Records)
		number("cells", r.Cells)
		number("lost-cells", int64(r.LostCells))
		number("lost-bytes", r.LostBytes)
		number("busy-lanes", int64(r.BusyLanes))
		number("milliseconds", r.Took.Milliseconds())
		c.text("faults")
		c.array(len(r.Faults))
		for _, f := range r.Faults {
			c.text(f)
		}
	})
}

// larderLeakcheck switches the leak check on and off and shows what it knows.
func larderLeakcheck(c *Client, args [][]byte) {
	s := c.server.store
	switch {
	case isWord(args[2], "ON") && len(args) == 3:
		s.StartLeakCheck(1)
		c.ok()
	case isWord(args[2], "ON") && len(args) == 5 && isWord(args[3], "RATE"):
		n, ok := integer(args[4])
		if !ok || n < 1 || n > maxLeakRate {
			c.fail(errLeakcheck)
			return
		}
		s.StartLeakCheck(int(n))
		c.ok()
	case isWord(args[2], "OFF") && len(args) == 3:
		s.StopLeakCheck()
		c.ok()
	case isWord(args[2], "REPORT") && len(args) == 3:
		var text string
		c.later(func() { text = store.LeakText(s.Leaks(), leakPlaces) }, func() { c.text(text) })
	default:
		c.fail(errLeakcheck)
	}
}

// larderMemory replies with one line for each 2 MiB that were ever used: what for, the pages, how many of its eight pieces
// are in use, how many percent of its bytes are in cells handed out, and the size of the cells of each piece.
func larderMemory(c *Client, args [][]byte) {
	if !isWord(args[2], "MAP") {
		c.fail(errMemoryMap)
		return
	}
	var groups []memory.GroupMap
	c.later(func() { groups = c.server.store.MemoryMap() }, func() {
		c.array(len(groups))
		var line []byte
		for i := range groups {
			line = appendGroup(line[:0], &groups[i])
			c.bulk(line)
		}
	})
}

func appendGroup(b []byte, g *memory.GroupMap) []byte {
	b = append(b, g.State.String()...)
	if g.State == memory.GroupCold || g.State == memory.GroupUnused {
		return b
	}
	b = append(append(b, " pages="...), g.Tier.String()...)
	b = strconv.AppendInt(append(b, " used="...), int64(g.Used), 10)
	b = strconv.AppendInt(append(b, " live="...), g.Live*100/memory.GroupSize, 10)
	b = append(b, "% sizes="...)
	for i, size := range g.Sizes {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(size), 10)
	}
	return b
}

func larderHelp(c *Client, _ [][]byte) {
	c.lines(
		"LARDER <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"AUDIT",
		"    Compare all memory in use with what records and indexes name, beside other commands.",
		"LEAKCHECK ON [RATE <n>]|OFF|REPORT",
		"    Remember where one of <n> pieces of memory is allocated, and report what is still in use.",
		"MEMORY MAP",
		"    Reply with what each 2 MiB of memory is used for.",
		"HELP",
		"    Print this text.",
	)
}
