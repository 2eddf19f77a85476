package command

// configCommands are CONFIG and its subcommands.
var configCommands = []Command{
	{
		Name: "config", Arity: -2, Group: "server", Since: "2.0.0", Complexity: "Depends on the subcommand",
		Summary: "Read and change settings.",
		Sub: []Command{
			{
				Name: "get", Arity: -3, Flags: FlagAdmin | FlagNoScript | FlagLoading | FlagStale,
				Group: "server", Since: "2.0.0", Complexity: "O(N) where N is the number of settings",
				Summary: "Reply with the settings whose names match patterns.",
				run:     configGet,
			},
			{
				Name: "help", Arity: 2, Flags: FlagLoading | FlagStale,
				Group: "server", Since: "5.0.0", Complexity: "O(1)",
				Summary: "Reply with a text about the subcommands.",
				run:     configHelp,
			},
			{
				Name: "resetstat", Arity: 2, Flags: FlagAdmin | FlagNoScript | FlagLoading | FlagStale,
				Group: "server", Since: "2.0.0", Complexity: "O(1)",
				Summary: "Set the counters of INFO to zero.",
				run:     configResetstat,
			},
			{
				Name: "rewrite", Arity: 2, Flags: FlagAdmin | FlagNoScript | FlagLoading | FlagStale,
				Group: "server", Since: "2.8.0", Complexity: "O(1)",
				Summary: "Refused: the configuration file is written by people.",
				run:     configRewrite,
			},
			{
				Name: "set", Arity: -4, Flags: FlagAdmin | FlagNoScript | FlagLoading | FlagStale,
				Group: "server", Since: "2.0.0", Complexity: "O(N) where N is the number of settings given",
				Summary: "Change settings, all of them or none.",
				run:     configSet,
			},
		},
	},
}
