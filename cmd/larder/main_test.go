package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// runAsLarder makes this test binary behave as the program.
const runAsLarder = "RUN_THIS_TEST_BINARY_AS_LARDER"

func TestMain(m *testing.M) {
	if os.Getenv(runAsLarder) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program prepares a run of the program with a clean environment and the variables given as NAME=VALUE.
func program(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{runAsLarder + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, env...)
	return cmd
}

// finish runs the program to its end.
func finish(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := program(t, env, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestCommandsThatEndByThemselves(t *testing.T) {
	for _, c := range []struct {
		args   string
		stdout string
	}{
		{"", "Usage:"},
		{"help", "serve "},
		{"help serve", "--max-memory SIZE"},
		{"serve --help", "(default 1gb)"},
		{"version", "larder v"},
		{"--help", "version "},
		{"-h", "version "},
		{"serve -h", "--max-memory SIZE"},
		{"check --help", "--max-memory SIZE"},
		{"check -h", "It opens no port"},
		{"version -h", "Print the version"},
		{"help check", "It opens no port"},
		{"--version", "larder v"},
		{"-v", "larder v"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel() // a program with the race detector takes a second to end
			code, stdout, stderr := finish(t, nil, strings.Fields(c.args)...)
			if code != exitOK || stderr != "" || !strings.Contains(stdout, c.stdout) {
				t.Errorf("code %d, stderr %q; %q is not in\n%s", code, stderr, c.stdout, stdout)
			}
		})
	}
}

func TestBadCommandLineIsOneLineAndCodeTwo(t *testing.T) {
	for args, want := range map[string]string{
		"sevre":                         `larder: unknown command "sevre" for "larder"`,
		"--fast":                        "larder: unknown flag: --fast",
		"serve --fast":                  "larder: unknown flag: --fast",
		"serve --loops":                 "larder: flag needs an argument: --loops",
		"serve now":                     `larder: unknown command "now" for "larder serve"`,
		"version 2":                     `larder: unknown command "2" for "larder version"`,
		"--version 2":                   `larder: unknown command "2" for "larder"`,
		"help sevre":                    `larder: unknown command "sevre" for "larder"`,
		"help serve now":                `larder: unknown command "now" for "larder serve"`,
		"serve --max-memory 12xb":       "larder: --max-memory: not a size:",
		"check --max-memory 12xb":       "larder: --max-memory: not a size:",
		"serve --listen nowhere":        `larder: --listen: "nowhere" is not HOST:PORT`,
		"serve --dir /nonexistent/dir":  "larder: --dir: /nonexistent/dir: no such file or directory",
		"serve --config /nonexistent/f": "larder: /nonexistent/f: no such file or directory",
	} {
		code, stdout, stderr := finish(t, nil, strings.Fields(args)...)
		if code != exitUsage || stdout != "" || !strings.HasPrefix(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("larder %s: code %d, stdout %q, stderr\n%swant one line that starts with %q", args, code, stdout, stderr, want)
		}
	}
}

func TestEveryFaultIsReportedAtOnceByServeAndByCheck(t *testing.T) {
	env := []string{"LARDER_LOOPS=none", "LARDER_DIR=/nonexistent/dir"}
	const values = "larder: LARDER_LOOPS: \"none\" is not a whole number\n" +
		"larder: --max-clients: 0 is not between 1 and 1000000\n" +
		"larder: --log-level: \"loud\" is not one of debug, info, warn, error\n"
	const places = "larder: --http: http and listen are both 127.0.0.1:6379\n" +
		"larder: LARDER_DIR: /nonexistent/dir: no such file or directory\n"
	for _, command := range []string{"serve", "check"} {
		for extra, want := range map[string]string{
			"":     values + places,
			" now": "larder: unknown command \"now\" for \"larder " + command + "\"\n" + values + places,
			// What stands behind such a fault is not understood and might be another directory or address.
			" --fast":  "larder: unknown flag: --fast\n" + values,
			" --loops": "larder: flag needs an argument: --loops\n" + values,
		} {
			args := strings.Fields(command + " --max-clients 0 --log-level loud --http :6379" + extra)
			code, stdout, stderr := finish(t, env, args...)
			if code != exitUsage || stdout != "" || stderr != want {
				t.Errorf("%v: code %d, stdout %q, stderr\n%swant\n%s", args, code, stdout, stderr, want)
			}
		}
	}
}

// TestAnOutputThatFailsIsAFailure and no fault of the command line.
func TestAnOutputThatFailsIsAFailure(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no device that is always full")
	}
	defer full.Close()
	for _, args := range []string{"version", "--version", "check", "help", "serve --help"} {
		cmd := program(t, nil, strings.Fields(args)...)
		var errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &errs
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != exitFailure || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("larder %s: code %d, stderr %q", args, code, errs.String())
		}
	}
}
