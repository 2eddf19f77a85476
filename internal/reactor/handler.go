package reactor

import "errors"

// Handler is what a server does with the bytes of its connections. Calls for connections of one loop never overlap;
// calls for connections of different loops do.
type Handler interface {
	// Open is called before anything else for a connection. It may set Session and append to Out.
	Open(c *Conn)

	// Data is given all unread input of a connection; in is stable during the call and invalid after it. It returns
	// how many bytes it used up: those are gone, the others come again with what follows them.
	//
	// more = false: what is left is an unfinished frame; Data is called again when there is more input (when there is as
	// much as Conn.Need said, if it was called). more = true: Data stopped though it could go on, because this
	// connection has had its turn; it is called again in the next one. A handler stops, with more set, at the latest when
	// Conn.Congested says so.
	Data(c *Conn, in []byte) (used int, more bool)

	// Closed is called exactly once, after the last call of Data, unless Open was never called. err is nil when the
	// handler closed the connection or the peer ended it in order. Output is discarded.
	Closed(c *Conn, err error)
}

// TurnHandler is a Handler that wants to know when a loop's turn begins and ends. All calls for connections of that
// loop lie between the two.
type TurnHandler interface {
	Handler
	BeginTurn(loop int)
	EndTurn(loop int)
}

// Reasons for which a server closes a connection, given to Handler.Closed.
var (
	ErrOutputLimit = errors.New("reactor: peer does not read its replies")
	ErrStalled     = errors.New("reactor: peer took no output for too long")
	ErrInputLimit  = errors.New("reactor: frame exceeds the input limit")
	ErrShutdown    = errors.New("reactor: server is shutting down")
	ErrHandler     = errors.New("reactor: handler used more input than there is")
)

// Errors of Listen, Serve and Visit.
var (
	ErrAddress = errors.New("reactor: address is neither host:port nor unix:/path")
	ErrOptions = errors.New("reactor: invalid options")
	ErrServing = errors.New("reactor: Serve called twice")
)
