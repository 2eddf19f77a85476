package differential

import (
	"strings"

	"github.com/larder-cache/larder/test/internal/raw"
)

// A rule says when two replies count as the same.
type rule func(larder, redis raw.Reply) bool

const (
	// nearSeconds and nearMillis bound how far two clocks readings taken one
	// after the other may lie apart on a busy machine.
	nearSeconds = 2
	nearMillis  = 2000
)

// rules are the ways to compare, by the name that testdata uses.
var rules = map[string]rule{
	// exact: the same bytes.
	"exact": raw.Reply.Equal,
	// unordered: the same elements in any order.
	"unordered": func(l, r raw.Reply) bool { return l.Sorted().Equal(r.Sorted()) },
	// seconds, millis: both numbers, near to each other; or the same bytes.
	"seconds": near(nearSeconds),
	"millis":  near(nearMillis),
	// kind: the same type byte, for replies that are the server's own matter.
	"kind": func(l, r raw.Reply) bool { return l.Kind == r.Kind && l.Null == r.Null },
	// fields: the same names in the same order, the values of the same kind.
	"fields": sameFields,
	// encoding: both integers in memory, or both not.
	"encoding": func(l, r raw.Reply) bool {
		return l.Kind == r.Kind && l.Null == r.Null && (l.Text == "int") == (r.Text == "int")
	},
	// scan: the walk ended in one call with the same keys.
	"scan": func(l, r raw.Reply) bool {
		if len(l.Elems) != 2 || len(r.Elems) != 2 {
			return l.Equal(r)
		}
		return l.Elems[0].Equal(r.Elems[0]) && l.Elems[1].Sorted().Equal(r.Elems[1].Sorted())
	},
}

func near(distance int64) rule {
	return func(l, r raw.Reply) bool {
		if l.Kind != ':' || r.Kind != ':' || l.Int() < 0 || r.Int() < 0 {
			return l.Equal(r)
		}
		d := l.Int() - r.Int()
		return -distance <= d && d <= distance
	}
}

func sameFields(l, r raw.Reply) bool {
	if l.Kind != r.Kind || len(l.Elems) != len(r.Elems) {
		return false
	}
	for i := range l.Elems {
		if i%2 == 0 && !l.Elems[i].Equal(r.Elems[i]) || l.Elems[i].Kind != r.Elems[i].Kind {
			return false
		}
	}
	return true
}

// ruleOf chooses the rule for a command whose reply depends on time or chance.
func ruleOf(args []string) string {
	switch strings.ToUpper(args[0]) {
	case "TTL", "EXPIRETIME":
		return "seconds"
	case "PTTL", "PEXPIRETIME":
		return "millis"
	case "KEYS":
		return "unordered"
	case "RANDOMKEY":
		return "kind"
	case "OBJECT":
		if len(args) == 3 && strings.EqualFold(args[1], "ENCODING") {
			return "encoding"
		}
		if len(args) == 3 && strings.EqualFold(args[1], "IDLETIME") {
			return "seconds"
		}
	}
	return "exact"
}
