package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/larder-cache/larder/internal/config"
)

// settings binds every option of package config, and --config, to a command's flags. Values are only collected here:
// config.Load checks them together with the environment and the file, so all faults are reported at once.
type settings struct {
	file  string
	flags []config.Flag
}

func bind(cmd *cobra.Command) *settings {
	s := &settings{}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&s.file, "config", "", "`FILE` of settings in TOML; keys are named as these flags")
	for i := range config.Options {
		o := &config.Options[i]
		f.Var(&collected{option: o, into: s}, o.Name, o.Usage)
	}
	return s
}

// load reads the settings from all places.
func (s *settings) load() (*config.Config, error) {
	return config.Load(config.Inputs{Flags: s.flags, Environ: os.Environ(), File: s.file})
}

// collected is a flag's value that is kept as text.
type collected struct {
	option *config.Option
	into   *settings
}

// Set implements pflag.Value.
func (c *collected) Set(text string) error {
	c.into.flags = append(c.into.flags, config.Flag{Name: c.option.Name, Value: text})
	return nil
}

// String returns the default, which the help shows.
func (c *collected) String() string {
	if c.option == nil {
		return ""
	}
	return c.option.Default
}

// Type returns the placeholder, which the help shows.
func (c *collected) Type() string { return c.option.Value }
