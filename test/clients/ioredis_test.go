package clients

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/larder-cache/larder/test/internal/server"
)

// nodeWithin bounds an npm or node run.
const nodeWithin = 2 * time.Minute

// TestIORedisDrive runs node/drive.mjs, which asserts with ioredis.
func TestIORedisDrive(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "node")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "ioredis")); err != nil {
		node(t, dir, "npm", "ci", "--no-audit", "--no-fund")
	}
	p := server.Start(t)
	if out := node(t, dir, "node", "drive.mjs", p.Port()); out != "ok\n" {
		t.Errorf("drive.mjs printed %q", out)
	}
}

// node runs a program of the Node installation in dir.
func node(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), nodeWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}
