// Package capacity fills the server: a million records within a stated amount of
// memory, and a hundred thousand that end at one instant.
package capacity

import (
	"os"
	"testing"

	"github.com/larder-cache/larder/test/internal/server"
)

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

const mib = 1 << 20
