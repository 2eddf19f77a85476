package config

import (
	"fmt"
	"net"
	"sort"
	"strings"
)

const (
	envPrefix = "LARDER_"
	// EnvFile names the variable with the path of the file.
	EnvFile = envPrefix + "CONFIG"
)

// A Flag is one option given on the command line, not yet checked.
type Flag struct{ Name, Value string }

// Inputs are the places that Load reads.
type Inputs struct {
	Flags   []Flag   // in the order given; of two for one option the later counts
	Environ []string // as os.Environ returns it
	File    string   // path given with --config; empty: LARDER_CONFIG, and without that no file
	// Partial says that the command line has a fault behind which flags may be missing. Values are then checked, but not
	// what they name or how they go together: a missing flag might say otherwise.
	Partial bool
}

// Load gathers all settings. A non-nil error is Problems and then the Config is nil.
func Load(in Inputs) (*Config, error) {
	c := &Config{source: map[string]string{}}
	var faults Problems

	for i := range Options {
		if err := Options[i].set(c, Options[i].Default); err != nil {
			faults.add(SourceDefault, "%s: %v", Options[i].Name, err)
		}
	}
	env := variables(in.Environ)
	c.File = in.File
	if c.File == "" {
		c.File = env[EnvFile]
	}
	if c.File != "" {
		c.loadFile(c.File, &faults)
	}
	understood := len(faults) == 0
	for i := range Options {
		o := &Options[i]
		if text := env[o.Env()]; text != "" {
			c.apply(o, text, o.Env(), &faults)
		}
	}
	c.Warnings = strangers(env)
	for _, f := range in.Flags {
		if o := find(f.Name); o != nil {
			c.apply(o, f.Value, "--"+f.Name, &faults)
		} else {
			faults.add("--"+f.Name, "unknown flag")
		}
	}
	if !in.Partial {
		c.checkTogether(understood, &faults)
		c.checkPlaces(&faults)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return c, nil
}

// apply sets one option and notes where it came from.
func (c *Config) apply(o *Option, text, where string, faults *Problems) {
	if err := o.set(c, text); err != nil {
		faults.add(where, "%v", err)
		return
	}
	c.source[o.Name] = where
}

// checkTogether finds what no option shows alone. An option with a fault of its own is empty and conflicts with nothing;
// a default is taken for the operator's will only when the file, which might say otherwise, was understood.
func (c *Config) checkTogether(understood bool, faults *Problems) {
	if c.HTTP == "" || c.HTTP != c.Listen {
		return
	}
	_, port, err := net.SplitHostPort(c.HTTP)
	free := err == nil && port == "0" // each takes a port of its own
	if !free && (understood || c.Source("listen") != SourceDefault) {
		faults.add(c.Source("http"), "http and listen are both %s", c.HTTP)
	}
}

// variables keeps what starts with LARDER_.
func variables(environ []string) map[string]string {
	env := map[string]string{}
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(name, envPrefix) {
			env[name] = value
		}
	}
	return env
}

// strangers words a warning for every variable that is no option.
func strangers(env map[string]string) []string {
	known := map[string]bool{EnvFile: true}
	names := []string{}
	for i := range Options {
		known[Options[i].Env()] = true
		names = append(names, Options[i].Env())
	}
	var out []string
	for name := range env {
		if known[name] || strings.HasPrefix(name, envPrefix+"PORT") || strings.HasPrefix(name, envPrefix+"SERVICE_") {
			continue // the last two are Kubernetes' own
		}
		out = append(out, fmt.Sprintf("environment variable %s is no setting and is ignored%s", oneLine(name), didYouMean(name, names)))
	}
	sort.Strings(out)
	return out
}
