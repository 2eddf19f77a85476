package command

// keyCommands are the commands on keys, whatever their values are.
var keyCommands = []Command{
	{
		Name: "del", Arity: -2, Flags: FlagWrite, FirstKey: 1, LastKey: -1, Step: 1,
		Group: "generic", Since: "1.0.0", Complexity: "O(N) where N is the number of keys",
		Summary: "Remove keys.",
		run:     delCommand,
	},
	{
		Name: "unlink", Arity: -2, Flags: FlagWrite | FlagFast, FirstKey: 1, LastKey: -1, Step: 1,
		Group: "generic", Since: "4.0.0", Complexity: "O(N) where N is the number of keys",
		Summary: "Remove keys; the same as DEL.",
		run:     delCommand,
	},
	{
		Name: "exists", Arity: -2, Flags: FlagReadonly | FlagFast, FirstKey: 1, LastKey: -1, Step: 1,
		Group: "generic", Since: "1.0.0", Complexity: "O(N) where N is the number of keys",
		Summary: "Count the keys that exist; a key named twice counts twice.",
		run:     existsCommand,
	},
	{
		Name: "touch", Arity: -2, Flags: FlagReadonly | FlagFast, FirstKey: 1, LastKey: -1, Step: 1,
		Group: "generic", Since: "3.2.1", Complexity: "O(N) where N is the number of keys",
		Summary: "Count the keys that exist, as a use of them.",
		run:     existsCommand,
	},
	{
		Name: "type", Arity: 2, Flags: FlagReadonly | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "generic", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Reply with the type of the value of a key.",
		run:     typeCommand,
	},
	{
		Name: "rename", Arity: 3, Flags: FlagWrite, FirstKey: 1, LastKey: 2, Step: 1,
		Group: "generic", Since: "1.0.0", Complexity: "O(N) where N is the length of the value",
		Summary: "Give a key another name, over what has that name.",
		run:     renameCommand,
	},
	{
		Name: "renamenx", Arity: 3, Flags: FlagWrite | FlagFast, FirstKey: 1, LastKey: 2, Step: 1,
		Group: "generic", Since: "1.0.0", Complexity: "O(N) where N is the length of the value",
		Summary: "Give a key another name that no key has.",
		run:     renamenxCommand,
	},
	{
		Name: "copy", Arity: -3, Flags: FlagWrite | FlagDenyOOM, FirstKey: 1, LastKey: 2, Step: 1,
		Group: "generic", Since: "6.2.0", Complexity: "O(N) where N is the length of the value",
		Summary: "Copy a value and its expiry to another key.",
		run:     copyCommand,
	},
	{
		Name: "move", Arity: 3, Flags: FlagWrite | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "generic", Since: "1.0.0", Complexity: "O(N) where N is the length of the value",
		Summary: "Move a key to another collection.",
		run:     moveCommand,
	},
	{
		Name: "randomkey", Arity: 1, Flags: FlagReadonly,
		Group: "generic", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Reply with some key.",
		run:     randomkeyCommand,
	},
	{
		Name: "keys", Arity: 2, Flags: FlagReadonly,
		Group: "generic", Since: "1.0.0", Complexity: "O(N) where N is the number of keys in the collection",
		Summary: "Reply with all keys that match a pattern.",
		run:     keysCommand,
	},
	{
		Name: "scan", Arity: -2, Flags: FlagReadonly,
		Group: "generic", Since: "2.8.0", Complexity: "O(COUNT) for a call, O(N) for all keys",
		Summary: "Walk the keys step by step, from a cursor to the next.",
		run:     scanCommand,
	},
	{
		Name: "object", Arity: -2, Group: "generic", Since: "2.2.3", Complexity: "Depends on the subcommand",
		Summary: "Look at how a value is stored.",
		Sub: []Command{
			{
				Name: "encoding", Arity: 3, Flags: FlagReadonly, FirstKey: 2, LastKey: 2, Step: 1,
				Group: "generic", Since: "2.2.3", Complexity: "O(1)",
				Summary: "Reply with the name of the encoding of a value.",
				run:     objectEncoding,
			},
			{
				Name: "freq", Arity: 3, Flags: FlagReadonly, FirstKey: 2, LastKey: 2, Step: 1,
				Group: "generic", Since: "4.0.0", Complexity: "O(1)",
				Summary: "Reply with how often a key is used, where a policy counts that.",
				run:     objectFreq,
			},
			{
				Name: "help", Arity: 2, Flags: FlagLoading | FlagStale,
				Group: "generic", Since: "6.2.0", Complexity: "O(1)",
				Summary: "Reply with a text about the subcommands.",
				run:     objectHelp,
			},
			{
				Name: "idletime", Arity: 3, Flags: FlagReadonly, FirstKey: 2, LastKey: 2, Step: 1,
				Group: "generic", Since: "2.2.3", Complexity: "O(1)",
				Summary: "Reply with the seconds since the last use of a key; 0 as long as no policy needs it.",
				run:     objectIdletime,
			},
			{
				Name: "refcount", Arity: 3, Flags: FlagReadonly, FirstKey: 2, LastKey: 2, Step: 1,
				Group: "generic", Since: "2.2.3", Complexity: "O(1)",
				Summary: "Reply with the number of references to a value, which is 1.",
				run:     objectRefcount,
			},
		},
	},
	{
		Name: "memory", Arity: -2, Group: "server", Since: "4.0.0", Complexity: "Depends on the subcommand",
		Summary: "Look at the use of memory.",
		Sub: []Command{
			{
				Name: "help", Arity: 2, Flags: FlagLoading | FlagStale,
				Group: "server", Since: "4.0.0", Complexity: "O(1)",
				Summary: "Reply with a text about the subcommands.",
				run:     memoryHelp,
			},
			{
				Name: "usage", Arity: -3, Flags: FlagReadonly, FirstKey: 2, LastKey: 2, Step: 1,
				Group: "server", Since: "4.0.0", Complexity: "O(1)",
				Summary: "Reply with the bytes that a key and its value take.",
				run:     memoryUsage,
			},
		},
	},
}
