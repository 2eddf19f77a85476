package command

import (
	"bytes"
	"strings"

	"github.com/larder-cache/larder/internal/glob"
)

const (
	errNoSuchCommand = "ERR Invalid command specified"
	errNoKeys        = "ERR The command has no key arguments"
	errKeysArgs      = "ERR Invalid number of arguments specified for command"
)

// listed returns the commands that the COMMAND family shows.
func listed() []*Command {
	list := make([]*Command, 0, len(commands))
	for _, cmd := range commands {
		if cmd.Flags&FlagHidden == 0 {
			list = append(list, cmd)
		}
	}
	return list
}

// findFull finds a command by the name COMMAND shows: "get" or "config|get".
func findFull(name []byte) *Command {
	word, rest, sub := bytes.Cut(name, []byte("|"))
	cmd := byName.find(word)
	if cmd == nil || cmd.Flags&FlagHidden != 0 {
		return nil
	}
	if sub {
		return cmd.sub(rest)
	}
	return cmd
}

func commandCommand(c *Client, _ [][]byte) {
	list := listed()
	c.array(len(list))
	for _, cmd := range list {
		c.row(cmd)
	}
}

func commandCount(c *Client, _ [][]byte) { c.int(int64(len(listed()))) }

// commandInfo is COMMAND INFO [name ...]: a null stands for a name that is no command.
func commandInfo(c *Client, args [][]byte) {
	if len(args) == 2 {
		commandCommand(c, args)
		return
	}
	c.array(len(args) - 2)
	for _, name := range args[2:] {
		if c.excessive() {
			return
		}
		if cmd := findFull(name); cmd != nil {
			c.row(cmd)
		} else {
			c.null()
		}
	}
}

// row replies with what COMMAND says of a command: name, arity, flags, key positions, categories, tips, keys again in
// the form that can say more, and the subcommands.
func (c *Client) row(cmd *Command) {
	c.array(10)
	c.text(cmd.full())
	c.int(int64(cmd.Arity))
	flags := cmd.Flags.names()
	c.set(len(flags))
	for _, f := range flags {
		c.simple(f)
	}
	c.int(int64(cmd.FirstKey))
	c.int(int64(cmd.LastKey))
	c.int(int64(cmd.Step))
	categories := cmd.categories()
	c.set(len(categories))
	for _, name := range categories {
		c.simple(name)
	}
	c.set(0)
	c.keySpecs(cmd)
	c.set(len(cmd.Sub))
	for i := range cmd.Sub {
		c.row(&cmd.Sub[i])
	}
}

// keySpecs replies with the key positions as begin_search and find_keys.
func (c *Client) keySpecs(cmd *Command) {
	if cmd.FirstKey == 0 {
		c.set(0)
		return
	}
	last := cmd.LastKey
	if last > 0 {
		last -= cmd.FirstKey
	}
	c.set(1)
	c.mapHeader(3)
	c.text("flags")
	access := cmd.keyFlags()
	c.set(len(access))
	for _, f := range access {
		c.simple(f)
	}
	c.text("begin_search")
	c.mapHeader(2)
	c.text("type")
	c.text("index")
	c.text("spec")
	c.mapHeader(1)
	c.text("index")
	c.int(int64(cmd.FirstKey))
	c.text("find_keys")
	c.mapHeader(2)
	c.text("type")
	c.text("range")
	c.text("spec")
	c.mapHeader(3)
	c.text("lastkey")
	c.int(int64(last))
	c.text("keystep")
	c.int(int64(cmd.Step))
	c.text("limit")
	c.int(0)
}

// keyFlags says what the command does to its keys.
func (cmd *Command) keyFlags() []string {
	if cmd.Flags&FlagWrite != 0 {
		return []string{"RW", "access", "update"}
	}
	return []string{"RO", "access"}
}

