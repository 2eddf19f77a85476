package command

const (
	clientFlags = FlagNoScript | FlagLoading | FlagStale
	constant    = "O(1)"
	perClient   = "O(N) where N is the number of connections"
)

// clientCommands are CLIENT and its subcommands.
var clientCommands = []Command{
	{
		Name: "client", Arity: -2, Group: "connection", Since: "2.4.0", Complexity: "Depends on the subcommand",
		Summary: "Look at connections and change them.",
		Sub: []Command{
			{
				Name: "getname", Arity: 2, Flags: clientFlags, Group: "connection", Since: "2.6.9", Complexity: constant,
				Summary: "Reply with the name of the connection.",
				run:     clientGetname,
			},
			{
				Name: "help", Arity: 2, Flags: FlagLoading | FlagStale, Group: "connection", Since: "5.0.0", Complexity: constant,
				Summary: "Reply with a text about the subcommands.",
				run:     clientHelp,
			},
			{
				Name: "id", Arity: 2, Flags: clientFlags, Group: "connection", Since: "5.0.0", Complexity: constant,
				Summary: "Reply with the number of the connection.",
				run:     clientID,
			},
			{
				Name: "info", Arity: 2, Flags: clientFlags, Group: "connection", Since: "6.2.0", Complexity: constant,
				Summary: "Reply with the line of CLIENT LIST for this connection.",
				run:     clientInfo,
			},
			{
				Name: "kill", Arity: -3, Flags: clientFlags | FlagAdmin, Group: "connection", Since: "2.4.0", Complexity: perClient,
				Summary: "Close connections.",
				run:     clientKill,
			},
			{
				Name: "list", Arity: -2, Flags: clientFlags | FlagAdmin, Group: "connection", Since: "2.4.0", Complexity: perClient,
				Summary: "Reply with a line for each connection.",
				run:     clientList,
			},
			{
				Name: "no-evict", Arity: 3, Flags: clientFlags | FlagAdmin, Group: "connection", Since: "7.0.0", Complexity: constant,
				Summary: "Mark the connection as one that is not closed to free memory; none is.",
				run:     clientNoEvict,
			},
			{
				Name: "no-touch", Arity: 3, Flags: clientFlags, Group: "connection", Since: "7.2.0", Complexity: constant,
				Summary: "Leave the time of last access of keys alone; there is none.",
				run:     clientNoTouch,
			},
			{
				Name: "reply", Arity: 3, Flags: clientFlags, Group: "connection", Since: "3.2.0", Complexity: constant,
				Summary: "Switch replies on or off, or skip the next one.",
				run:     clientReply,
			},
			{
				Name: "setinfo", Arity: 4, Flags: clientFlags, Group: "connection", Since: "7.2.0", Complexity: constant,
				Summary: "Tell the name or version of the client library.",
				run:     clientSetinfo,
			},
			{
				Name: "setname", Arity: 3, Flags: clientFlags, Group: "connection", Since: "2.6.9", Complexity: constant,
				Summary: "Name the connection.",
				run:     clientSetname,
			},
		},
	},
}
