package command

import (
	"errors"

	"github.com/larder-cache/larder/internal/index"
	"github.com/larder-cache/larder/internal/store"
)

// Error replies that more than one family gives. The texts are those of Redis 7.0.
const (
	errSyntax      = "ERR syntax error"
	errNotInt      = "ERR value is not an integer or out of range"
	errOverflow    = "ERR increment or decrement would overflow"
	errOOM         = "OOM command not allowed when used memory > 'maxmemory'."
	errTooLong     = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
	errKeyTooLong  = "ERR key exceeds the largest size, 1048575 bytes"
	errCursor      = "ERR invalid cursor"
	errDBRange     = "ERR DB index is out of range"
	errNoAuth      = "NOAUTH Authentication required."
	errWrongPass   = "WRONGPASS invalid username-password pair or user is disabled."
	errName        = "ERR a collection name has 1 to 255 bytes"
	errCollections = "ERR too many collections"
	errClosing     = "ERR the server is shutting down"
)

// errorReply returns the reply for an error of the store.
func errorReply(err error) string {
	switch {
	case errors.Is(err, index.ErrFull):
		return errOOM
	case errors.Is(err, index.ErrNotInteger):
		return errNotInt
	case errors.Is(err, index.ErrOverflow):
		return errOverflow
	case errors.Is(err, index.ErrValueTooLarge):
		return errTooLong
	case errors.Is(err, index.ErrKeyTooLarge):
		return errKeyTooLong
	case errors.Is(err, index.ErrCursor):
		return errCursor
	case errors.Is(err, index.ErrClosed):
		return errClosing
	case errors.Is(err, store.ErrName):
		return errName
	case errors.Is(err, store.ErrTooManyCollections):
		return errCollections
	}
	return "ERR " + err.Error()
}
