package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestCheckPrintsAFileThatGivesTheSameSettings(t *testing.T) {
	args := []string{"check", "--max-memory", "1.5gb", "--listen", "unix:/tmp/x.sock", "--loops", "3", "--idle-timeout", "2m", "--dir", t.TempDir()}
	code, first, stderr := finish(t, nil, args...)
	if code != exitOK || stderr != "" {
		t.Fatalf("code %d, stderr %s", code, stderr)
	}
	file := filepath.Join(t.TempDir(), "larder.toml")
	if err := os.WriteFile(file, []byte(first), 0o600); err != nil {
		t.Fatal(err)
	}
	code, second, stderr := finish(t, nil, "check", "--config", file)
	if code != exitOK || stderr != "" {
		t.Fatalf("reading it back: code %d, stderr %s", code, stderr)
	}
	origin := regexp.MustCompile(`  # from .*`)
	if a, b := origin.ReplaceAllString(first, ""), origin.ReplaceAllString(second, ""); a != b {
		t.Errorf("printed\n%sread back as\n%s", a, b)
	}
	if want := `max-memory = "1536mb"  # from ` + file + ":"; !strings.Contains(second, want) {
		t.Errorf("no %q in\n%s", want, second)
	}
}

func TestCheckHidesThePassword(t *testing.T) {
	code, stdout, stderr := finish(t, []string{"LARDER_REQUIREPASS=opensesame"}, "check")
	if code != exitOK || strings.Contains(stdout+stderr, "opensesame") {
		t.Errorf("code %d\n%s%s", code, stdout, stderr)
	}
	if !strings.Contains(stdout, `# requirepass = "********"  # from LARDER_REQUIREPASS`) {
		t.Errorf("the password's line is missing in\n%s", stdout)
	}
}

func TestCheckWarnsOfVariablesThatAreNoSettings(t *testing.T) {
	code, _, stderr := finish(t, []string{"LARDER_MAXMEMORY=2gb"}, "check")
	if want := "larder: warning: environment variable LARDER_MAXMEMORY is no setting"; code != exitOK || !strings.HasPrefix(stderr, want) {
		t.Errorf("code %d, stderr %s", code, stderr)
	}
}
