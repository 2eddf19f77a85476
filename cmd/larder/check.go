package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/larder-cache/larder/internal/config"
)

func newCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the settings that serve would start with, print them and exit",
		Long: "Check reads flags, LARDER_* variables and the file as serve does, reports every fault with its place, and\n" +
			"otherwise prints all settings as a file that could be given with --config, each with where it comes from.\n" +
			"It opens no port.",
		Args: cobra.NoArgs,
	}
	s := bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := s.load()
		if err != nil {
			return err
		}
		for _, w := range c.Warnings {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "larder: warning: %s\n", w)
		}
		return printSettings(cmd.OutOrStdout(), c)
	}
	return cmd
}

// printSettings writes the settings as TOML. A secret is commented out: stars must not be read back as a password.
func printSettings(w io.Writer, c *config.Config) error {
	for _, s := range c.Settings() {
		hidden := ""
		if s.Option.Secret && s.Value != "" {
			hidden = "# "
		}
		when := ""
		if s.Option.Live != "" {
			when = "; CONFIG SET " + s.Option.Live + " changes it while running"
		}
		if _, err := fmt.Fprintf(w, "%s%s = %s  # from %s%s\n", hidden, s.Option.Name, strconv.Quote(s.Value), s.Source, when); err != nil {
			return err
		}
	}
	return nil
}
