package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the program's version",
		Long: `Print the program's version, or the commit that it was built from, and that of Go.

  routelimit version

Exit code 0: it was printed. 2: the command line is wrong.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, _ := debug.ReadBuildInfo() // nil only for programs built without modules
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionLine(info))
			return err
		},
	}
}

// released is the version of a release, which the linker writes here: make release.
var released string

// versionLine is "routelimit v1.2.3 (go1.26.8)", or with the commit where no version was given.
func versionLine(info *debug.BuildInfo) string {
	if info == nil {
		return "routelimit, of unknown version"
	}
	version := info.Main.Version
	switch {
	case released != "":
		version = released
	case version == "" || version == "(devel)":
		version = "devel"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				version += " " + s.Value
			}
		}
	}
	return fmt.Sprintf("routelimit %s (%s)", version, info.GoVersion)
}
