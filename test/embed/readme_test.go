package embed

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/larder-cache/larder/test/internal/server"
)

// TestTheProgramOfTheReadmeRuns as a stranger's: copied from the page into a
// module of its own, built and started. The example in the clone is the same.
func TestTheProgramOfTheReadmeRuns(t *testing.T) {
	t.Parallel()
	root, err := server.Root()
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(read("README.md"), -1)
	if len(blocks) != 1 {
		t.Fatalf("README.md has %d blocks of Go, want one program", len(blocks))
	}
	program := blocks[0][1]
	if _, example, _ := strings.Cut(read("examples/embed/main.go"), "package main\n"); "package main\n"+example != program {
		t.Error("examples/embed/main.go is not the program of README.md")
	}

	const module = "github.com/larder-cache/larder"
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("main.go", program)
	// Sums of what the library needs; no network is asked.
	write("go.sum", read("go.sum"))
	write("go.mod", "module example.com/stranger\n\ngo "+goVersion(t, read("go.mod"))+
		"\n\nrequire "+module+" v0.0.0\n\nreplace "+module+" => "+root+"\n")
	cmd := exec.CommandContext(t.Context(), "go", "run", "-mod=mod", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if want := "alice: logged in, for 1m0s more\n"; err != nil || string(out) != want {
		t.Errorf("go run: %v, printed\n%swant\n%s", err, out, want)
	}
}

// goVersion returns the version that a go.mod names.
func goVersion(t *testing.T, mod string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(mod)
	if found == nil {
		t.Fatal("go.mod names no version of Go")
	}
	return found[1]
}

// TestTheReadmeLinksToWhatIsThere: every relative link is a file of the clone.
func TestTheReadmeLinksToWhatIsThere(t *testing.T) {
	t.Parallel()
	root, err := server.Root()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	links := map[string]bool{}
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`).FindAllStringSubmatch(string(text), -1) {
			links[link[1]] = true
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), link[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", filepath.Base(page), link[1])
			}
		}
	}
	for _, want := range []string{"LOCKS.md", "docs/architecture.md", "docs/performance.md", "LICENSE"} {
		if !links[want] {
			t.Errorf("no page links to %s", want)
		}
	}
}
