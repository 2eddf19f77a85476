package command

// killFilter selects connections to close.
type killFilter struct {
	id            int64 // 0 = any
	addr, laddr   []byte
	user          []byte
	typed, normal bool
	me            bool // the caller too
}

// clientKill is CLIENT KILL addr, or CLIENT KILL with options. The old form replies OK or that there is no such client;
// the new one replies with the number of connections that it closes.
func clientKill(c *Client, args [][]byte) {
	old := len(args) == 3
	var f killFilter
	if old {
		f = killFilter{addr: args[2], me: true}
	} else {
		var refusal string
		if f, refusal = parseKill(args[2:]); refusal != "" {
			c.fail(refusal)
			return
		}
	}
	var n int64
	self := false
	for _, other := range c.server.list() {
		if other == c && !f.me || !f.selects(other) {
			continue
		}
		n++
		if other == c {
			self = true
			continue
		}
		other.conn.Post(other.cut)
	}
	switch {
	case !old:
		c.int(n)
	case n == 0:
		c.fail(errNoClient)
	default:
		c.ok()
	}
	if self {
		// The reply to the one who asked comes before the end.
		c.close()
	}
}

func parseKill(args [][]byte) (f killFilter, refusal string) {
	if len(args)%2 != 0 {
		return f, errSyntax
	}
	for i := 0; i < len(args); i += 2 {
		value := args[i+1]
		switch {
		case isWord(args[i], "ID"):
			id, ok := integer(value)
			if !ok || id < 1 {
				return f, errKillID
			}
			f.id = id
		case isWord(args[i], "ADDR"):
			f.addr = value
		case isWord(args[i], "LADDR"):
			f.laddr = value
		case isWord(args[i], "USER"):
			if string(value) != defaultUser {
				return f, "ERR No such user '" + clip(value, maxEchoedArgument) + "'"
			}
			f.user = value
		case isWord(args[i], "TYPE"):
			normal, ok := clientType(value)
			if !ok {
				return f, "ERR Unknown client type '" + clip(value, maxEchoedArgument) + "'"
			}
			f.typed, f.normal = true, normal
		case isWord(args[i], "SKIPME") && isWord(value, "YES"):
			f.me = false
		case isWord(args[i], "SKIPME") && isWord(value, "NO"):
			f.me = true
		default:
			return f, errSyntax
		}
	}
	return f, ""
}

func (f *killFilter) selects(c *Client) bool {
	return (f.id == 0 || uint64(f.id) == c.shown.id) &&
		(f.addr == nil || string(f.addr) == c.conn.RemoteAddr()) &&
		(f.laddr == nil || string(f.laddr) == c.conn.LocalAddr()) &&
		(!f.typed || f.normal)
}
