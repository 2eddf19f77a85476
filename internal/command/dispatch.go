package command

import (
	"strings"
)

// Limits of the text that an unknown command is answered with, as in Redis.
const (
	maxEchoedName = 128
	// maxEchoedArgument is how many bytes of an argument an error text shows where Redis shows all of them.
	maxEchoedArgument = 1024
	maxEchoedArgs     = 128
)

// execute checks and runs one command. The order of the checks is that of Redis: a name that exists, the number of
// arguments, then the right to call it.
func (c *Client) execute(cmd *Command, args [][]byte) {
	l := c.loop
	l.commands++
	if cmd == nil {
		c.reject(nil, unknownCommand(args))
		return
	}
	if len(cmd.Sub) > 0 && len(args) > 1 {
		sub := cmd.sub(args[1])
		if sub == nil {
			c.reject(cmd, unknownSub(cmd, args[1]))
			return
		}
		cmd = sub
	}
	if !cmd.accepts(len(args)) {
		c.reject(cmd, wrongArgs(cmd))
		return
	}
	if !c.trusted && cmd.Flags&FlagNoAuth == 0 {
		c.reject(cmd, errNoAuth)
		return
	}
	if c.mode != replyOn {
		c.executeMuted(cmd, args)
		return
	}
	c.call(cmd, args)
}

// call runs the handler.
func (c *Client) call(cmd *Command, args [][]byte) {
	n := c.loop.count(cmd)
	n.calls++
	c.last = cmd
	c.failed = false
	if c.wanted == "" || c.arrive(cmd) {
		cmd.run(c, args)
	}
	if c.failed {
		n.failed++
		c.loop.published.errors.Add(1)
	}
}

// reject replies with an error to a command that does not run. cmd is nil when there is none.
func (c *Client) reject(cmd *Command, text string) {
	if cmd != nil {
		c.loop.count(cmd).rejected++
	}
	c.loop.published.errors.Add(1)
	if c.mode != replyOn {
		c.mode = c.mode.next()
		return
	}
	c.fail(text)
}

// executeMuted runs a command whose reply is thrown away.
func (c *Client) executeMuted(cmd *Command, args [][]byte) {
	before := c.mode
	c.moded = false
	c.mute()
	c.call(cmd, args)
	if c.muted {
		c.unmute()
	}
	if !c.moded {
		c.mode = before.next()
	}
}

// next returns the mode after one command.
func (m replyMode) next() replyMode {
	if m == replySkip {
		return replyOn
	}
	return m
}

func (c *Client) mute() {
	c.flush()
	c.muted = true
}

func (c *Client) unmute() {
	c.b = nil
	c.muted = false
}

// wrongArgs refuses the number of arguments.
func wrongArgs(cmd *Command) string {
	return "ERR wrong number of arguments for '" + cmd.full() + "' command"
}

// unknownSub refuses a second word.
func unknownSub(cmd *Command, word []byte) string {
	return "ERR unknown subcommand '" + clip(word, maxEchoedName) + "'. Try " + strings.ToUpper(cmd.Name) + " HELP."
}

// unknownCommand refuses a name, with the start of what came with it: enough to find the caller.
func unknownCommand(args [][]byte) string {
	var echo strings.Builder
	for _, a := range args[1:] {
		if echo.Len() >= maxEchoedArgs {
			break
		}
		echo.WriteString("'" + clip(a, maxEchoedArgs-echo.Len()) + "' ")
	}
	return "ERR unknown command '" + clip(args[0], maxEchoedName) + "', with args beginning with: " + echo.String()
}

// clip returns what an error text may show of a client's bytes: at most n of them, up to the first NUL, where the format of
// Redis stops, and with spaces for CR and LF.
func clip(b []byte, n int) string {
	text := append([]byte(nil), b[:min(n, len(b))]...)
	for i, x := range text {
		switch x {
		case 0:
			return string(text[:i])
		case '\r', '\n':
			text[i] = ' '
		}
	}
	return string(text)
}
