package wire

// Limits of what a peer may announce. None of them reserves memory: a length is only a number until its bytes arrive.
const (
	// DefaultMaxBulk is the longest argument in bytes when the parser is not told otherwise, as in Redis.
	DefaultMaxBulk = 512 << 20
	// MinMaxBulk is the smallest limit for an argument that can be configured, as in Redis.
	MinMaxBulk = 1 << 20
	// MaxArgs is the most arguments of one command.
	MaxArgs = 1024 * 1024
	// MaxInline is the longest inline command in bytes, its line end included.
	MaxInline = 64 << 10

	// StrangerMaxArgs is the most arguments of one command before the peer has authenticated.
	StrangerMaxArgs = 10
	// StrangerMaxBulk is the longest argument, and the longest inline command, before the peer has authenticated.
	StrangerMaxBulk = 16 << 10

	// maxDigits is the length of the longest int64 without its sign: no header is longer.
	maxDigits = 19
	// keepSpans bounds the memory that a parser keeps between two split commands.
	keepSpans = 16
)
