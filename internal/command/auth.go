package command

import (
	"crypto/sha256"
	"crypto/subtle"
)

const (
	errNoPassword = "ERR AUTH <password> called without any password configured for the default user. " +
		"Are you sure your configuration is correct?"
	errHelloNoAuth = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> " +
		"<pass> option can be used to authenticate the client and select the RESP protocol version at the same time"
)

// defaultUser is the only user.
const defaultUser = "default"

// secret is a password. The digest is what attempts are compared with, so the time of a comparison tells nothing about
// the text or its length.
type secret struct {
	text   string
	digest [sha256.Size]byte
}

// setPassword sets the password that new connections must give; an empty one lets everybody in. Connections that are
// authenticated stay so, as in Redis.
func (s *Server) setPassword(text string) {
	if text == "" {
		s.password.Store(nil)
		return
	}
	s.password.Store(&secret{text, sha256.Sum256([]byte(text))})
}

// authCommand is AUTH [user] password.
func authCommand(c *Client, args [][]byte) {
	user, password := []byte(defaultUser), args[1]
	switch {
	case len(args) > 3:
		c.fail(errSyntax)
		return
	case len(args) == 3:
		user, password = args[1], args[2]
	case c.server.password.Load() == nil:
		c.fail(errNoPassword)
		return
	}
	if !c.login(user, password) {
		c.fail(errWrongPass)
		return
	}
	c.ok()
}

// login reports whether user and password are right, and trusts the client then. Without a password the default user
// may give any.
func (c *Client) login(user, password []byte) bool {
	want := c.server.password.Load()
	given := sha256.Sum256(password)
	right := string(user) == defaultUser
	if want != nil {
		right = right && subtle.ConstantTimeCompare(given[:], want.digest[:]) == 1
	}
	if !right {
		c.server.badLogins.Add(1)
		return false
	}
	c.trust(true)
	return true
}

func (c *Client) trust(yes bool) {
	c.trusted = yes
	c.parser.SetAuthenticated(yes)
}