func (f Flag) names() (list []string) {
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// categories are those of the access lists of Redis that follow from the flags and the group.
func (cmd *Command) categories() []string {
	var list []string
	add := func(yes bool, name string) {
		if yes {
			list = append(list, name)
		}
	}
	add(cmd.Group == "generic", "@keyspace")
	add(cmd.Flags&FlagReadonly != 0 && cmd.FirstKey > 0, "@read")
	add(cmd.Flags&FlagWrite != 0, "@write")
	add(cmd.Group == "string", "@string")
	add(cmd.Flags&FlagAdmin != 0, "@admin")
	add(cmd.Flags&FlagFast != 0, "@fast")
	add(cmd.Flags&FlagFast == 0, "@slow")
	add(cmd.Flags&FlagAdmin != 0 || cmd.dangerous(), "@dangerous")
	add(cmd.Group == "connection", "@connection")
	return list
}

// dangerous reports whether a command of ordinary clients can hurt the others.
func (cmd *Command) dangerous() bool {
	switch cmd.Name {
	case "keys", "flushall", "flushdb":
		return true
	}
	return false
}

// commandDocs is COMMAND DOCS [name ...]; names that are no commands are left out.
func commandDocs(c *Client, args [][]byte) {
	list := listed()
	if len(args) > 2 {
		list = list[:0]
		for _, name := range args[2:] {
			if cmd := findFull(name); cmd != nil {
				list = append(list, cmd)
			}
		}
	}
	c.docs(list)
}

func (c *Client) docs(list []*Command) {
	c.mapHeader(len(list))
	for _, cmd := range list {
		if c.excessive() {
			return
		}
		c.text(cmd.full())
		fields := 4
		if len(cmd.Sub) > 0 {
			fields++
		}
		c.mapHeader(fields)
		c.text("summary")
		c.text(cmd.Summary)
		c.text("since")
		c.text(cmd.Since)
		c.text("group")
		c.text(cmd.Group)
		c.text("complexity")
		c.text(cmd.Complexity)
		if len(cmd.Sub) > 0 {
			c.text("subcommands")
			subs := make([]*Command, len(cmd.Sub))
			for i := range cmd.Sub {
				subs[i] = &cmd.Sub[i]
			}
			c.docs(subs)
		}
	}
}

// commandList is COMMAND LIST [FILTERBY MODULE name | ACLCAT category | PATTERN pattern]. Subcommands are named too.
func commandList(c *Client, args [][]byte) {
	keep := func(*Command) bool { return true }
	switch {
	case len(args) == 2:
	case len(args) == 5 && isWord(args[2], "FILTERBY"):
		want := args[4]
		switch {
		case isWord(args[3], "MODULE"):
			keep = func(*Command) bool { return false }
		case isWord(args[3], "ACLCAT"):
			keep = func(cmd *Command) bool { return cmd.in(want) }
		case isWord(args[3], "PATTERN"):
			keep = func(cmd *Command) bool { return glob.Match(want, []byte(cmd.full()), true) }
		default:
			c.fail(errSyntax)
			return
		}
	default:
		c.fail(errSyntax)
		return
	}
	var names []string
	for _, cmd := range rows {
		if cmd.Flags&FlagHidden == 0 && keep(cmd) {
			names = append(names, cmd.full())
		}
	}
	c.array(len(names))
	for _, name := range names {
		c.text(name)
	}
}

// in reports whether the command is in a category, given without its "@".
func (cmd *Command) in(category []byte) bool {
	for _, name := range cmd.categories() {
		if equalFold(category, name[1:]) {
			return true
		}
	}
	return false
}

func commandGetkeys(c *Client, args [][]byte) {
	_, keys, ok := c.keysOf(args[2:])
	if !ok {
		return
	}
	c.array(len(keys))
	for _, key := range keys {
		if c.excessive() {
			return
		}
		c.bulk(key)
	}
}

func commandGetkeysandflags(c *Client, args [][]byte) {
	cmd, keys, ok := c.keysOf(args[2:])
	if !ok {
		return
	}
	c.array(len(keys))
	for _, key := range keys {
		if c.excessive() {
			return
		}
		c.array(2)
		c.bulk(key)
		access := cmd.keyFlags()
		c.set(len(access))
		for _, f := range access {
			c.simple(f)
		}
	}
}

// keysOf returns the keys in a command, or false when it has replied that there are none.
func (c *Client) keysOf(args [][]byte) (cmd *Command, keys [][]byte, ok bool) {
	cmd = byName.find(args[0])
	if cmd != nil && len(cmd.Sub) > 0 && len(args) > 1 {
		cmd = cmd.sub(args[1])
	}
	switch {
	case cmd == nil || cmd.Flags&FlagHidden != 0:
		c.fail(errNoSuchCommand)
		return nil, nil, false
	case cmd.FirstKey == 0:
		c.fail(errNoKeys)
		return nil, nil, false
	case !cmd.accepts(len(args)):
		c.fail(errKeysArgs)
		return nil, nil, false
	}
	last := cmd.LastKey
	if last < 0 {
		last += len(args)
	}
	for i := cmd.FirstKey; i <= min(last, len(args)-1); i += cmd.Step {
		keys = append(keys, args[i])
	}
	return cmd, keys, true
}

func commandHelp(c *Client, _ [][]byte) {
	c.lines(strings.Split(commandHelpText, "\n")...)
}

const commandHelpText = `COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
(no subcommand)
    Reply with the rows of all commands.
COUNT
    Reply with the number of commands.
DOCS [<command-name> ...]
    Reply with the documentation of commands.
GETKEYS <full-command>
    Reply with the keys in a command.
GETKEYSANDFLAGS <full-command>
    Reply with the keys in a command and what it does to them.
INFO [<command-name> ...]
    Reply with the rows of commands.
LIST [FILTERBY (MODULE <module-name> | ACLCAT <category> | PATTERN <pattern>)]
    Reply with the names of commands.
HELP
    Print this text.`
