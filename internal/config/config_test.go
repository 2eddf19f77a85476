package config

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/larder-cache/larder/internal/bytesize"
	"github.com/larder-cache/larder/internal/hostmem"
)

var update = flag.Bool("update", false, "write what Load says into testdata instead of comparing")

// TestLoadCases runs testdata/*.txt. A case is
//
//	=== name
//	flag NAME VALUE          a flag (VALUE may be missing)
//	env NAME=VALUE           a variable
//	> LINE                   a line of the configuration file
//	---
//	NAME = VALUE (SOURCE)    each setting that is not a default
//	warning: TEXT
//	error: TEXT              or, when Load fails, its lines
//
// Paths of the file print as FILE.
func TestLoadCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for i, c := range strings.Split("\n"+string(text), "\n=== ") {
			if i == 0 {
				out.WriteString(strings.TrimPrefix(c, "\n")) // what stands before the first case
				continue
			}
			name, rest, _ := strings.Cut(c, "\n")
			input, want, _ := strings.Cut(rest, "---\n")
			got := runCase(t, input)
			fmt.Fprintf(&out, "\n=== %s\n%s---\n%s", name, input, got)
			if want = strings.TrimRight(want, "\n") + "\n"; want != got && !*update {
				t.Errorf("%s: %s\ngot\n%swant\n%s", path, name, got, want)
			}
		}
		if *update {
			if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func runCase(t *testing.T, input string) string {
	t.Helper()
	var in Inputs
	var file *bytes.Buffer
	for line := range strings.Lines(input) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "flag":
			name, value, _ := strings.Cut(rest, " ")
			in.Flags = append(in.Flags, Flag{name, value})
		case "env":
			in.Environ = append(in.Environ, rest)
		case ">":
			if file == nil {
				file = new(bytes.Buffer)
			}
			file.WriteString(rest + "\n")
		case "":
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	if file != nil {
		in.File = filepath.Join(t.TempDir(), "larder.toml")
		if err := os.WriteFile(in.File, file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Load(in)
	var out strings.Builder
	if err != nil {
		for line := range strings.Lines(err.Error() + "\n") {
			out.WriteString("error: " + line)
		}
	} else {
		for _, s := range c.Settings() {
			if s.Source != SourceDefault {
				fmt.Fprintf(&out, "%s = %s (%s)\n", s.Option.Name, s.Value, s.Source)
			}
		}
		for _, w := range c.Warnings {
			fmt.Fprintf(&out, "warning: %s\n", w)
		}
	}
	if out.Len() == 0 {
		out.WriteString("\n")
	}
	if in.File != "" {
		return strings.ReplaceAll(out.String(), in.File, "FILE")
	}
	return out.String()
}

func TestDefaultsAreValidAndPrintAsTheTableSays(t *testing.T) {
	c, err := Load(Inputs{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Settings() {
		if s.Value != s.Option.Default || s.Source != SourceDefault {
			t.Errorf("%s is %q from %s; the table's default is %q", s.Option.Name, s.Value, s.Source, s.Option.Default)
		}
	}
}

func TestEverySettingPrintsAsItIsRead(t *testing.T) {
	c, err := Load(Inputs{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Settings() {
		if s.Option.Secret {
			continue
		}
		if err := s.Option.set(c, s.Value); err != nil {
			t.Errorf("%s prints %q, which it does not read: %v", s.Option.Name, s.Value, err)
		}
		if again := s.Option.get(c); again != s.Value {
			t.Errorf("%s prints %q, then %q", s.Option.Name, s.Value, again)
		}
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	const password = "correct horse battery"
	c, err := Load(Inputs{Flags: []Flag{{"requirepass", password}}})
	if err != nil {
		t.Fatal(err)
	}
	if string(c.RequirePass) != password {
		t.Fatalf("the password is %q", string(c.RequirePass))
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "config", c, "pass", c.RequirePass, "settings", c.Settings())
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "config", c, "pass", c.RequirePass, "settings", c.Settings())
	fmt.Fprintf(&log, "%v %+v %#v %s %q", *c, *c, *c, c.RequirePass, c.RequirePass)
	for _, s := range c.Settings() {
		fmt.Fprint(&log, s)
	}
	if strings.Contains(log.String(), "horse") {
		t.Errorf("printed: %s", log.String())
	}
	_, err = Load(Inputs{Flags: []Flag{{"requirepass", strings.Repeat("horse", 1000)}}})
	if err == nil || strings.Contains(err.Error(), "horse") {
		t.Errorf("a password that is too long gives %v", err)
	}
}

func TestUnusableDirectoryIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file:                        "not a directory",
		filepath.Join(file, "x"):    "not a directory",
		filepath.Join(file, "../y"): "no such file",
	} {
		_, err := Load(Inputs{Flags: []Flag{{"dir", path}}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "--dir: ") {
			t.Errorf("dir %s gives %v; want %q", path, err, want)
		}
	}
	if _, err := os.Stat("/proc/self"); err == nil { // refuses new files to root as well
		_, err := Load(Inputs{Flags: []Flag{{"dir", "/proc/self"}}})
		if err == nil || !strings.Contains(err.Error(), "not writable") {
			t.Errorf("a directory without write permission gives %v", err)
		}
	}
}

func TestUsableDirectoryIsAbsoluteAndLeftEmpty(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(filepath.Dir(dir))
	c, err := Load(Inputs{Flags: []Flag{{"dir", filepath.Base(dir)}}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Dir != dir {
		t.Errorf("dir is %s; want %s", c.Dir, dir)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the check left %v, %v", left, err)
	}
}

func TestUnreadableFileIsOneProblem(t *testing.T) {
	long := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(long, bytes.Repeat([]byte("#"), maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/nonexistent/larder.toml": "/nonexistent/larder.toml: no such file or directory",
		t.TempDir():                "is a directory",
		long:                       "longer than",
	} {
		_, err := Load(Inputs{File: path})
		var faults Problems
		if !errors.As(err, &faults) || len(faults) != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("file %s gives %v; want %q", path, err, want)
		}
	}
}

func TestFileComesFromTheEnvironmentUnlessAFlagNamesOne(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.toml": "loops = 1\n", "b.toml": "loops = 2\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{EnvFile + "=" + filepath.Join(dir, "a.toml")}
	for want, in := range map[int]Inputs{1: {Environ: env}, 2: {Environ: env, File: filepath.Join(dir, "b.toml")}} {
		c, err := Load(in)
		if err != nil || c.Loops != want {
			t.Errorf("%+v gives %v, %v; want loops %d", in, c, err, want)
		}
	}
}

func TestOptionNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for i := range Options {
		o := &Options[i]
		for _, name := range []string{o.Name, o.Env()} {
			if seen[name] {
				t.Errorf("%s stands twice", name)
			}
			seen[name] = true
		}
		if o.Usage == "" || o.Value == "" {
			t.Errorf("%s is not documented", o.Name)
		}
	}
}

// FuzzFile finds no document that panics, or that gives an error of more than one line per fault.
func FuzzFile(f *testing.F) {
	f.Add([]byte("listen = \":1\"\nmax-memory = 1_000_000_000 # c\n[x]\ny = [1, {a = 1}]\n"))
	f.Add([]byte("dir = '''\na'''\n\"lo\\u006fps\" = 3\na.b.c = 1979-05-27\n"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, doc, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(Inputs{File: path})
		var faults Problems
		if err == nil && c == nil || err != nil && !errors.As(err, &faults) {
			t.Fatalf("%v, %v", c, err)
		}
		if err != nil && strings.Count(err.Error(), "\n") != len(faults)-1 {
			t.Fatalf("%d faults on other than one line each: %q", len(faults), err)
		}
	})
}

func TestSocketPathMayBeFreeOrASocketAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("file"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("file"), at("link")); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	long := at(strings.Repeat("x", maxSocketPath))
	for path, want := range map[string]string{
		long:         fmt.Sprintf("--listen: a socket's path has at most %d bytes, not %d", maxSocketPath, len(long)),
		at("free"):   "",
		at("socket"): "", // whether anybody listens on it shows when the server does
		at("file"):   "--listen: " + at("file") + " is a regular file, not a socket",
		at("link"):   "--listen: " + at("link") + " is a symbolic link, not a socket",
		at("file/s"): "--listen: " + at("file") + ": not a directory",
	} {
		_, err := Load(Inputs{Flags: []Flag{{"listen", SocketPrefix + path}}})
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s gives %v; want %q", path, err, want)
		}
	}
	if text, err := os.ReadFile(at("file")); err != nil || string(text) != "precious" {
		t.Errorf("the file is %q, %v", text, err)
	}
}

func TestMaxMemoryCanBeAShareOfWhatThereIs(t *testing.T) {
	l, err := hostmem.Get()
	if err != nil {
		t.Skip(err)
	}
	for text, share := range map[string]float64{"50%": 0.5, " 12.5 % ": 0.125, "100%": 1} {
		c, err := Load(Inputs{Flags: []Flag{{"max-memory", text}}})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		want := min(max(bytesize.Size(share*float64(l.Bytes)), MinMaxMemory), MaxMaxMemory)
		if c.MaxMemory != want {
			t.Errorf("%s of %d is %d, want %d", text, l.Bytes, c.MaxMemory, want)
		}
	}
	for _, text := range []string{"0%", "101%", "-5%", "%", "half%", "NaN%", "Inf%"} {
		if _, err := Load(Inputs{Flags: []Flag{{"max-memory", text}}}); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
