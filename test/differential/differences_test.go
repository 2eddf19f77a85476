package differential

import (
	"strings"

	"github.com/larder-cache/larder/test/internal/raw"
)

// A difference is a reply in which Larder departs from redis-server 7.0 on
// purpose.
type difference struct {
	reason string
	holds  func(args []string, larder, redis raw.Reply) bool
}

// differences is the whole list; what it does not name must be equal.
var differences = []difference{
	{
		"databases are collections: any number, and any name, selects one",
		func(args []string, larder, redis raw.Reply) bool {
			return strings.EqualFold(args[0], "SELECT") && len(args) == 2 &&
				(larder.Text == "OK" || larder.Text == "ERR a collection name has 1 to 255 bytes") &&
				(redis.Text == "ERR DB index is out of range" || redis.Text == "ERR value is not an integer or out of range")
		},
	},
	{
		"COPY reaches every collection",
		func(args []string, larder, redis raw.Reply) bool {
			return strings.EqualFold(args[0], "COPY") && len(args) >= 5 && larder.Kind == ':' &&
				(redis.Text == "ERR DB index is out of range" || redis.Text == "ERR value is not an integer or out of range")
		},
	},
	{
		"OBJECT ENCODING goes by what the value is, not by which command wrote it: digits are an integer after APPEND too",
		func(args []string, larder, redis raw.Reply) bool {
			return strings.EqualFold(args[0], "OBJECT") && larder.Text == "int" && (redis.Text == "raw" || redis.Text == "embstr")
		},
	},
	{
		"an error line that repeats an argument does not end at a NUL byte in it",
		func(args []string, larder, redis raw.Reply) bool {
			return larder.Kind == '-' && redis.Kind == '-' && strings.HasPrefix(larder.Text, redis.Text) &&
				strings.Contains(strings.Join(args, " "), "\x00")
		},
	},
	{
		"a SCAN cursor has no sign",
		func(args []string, larder, _ raw.Reply) bool {
			return strings.EqualFold(args[0], "SCAN") && len(args) > 1 && args[1] == "-1" && larder.Text == "ERR invalid cursor"
		},
	},
	{
		"a KEYS pattern of several stars matches the empty key too",
		func(args []string, larder, redis raw.Reply) bool {
			return strings.EqualFold(args[0], "KEYS") && len(args) == 2 && strings.Trim(args[1], "*") == "" && len(args[1]) > 1 &&
				len(larder.Elems) == len(redis.Elems)+1 && has(larder.Strings(), "")
		},
	},
}

// wireDifferences are answers to byte streams of wire_test.go that depart from
// redis-server's, by the stream's name.
var wireDifferences = map[string]string{
	// A header that can be no length is refused as soon as that shows, not after
	// 64 KiB of it.
	"array header too long": "-ERR Protocol error: invalid multibulk length\r\n(closed)",
	"bulk header too long":  "-ERR Protocol error: invalid bulk length\r\n(closed)",
	// Error lines are printable.
	"bulk without dollar, binary": "-ERR Protocol error: expected '$', got '?'\r\n(closed)",
	// A command has at most 1024 * 1024 arguments; redis-server takes 2^31 - 1.
	"array just too long": "-ERR Protocol error: invalid multibulk length\r\n(closed)",
}

// accepted returns the reason when a listed difference explains the replies.
func accepted(args []string, larder, redis raw.Reply) (reason string, ok bool) {
	for _, d := range differences {
		if d.holds(args, larder, redis) {
			return d.reason, true
		}
	}
	return "", false
}
