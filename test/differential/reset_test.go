package differential

import (
	"errors"
	"syscall"
)

// isReset reports a connection that the other side closed with bytes unread.
func isReset(err error) bool { return errors.Is(err, syscall.ECONNRESET) }
