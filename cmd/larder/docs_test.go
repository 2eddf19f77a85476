package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/larder-cache/larder/internal/config"
)

var update = flag.Bool("update", false, "write the table of settings into README.md instead of comparing")

const readme = "../../README.md"

// TestReadmeListsEverySetting compares the table of README.md with the options.
func TestReadmeListsEverySetting(t *testing.T) {
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| flag and key | variable | default | meaning | changed while running by |\n|---|---|---|---|---|\n")
	for i := range config.Options {
		o := &config.Options[i]
		value, live := o.Default, "restart"
		if value == "" {
			value = "none"
		}
		if o.Live != "" {
			live = "`CONFIG SET " + o.Live + "`"
		}
		fmt.Fprintf(&table, "| `--%s %s` | `%s` | %s | %s | %s |\n", o.Name, o.Value, o.Env(), value, o.Usage, live)
	}
	found := regexp.MustCompile(`(?m)^\| flag and key \|.*\n(\|.*\n)+`).FindIndex(text)
	if found == nil {
		t.Fatal("README.md has no table of settings")
	}
	if string(text[found[0]:found[1]]) == table.String() {
		return
	}
	if !*update {
		t.Fatalf("the table of settings in README.md should be (go test ./cmd/larder -run Readme -update):\n%s", table.String())
	}
	out := string(text[:found[0]]) + table.String() + string(text[found[1]:])
	if err := os.WriteFile(readme, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReadmeListsEveryCommand compares the commands in README.md with those of a server.
func TestReadmeListsEveryCommand(t *testing.T) {
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## Commands\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !ok {
		t.Fatal("README.md has no section Commands")
	}
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\|[^|]*\|(.*)\|$`).FindAllStringSubmatch(section, -1) {
		for _, name := range regexp.MustCompile("`([A-Z]+)`").FindAllStringSubmatch(row[1], -1) {
			listed[strings.ToLower(name[1])] = true
		}
	}
	r := startServer(t, nil)
	var n int
	if head := r.ask(1, "COMMAND LIST")[0]; len(head) < 2 {
		t.Fatalf("COMMAND LIST gives %q", head)
	} else if n, err = strconv.Atoi(head[1:]); err != nil {
		t.Fatalf("COMMAND LIST gives %q", head)
	}
	var missing []string
	for i, line := range r.ask(1+2*n, "COMMAND LIST") {
		if i == 0 || i%2 == 1 || strings.Contains(line, "|") {
			continue // lengths, and subcommands, which COMMAND DOCS describes
		}
		if !listed[line] {
			missing = append(missing, strings.ToUpper(line))
		}
		delete(listed, line)
	}
	sort.Strings(missing)
	if len(missing) > 0 || len(listed) > 0 {
		t.Errorf("README.md lacks the commands %q and has %v, which are none", missing, listed)
	}
}
