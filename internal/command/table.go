package command

// Flag says what a command does and when it may run. The names are those that COMMAND INFO shows.
type Flag uint32

// Flags of a command.
const (
	FlagWrite    Flag = 1 << iota // may change keys
	FlagReadonly                  // reads keys
	FlagDenyOOM                   // may need memory
	FlagAdmin                     // for operators
	FlagNoScript                  // not from a script
	FlagLoading                   // also while data is loaded
	FlagStale                     // also on a replica without a link
	FlagFast                      // O(1) or O(log N)
	FlagNoAuth                    // also before AUTH
	FlagHidden                    // not a command to the COMMAND family
)

var flagNames = [...]string{
	"write", "readonly", "denyoom", "admin", "noscript", "loading", "stale", "fast", "no_auth",
}

// handler runs a command. args[0] is its name. The arguments are views into the input and valid during the call only.
type handler func(c *Client, args [][]byte)

// Command is a row of the table.
type Command struct {
	Name  string // lower case; of a subcommand the second word alone
	Arity int    // number of arguments with the name; negative: at least so many
	Flags Flag

	// The keys are the arguments FirstKey, FirstKey+Step ... LastKey, which counts from the end when negative. FirstKey 0
	// means no keys.
	FirstKey, LastKey, Step int

	Group      string // as in the documentation of Redis: "string", "generic", "connection", "server"
	Since      string // version of Redis that brought it
	Summary    string
	Complexity string
	Sub        []Command // subcommands; run is nil then

	run handler

	parent *Command // of a subcommand
	id     int      // index of the counters
	hashed bool     // the first key is hashed with the window
}

// families are the lists that make up the table.
var families = [...][]Command{
	stringCommands, keyCommands, expireCommands, connectionCommands, serverCommands, configCommands, clientCommands,
	tableCommands, larderCommands,
}

// The table itself is filled once, by init, and only read afterwards.
var (
	commands []*Command // every command without its subcommands, in the order of the families
	rows     []*Command // every command and subcommand, by id
	byName   names      // finds a command
)

func init() {
	for _, family := range families {
		for i := range family {
			cmd := &family[i]
			commands = append(commands, cmd)
			cmd.enter(nil)
			for k := range cmd.Sub {
				cmd.Sub[k].enter(cmd)
			}
		}
	}
	byName = newNames(commands)
}

func (cmd *Command) enter(parent *Command) {
	cmd.parent = parent
	cmd.id = len(rows)
	cmd.hashed = cmd.FirstKey == 1
	rows = append(rows, cmd)
}

// full returns the name as COMMAND shows it: "get", or "config|get" for a subcommand.
func (cmd *Command) full() string {
	if cmd.parent == nil {
		return cmd.Name
	}
	return cmd.parent.Name + "|" + cmd.Name
}

// accepts reports whether a call with n arguments, the name included, has the right number.
func (cmd *Command) accepts(n int) bool {
	return n == cmd.Arity || cmd.Arity < 0 && n >= -cmd.Arity
}

// sub returns the subcommand of that name, or nil.
func (cmd *Command) sub(name []byte) *Command {
	for i := range cmd.Sub {
		if equalFold(name, cmd.Sub[i].Name) {
			return &cmd.Sub[i]
		}
	}
	return nil
}

// equalFold reports whether b spells word, which is in lower case, in either case.
func equalFold(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i, x := range b {
		if 'A' <= x && x <= 'Z' {
			x += 'a' - 'A'
		}
		if x != word[i] {
			return false
		}
	}
	return true
}
