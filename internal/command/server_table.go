package command

// serverCommands are the commands on the server and on whole collections.
var serverCommands = []Command{
	{
		Name: "dbsize", Arity: 1, Flags: FlagReadonly | FlagFast,
		Group: "server", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Reply with the number of keys in the collection.",
		run:     dbsizeCommand,
	},
	{
		Name: "debug", Arity: -2, Flags: FlagAdmin | FlagNoScript | FlagLoading | FlagStale,
		Group: "server", Since: "1.0.0", Complexity: "Depends on the subcommand",
		Summary: "Help to test clients: DEBUG SLEEP keeps this connection waiting.",
		run:     debugCommand,
	},
	{
		Name: "flushall", Arity: -1, Flags: FlagWrite,
		Group: "server", Since: "1.0.0", Complexity: "O(N) where N is the number of keys in all collections",
		Summary: "Remove the keys of all collections.",
		run:     flushallCommand,
	},
	{
		Name: "flushdb", Arity: -1, Flags: FlagWrite,
		Group: "server", Since: "1.0.0", Complexity: "O(N) where N is the number of keys in the collection",
		Summary: "Remove the keys of the collection.",
		run:     flushdbCommand,
	},
	{
		Name: "info", Arity: -1, Flags: FlagLoading | FlagStale,
		Group: "server", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Reply with figures about the server.",
		run:     infoCommand,
	},
	{
		Name: "shutdown", Arity: -1, Flags: FlagAdmin | FlagNoScript | FlagLoading | FlagStale,
		Group: "server", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Stop the server.",
		run:     shutdownCommand,
	},
	{
		Name: "time", Arity: 1, Flags: FlagLoading | FlagStale | FlagFast,
		Group: "server", Since: "2.6.0", Complexity: "O(1)",
		Summary: "Reply with the time of the server, in seconds and microseconds.",
		run:     timeCommand,
	},
}
