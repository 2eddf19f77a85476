package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// fallbackVersion names a build that neither the linker nor the module system named.
const fallbackVersion = "v0.1.0-dev"

// Set with -ldflags '-X main.version=... -X main.commit=...'.
var version, commit string

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run:   printVersion,
	}
}

func printVersion(cmd *cobra.Command, _ []string) {
	_, _ = fmt.Fprintln(cmd.OutOrStdout(), versionLine())
}

// currentVersion returns the version alone.
func currentVersion() string {
	if version != "" {
		return version
	}
	// `go install module@version` leaves it in the build information; a plain build leaves "(devel)".
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return fallbackVersion
}

func versionLine() string {
	from := ""
	if commit != "" {
		from = "commit " + commit + ", "
	}
	return fmt.Sprintf("larder %s (%s%s, %s/%s)", currentVersion(), from, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
