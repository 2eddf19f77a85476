// Package clients drives the server with the client libraries that programs
// use: go-redis and rueidis in Go, ioredis on Node. Each talks to a server of
// its own through the library's typed calls, the way an application would.
package clients

import (
	"os"
	"testing"

	"github.com/larder-cache/larder/test/internal/server"
)

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }
