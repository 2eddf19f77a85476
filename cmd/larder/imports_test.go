package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestLibraryForcesNoServerDependencies keeps what only the server needs out of programs that embed the cache.
func TestLibraryForcesNoServerDependencies(t *testing.T) {
	const module = "github.com/larder-cache/larder"
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", module).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, path := range strings.Fields(string(out)) {
		own := path == module || strings.HasPrefix(path, module+"/internal/")
		if !own && !strings.HasPrefix(path, "golang.org/x/sys/") {
			t.Errorf("package larder imports %s", path)
		}
		switch strings.TrimPrefix(path, module+"/internal/") {
		case "command", "config", "ops", "reactor", "netbuf", "wire":
			t.Errorf("package larder imports the server's %s", path)
		}
	}
}
