package command

// expireCommands are the commands on the expiry of keys.
var expireCommands = []Command{
	{
		Name: "ttl", Arity: 2, Flags: FlagReadonly | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "generic", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Reply with the seconds a key has to live.",
		run:     ttlCommand,
	},
	{
		Name: "pttl", Arity: 2, Flags: FlagReadonly | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "generic", Since: "2.6.0", Complexity: "O(1)",
		Summary: "Reply with the milliseconds a key has to live.",
		run:     pttlCommand,
	},
	{
		Name: "expire", Arity: -3, Flags: FlagWrite | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "generic", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Let a key expire after some seconds.",
		run:     expireCommand,
	},
	{
		Name: "pexpire", Arity: -3, Flags: FlagWrite | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "generic", Since: "2.6.0", Complexity: "O(1)",
		Summary: "Let a key expire after some milliseconds.",
		run:     pexpireCommand,
	},
	{
		Name: "expireat", Arity: -3, Flags: FlagWrite | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "generic", Since: "1.2.0", Complexity: "O(1)",
		Summary: "Let a key expire at a Unix time in seconds.",
		run:     expireatCommand,
	},
	{
		Name: "pexpireat", Arity: -3, Flags: FlagWrite | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "generic", Since: "2.6.0", Complexity: "O(1)",
		Summary: "Let a key expire at a Unix time in milliseconds.",
		run:     pexpireatCommand,
	},
	{
		Name: "expiretime", Arity: 2, Flags: FlagReadonly | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "generic", Since: "7.0.0", Complexity: "O(1)",
		Summary: "Reply with the Unix time in seconds at which a key expires.",
		run:     expiretimeCommand,
	},
	{
		Name: "pexpiretime", Arity: 2, Flags: FlagReadonly | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "generic", Since: "7.0.0", Complexity: "O(1)",
		Summary: "Reply with the Unix time in milliseconds at which a key expires.",
		run:     pexpiretimeCommand,
	},
	{
		Name: "persist", Arity: 2, Flags: FlagWrite | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "generic", Since: "2.2.0", Complexity: "O(1)",
		Summary: "Let a key live without expiry.",
		run:     persistCommand,
	},
}
