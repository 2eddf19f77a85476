package command

// larderCommands are for operators, and of Larder alone.
var larderCommands = []Command{
	{
		Name: "larder", Arity: -2, Group: "server", Since: "7.0.0", Complexity: "Depends on the subcommand",
		Summary: "Look inside the server.",
		Sub: []Command{
			{
				Name: "audit", Arity: 2, Flags: FlagAdmin,
				Group: "server", Since: "7.0.0", Complexity: "O(N) with N the number of keys, beside other commands",
				Summary: "Compare all memory in use with what records and indexes name.",
				run:     larderAudit,
			},
			{
				Name: "leakcheck", Arity: -3, Flags: FlagAdmin,
				Group: "server", Since: "7.0.0", Complexity: "O(1), REPORT O(N) with N the number of places that allocate",
				Summary: "Remember where memory is allocated, and report what is still in use.",
				run:     larderLeakcheck,
			},
			{
				Name: "memory", Arity: 3, Flags: FlagAdmin,
				Group: "server", Since: "7.0.0", Complexity: "O(N) with N the number of 2 MiB groups",
				Summary: "Reply with what each 2 MiB of memory is used for.",
				run:     larderMemory,
			},
			{
				Name: "help", Arity: 2, Flags: FlagLoading | FlagStale,
				Group: "server", Since: "7.0.0", Complexity: "O(1)",
				Summary: "Reply with a text about the subcommands.",
				run:     larderHelp,
			},
		},
	},
}
