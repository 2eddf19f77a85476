package command

// stringCommands are the commands on the value of a key.
var stringCommands = []Command{
	{
		Name: "get", Arity: 2, Flags: FlagReadonly | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "string", Since: "1.0.0", Complexity: "O(N) where N is the length of the value",
		Summary: "Reply with the value of a key.",
		run:     getCommand,
	},
	{
		Name: "set", Arity: -3, Flags: FlagWrite | FlagDenyOOM, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "string", Since: "1.0.0", Complexity: "O(N) where N is the length of the value",
		Summary: "Store a value, under a condition and with an expiry when asked.",
		run:     setCommand,
	},
	{
		Name: "setex", Arity: 4, Flags: FlagWrite | FlagDenyOOM, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "string", Since: "2.0.0", Complexity: "O(N) where N is the length of the value",
		Summary: "Store a value that expires after some seconds.",
		run:     setexCommand,
	},
	{
		Name: "psetex", Arity: 4, Flags: FlagWrite | FlagDenyOOM, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "string", Since: "2.6.0", Complexity: "O(N) where N is the length of the value",
		Summary: "Store a value that expires after some milliseconds.",
		run:     psetexCommand,
	},
	{
		Name: "setnx", Arity: 3, Flags: FlagWrite | FlagDenyOOM | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "string", Since: "1.0.0", Complexity: "O(N) where N is the length of the value",
		Summary: "Store a value when the key is absent.",
		run:     setnxCommand,
	},
	{
		Name: "getset", Arity: 3, Flags: FlagWrite | FlagDenyOOM | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "string", Since: "1.0.0", Complexity: "O(N) where N is the length of the value",
		Summary: "Store a value and reply with the one before it.",
		run:     getsetCommand,
	},
	{
		Name: "getdel", Arity: 2, Flags: FlagWrite | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "string", Since: "6.2.0", Complexity: "O(N) where N is the length of the value",
		Summary: "Reply with the value of a key and remove the key.",
		run:     getdelCommand,
	},
	{
		Name: "getex", Arity: -2, Flags: FlagWrite | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "string", Since: "6.2.0", Complexity: "O(N) where N is the length of the value",
		Summary: "Reply with the value of a key and change its expiry.",
		run:     getexCommand,
	},
	{
		Name: "mget", Arity: -2, Flags: FlagReadonly | FlagFast, FirstKey: 1, LastKey: -1, Step: 1,
		Group: "string", Since: "1.0.0", Complexity: "O(N) where N is the number of keys",
		Summary: "Reply with the values of several keys.",
		run:     mgetCommand,
	},
	{
		Name: "mset", Arity: -3, Flags: FlagWrite | FlagDenyOOM, FirstKey: 1, LastKey: -1, Step: 2,
		Group: "string", Since: "1.0.1", Complexity: "O(N) where N is the number of keys",
		Summary: "Store several values; other writers meet all of them or none.",
		run:     msetCommand,
	},
	{
		Name: "msetnx", Arity: -3, Flags: FlagWrite | FlagDenyOOM, FirstKey: 1, LastKey: -1, Step: 2,
		Group: "string", Since: "1.0.1", Complexity: "O(N) where N is the number of keys",
		Summary: "Store several values when all of their keys are absent.",
		run:     msetnxCommand,
	},
	{
		Name: "append", Arity: 3, Flags: FlagWrite | FlagDenyOOM | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "string", Since: "2.0.0", Complexity: "O(N) where N is the length of the new value",
		Summary: "Write behind the end of a value, or store it when the key is absent.",
		run:     appendCommand,
	},
	{
		Name: "strlen", Arity: 2, Flags: FlagReadonly | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "string", Since: "2.2.0", Complexity: "O(1)",
		Summary: "Reply with the length of a value.",
		run:     strlenCommand,
	},
	{
		Name: "getrange", Arity: 4, Flags: FlagReadonly, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "string", Since: "2.4.0", Complexity: "O(N) where N is the length of the reply",
		Summary: "Reply with a part of a value; negative positions count from its end.",
		run:     getrangeCommand,
	},
	{
		Name: "substr", Arity: 4, Flags: FlagReadonly, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "string", Since: "1.0.0", Complexity: "O(N) where N is the length of the reply",
		Summary: "The old name of GETRANGE.",
		run:     getrangeCommand,
	},
	{
		Name: "setrange", Arity: 4, Flags: FlagWrite | FlagDenyOOM, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "string", Since: "2.2.0", Complexity: "O(N) where N is the length of the new value",
		Summary: "Write over a part of a value, with zeros before it when the value is shorter.",
		run:     setrangeCommand,
	},
	{
		Name: "incr", Arity: 2, Flags: FlagWrite | FlagDenyOOM | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "string", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Add one to an integer.",
		run:     incrCommand,
	},
	{
		Name: "decr", Arity: 2, Flags: FlagWrite | FlagDenyOOM | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "string", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Subtract one from an integer.",
		run:     decrCommand,
	},
	{
		Name: "incrby", Arity: 3, Flags: FlagWrite | FlagDenyOOM | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "string", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Add to an integer.",
		run:     incrbyCommand,
	},
	{
		Name: "decrby", Arity: 3, Flags: FlagWrite | FlagDenyOOM | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "string", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Subtract from an integer.",
		run:     decrbyCommand,
	},
	{
		Name: "incrbyfloat", Arity: 3, Flags: FlagWrite | FlagDenyOOM | FlagFast, FirstKey: 1, LastKey: 1, Step: 1,
		Group: "string", Since: "2.6.0", Complexity: "O(1)",
		Summary: "Add to a number with a fraction.",
		run:     incrbyfloatCommand,
	},
}
