package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/larder-cache/larder/internal/config"
)

func newCheck() *cobra.Command {
	return withSettings(&cobra.Command{
		Use:   "check",
		Short: "Check the settings that serve would start with, print them and exit",
		Long: "Check reads flags, LARDER_* variables and the file as serve does, reports every fault with its place, and\n" +
			"otherwise prints all settings as a file that could be given with --config, each with where it comes from.\n" +
			"It opens no port.",
	}, check)
}

func check(cmd *cobra.Command, c *config.Config) error {
	for _, w := range c.Warnings {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "larder: warning: %s\n", w)
	}
	printSettings(cmd.OutOrStdout(), c)
	return nil
}

// printSettings writes the settings as TOML. A secret is commented out: stars must not be read back as a password.
func printSettings(w io.Writer, c *config.Config) {
	for _, s := range c.Settings() {
		hidden := ""
		if s.Option.Secret && s.Value != "" {
			hidden = "# "
		}
		when := ""
		if s.Option.Live != "" {
			when = "; CONFIG SET " + s.Option.Live + " changes it while running"
		}
		_, _ = fmt.Fprintf(w, "%s%s = %s  # from %s%s\n", hidden, s.Option.Name, strconv.Quote(s.Value), s.Source, when)
	}
}
