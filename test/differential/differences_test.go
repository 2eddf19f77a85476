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
			return strings.EqualFold(args[0], "SELECT") && len(args) == 2 && larder.Text == "OK" &&
				(redis.Text == "ERR DB index is out of range" || redis.Text == "ERR value is not an integer or out of range")
		},
	},
	{
		"COPY reaches every collection",
		func(args []string, larder, redis raw.Reply) bool {
			return strings.EqualFold(args[0], "COPY") && len(args) >= 5 && larder.Kind == ':' &&
				redis.Text == "ERR DB index is out of range"
		},
	},
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
