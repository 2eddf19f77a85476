package main

import (
	"regexp"
	"testing"
)

func TestVersionIsOneLineWithVersionCompilerAndSystem(t *testing.T) {
	_, stdout, _ := finish(t, nil, "version")
	if !regexp.MustCompile(`^larder v\S+ \(go\S+, \w+/\w+\)\n$`).MatchString(stdout) {
		t.Errorf("larder version prints %q", stdout)
	}
}

func TestVersionOfTheLinkerBeatsTheFallback(t *testing.T) {
	version, commit = "v9.8.7", "abc1234"
	defer func() { version, commit = "", "" }()
	if got := versionLine(); !regexp.MustCompile(`^larder v9\.8\.7 \(commit abc1234, go`).MatchString(got) {
		t.Errorf("the line is %q", got)
	}
}
