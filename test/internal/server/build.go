package server

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// rootModule is the first line of the go.mod that holds cmd/larder.
const rootModule = "module github.com/larder-cache/larder\n"

// binary is the larder program of this test process; set by Main.
var binary string

// Main builds larder, runs the tests of one package and returns their exit
// code. Every package that starts servers calls it from TestMain.
func Main(m *testing.M) int {
	if UnderTestIsRedis() {
		return m.Run()
	}
	if given := os.Getenv("LARDER_BINARY"); given != "" {
		path, err := filepath.Abs(given)
		if err != nil {
			fmt.Fprintln(os.Stderr, "LARDER_BINARY:", err)
			return 1
		}
		binary = path
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "larder-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "larder")
	if err := build(path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binary = path
	return m.Run()
}

// UnderTestIsRedis reports whether redis-server stands in for larder.
func UnderTestIsRedis() bool { return os.Getenv("LARDER_TEST_SERVER") == "redis" }

// Binary returns the path of the larder program.
func Binary(tb testing.TB) string {
	tb.Helper()
	if UnderTestIsRedis() {
		tb.Skip("needs the larder program; LARDER_TEST_SERVER puts redis-server in its place")
	}
	if binary == "" {
		tb.Fatal("server.Main was not called from TestMain")
	}
	return binary
}

// build compiles cmd/larder of the enclosing root module to path.
func build(path string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-o", path, "./cmd/larder")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/larder: %w\n%s", err, out)
	}
	return nil
}

// Root returns the folder of the root module, found upwards from the working
// folder, which is the folder of the package under test.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), rootModule) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no folder above holds the go.mod of the root module")
		}
		dir = parent
	}
}
