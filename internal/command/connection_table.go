package command

// connectionCommands are the commands on the connection itself.
var connectionCommands = []Command{
	{
		Name: "auth", Arity: -2, Flags: FlagNoScript | FlagLoading | FlagStale | FlagFast | FlagNoAuth,
		Group: "connection", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Prove the right to use the server.",
		run:     authCommand,
	},
	{
		Name: "echo", Arity: 2, Flags: FlagFast,
		Group: "connection", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Reply with the argument.",
		run:     echoCommand,
	},
	{
		Name: "hello", Arity: -1, Flags: FlagNoScript | FlagLoading | FlagStale | FlagFast | FlagNoAuth,
		Group: "connection", Since: "6.0.0", Complexity: "O(1)",
		Summary: "Choose the protocol version, and authenticate and name the connection when asked.",
		run:     helloCommand,
	},
	{
		Name: "ping", Arity: -1, Flags: FlagFast,
		Group: "connection", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Reply with PONG or the argument.",
		run:     pingCommand,
	},
	{
		Name: "quit", Arity: -1, Flags: FlagNoScript | FlagLoading | FlagStale | FlagFast | FlagNoAuth,
		Group: "connection", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Close the connection.",
		run:     quitCommand,
	},
	{
		Name: "reset", Arity: 1, Flags: FlagNoScript | FlagLoading | FlagStale | FlagFast | FlagNoAuth,
		Group: "connection", Since: "6.2.0", Complexity: "O(1)",
		Summary: "Bring the connection to the state of a new one.",
		run:     resetCommand,
	},
	{
		Name: "select", Arity: 2, Flags: FlagLoading | FlagStale | FlagFast,
		Group: "connection", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Choose the collection, by number or by name.",
		run:     selectCommand,
	},
	{
		Name: "host:", Arity: -1, Flags: FlagNoAuth | FlagHidden,
		Group: "connection", Since: "1.0.0", Complexity: "O(1)",
		Summary: "What a web browser sends; the connection is closed.",
		run:     browserCommand,
	},
	{
		Name: "post", Arity: -1, Flags: FlagNoAuth | FlagHidden,
		Group: "connection", Since: "1.0.0", Complexity: "O(1)",
		Summary: "What a web browser sends; the connection is closed.",
		run:     browserCommand,
	},
}
