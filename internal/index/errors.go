package index

import "errors"

// Refusals of a table. They are the library's public sentinels too.
var (
	ErrFull          = errors.New("larder: memory limit reached")
	ErrKeyTooLarge   = errors.New("larder: key too large")
	ErrValueTooLarge = errors.New("larder: value too large")
	ErrNotInteger    = errors.New("larder: value is not an integer")
	ErrOverflow      = errors.New("larder: counter would overflow")
	ErrClosed        = errors.New("larder: closed")
	ErrCursor        = errors.New("larder: no such cursor")
)
