package command

// tableCommands are COMMAND and its subcommands, which show the table itself.
var tableCommands = []Command{
	{
		Name: "command", Arity: -1, Flags: FlagLoading | FlagStale, Group: "server", Since: "2.8.13",
		Complexity: "O(N) where N is the number of commands",
		Summary:    "Reply with the table of commands.",
		run:        commandCommand,
		Sub: []Command{
			{
				Name: "count", Arity: 2, Flags: FlagLoading | FlagStale, Group: "server", Since: "2.8.13", Complexity: "O(1)",
				Summary: "Reply with the number of commands.",
				run:     commandCount,
			},
			{
				Name: "docs", Arity: -2, Flags: FlagLoading | FlagStale, Group: "server", Since: "7.0.0",
				Complexity: "O(N) where N is the number of commands",
				Summary:    "Reply with the documentation of commands.",
				run:        commandDocs,
			},
			{
				Name: "getkeys", Arity: -4, Flags: FlagLoading | FlagStale, Group: "server", Since: "2.8.13",
				Complexity: "O(N) where N is the number of arguments",
				Summary:    "Reply with the keys in a command.",
				run:        commandGetkeys,
			},
			{
				Name: "getkeysandflags", Arity: -4, Flags: FlagLoading | FlagStale, Group: "server", Since: "7.0.0",
				Complexity: "O(N) where N is the number of arguments",
				Summary:    "Reply with the keys in a command and what it does to them.",
				run:        commandGetkeysandflags,
			},
			{
				Name: "help", Arity: 2, Flags: FlagLoading | FlagStale, Group: "server", Since: "5.0.0", Complexity: "O(1)",
				Summary: "Reply with a text about the subcommands.",
				run:     commandHelp,
			},
			{
				Name: "info", Arity: -2, Flags: FlagLoading | FlagStale, Group: "server", Since: "2.8.13",
				Complexity: "O(N) where N is the number of commands",
				Summary:    "Reply with the rows of commands.",
				run:        commandInfo,
			},
			{
				Name: "list", Arity: -2, Flags: FlagLoading | FlagStale, Group: "server", Since: "7.0.0",
				Complexity: "O(N) where N is the number of commands",
				Summary:    "Reply with the names of commands.",
				run:        commandList,
			},
		},
	},
}
