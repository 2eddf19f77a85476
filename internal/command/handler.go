package command

import "github.com/larder-cache/larder/internal/reactor"

var _ reactor.TurnHandler = (*Server)(nil)

// Open starts the session of a connection.
func (s *Server) Open(conn *reactor.Conn) {
	conn.Session = s.connect(conn, conn.Out(), conn.Loop())
}

// Data runs the commands in the input, as far as they are whole.
func (s *Server) Data(conn *reactor.Conn, in []byte) (used int, more bool) {
	return conn.Session.(*Client).data(in)
}

// Closed ends the session.
func (s *Server) Closed(conn *reactor.Conn, _ error) {
	if c, ok := conn.Session.(*Client); ok {
		s.disconnect(c)
	}
}

// BeginTurn reads the clock once for all connections of the turn.
func (s *Server) BeginTurn(loop int) { s.loopAt(loop).turn = s.clock.Now() }

// EndTurn takes care that the memory which the turn filled is noticed.
func (s *Server) EndTurn(int) { s.watchPeak() }
