package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/larder-cache/larder/internal/config"
)

// settings are the flags of a command: --config and every option of package config. Values are only collected here:
// config.Load checks them together with the environment and the file, so all faults are reported at once.
type settings struct {
	file  string
	flags []config.Flag
}

// withSettings gives cmd the flags of all settings and runs it with what they, the environment and the file say. The
// faults of all places, those of the command line first, are one error; run is then not called.
func withSettings(cmd *cobra.Command, run func(*cobra.Command, *config.Config) error) *cobra.Command {
	s := &settings{}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&s.file, "config", "", "`FILE` of settings in TOML; keys are named as these flags")
	for i := range config.Options {
		o := &config.Options[i]
		f.Var(&collected{option: o, into: s}, o.Name, o.Usage)
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, fault error) error {
		_, err := s.load(true)
		return errors.Join(fault, err)
	})
	cmd.Args = cobra.ArbitraryArgs // judged below, together with the rest
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := s.load(false)
		if err := errors.Join(cobra.NoArgs(cmd, args), err); err != nil {
			return err
		}
		return run(cmd, c)
	}
	return cmd
}

// load reads the settings from all places. partial says that some flags were not understood.
func (s *settings) load(partial bool) (*config.Config, error) {
	return config.Load(config.Inputs{Flags: s.flags, Environ: os.Environ(), File: s.file, Partial: partial})
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
