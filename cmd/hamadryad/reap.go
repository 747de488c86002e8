package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/engine/launcher/reaper"
)

// reaperCommand is how a launcher runs reapCommand: by the program that it is itself, also
// when the file of that name was replaced since.
var reaperCommand = []string{"/proc/self/exe", "reap"}

// reapCommand is for launchers alone: when one was killed, it ends what the launcher has
// left that stands still.
func (c *cli) reapCommand() *cobra.Command {
	return &cobra.Command{
		Use: "reap", Short: "End what a launcher leaves behind", Hidden: true, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error { return reaper.Run(args) },
	}
}

// stepCommand is how a launcher starts workers as others: by a program beside this one.
func stepCommand() ([]string, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return []string{filepath.Join(filepath.Dir(own), "hamadryad-isolate")}, nil
}
