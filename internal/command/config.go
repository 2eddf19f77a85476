package command

import (
	"strings"

	"github.com/larder-cache/larder/internal/glob"
)

const (
	errNoConfigFile = "ERR The server is running without a config file"
	errRewrite      = "ERR Rewriting config file: not supported, edit the file"
)

// configGet replies with a map of the settings whose names match one of the patterns, without regard to case. A pattern
// without wildcards is echoed as it was written, as in Redis.
func configGet(c *Client, args [][]byte) {
	var found []*parameter
	var names []string
	for i := range parameters {
		p := &parameters[i]
		for _, pattern := range args[2:] {
			if !glob.Match(pattern, []byte(p.name), true) {
				continue
			}
			name := p.name
			if equalFold(pattern, p.name) {
				name = string(pattern)
			}
			found, names = append(found, p), append(names, name)
			break
		}
	}
	c.mapHeader(len(found))
	for i, p := range found {
		c.text(names[i])
		c.text(p.get(c.server))
	}
}

// configSet changes several settings. All values are checked before the first takes effect.
func configSet(c *Client, args [][]byte) {
	pairs := args[2:]
	if len(pairs)%2 != 0 {
		c.fail(errSyntax)
		return
	}
	for i := 0; i < len(pairs); i += 2 {
		if findParameter(pairs[i]) == nil {
			c.fail("ERR Unknown option or number of arguments for CONFIG SET - '" + clip(pairs[i], maxEchoedArgument) + "'")
			return
		}
	}
	apply := make([]func(), 0, len(pairs)/2)
	seen := map[*parameter]bool{}
	for i := 0; i < len(pairs); i += 2 {
		p := findParameter(pairs[i])
		problem := ""
		var change func()
		switch {
		case seen[p]:
			problem = "duplicate parameter"
		case p.set == nil:
			problem = "can't set immutable config"
		default:
			change, problem = p.set(c.server, string(pairs[i+1]))
		}
		if problem != "" {
			c.fail("ERR CONFIG SET failed (possibly related to argument '" + clip(pairs[i], maxEchoedArgument) + "') - " + problem)
			return
		}
		seen[p] = true
		apply = append(apply, change)
	}
	for _, change := range apply {
		if change != nil {
			change()
		}
	}
	c.ok()
}

func findParameter(name []byte) *parameter {
	for i := range parameters {
		if equalFold(name, parameters[i].name) {
			return &parameters[i]
		}
	}
	return nil
}

func configResetstat(c *Client, _ [][]byte) {
	c.server.resetStats()
	c.ok()
}

// configRewrite never writes: the file belongs to whoever wrote it, with comments and includes.
func configRewrite(c *Client, _ [][]byte) {
	if c.server.o.ConfigFile == "" {
		c.fail(errNoConfigFile)
		return
	}
	c.fail(errRewrite)
}

func configHelp(c *Client, _ [][]byte) {
	names := make([]string, 0, len(parameters))
	for i := range parameters {
		if parameters[i].set != nil {
			names = append(names, parameters[i].name)
		}
	}
	c.lines(
		"CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"GET <pattern> [<pattern> ...]",
		"    Reply with the settings whose names match a <pattern>.",
		"SET <setting> <value> [<setting> <value> ...]",
		"    Change settings, all of them or none: "+strings.Join(names, ", ")+".",
		"RESETSTAT",
		"    Set the counters of INFO to zero.",
		"REWRITE",
		"    Refused: the configuration file is written by people.",
		"HELP",
		"    Print this text.",
	)
}
