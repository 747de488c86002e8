package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/engine/launcher/reaper"
)

// reaperCommand is a launcher's command line for reapCommand: its own program, even when the file
// of that name was replaced since.
var reaperCommand = []string{"/proc/self/exe", "reap"}

// reapCommand is for launchers alone: after a launcher was killed, it ends the suspended processes
// that the launcher has left.
func (c *cli) reapCommand() *cobra.Command {
	return &cobra.Command{
		Use: "reap", Short: "End what a launcher leaves behind", Hidden: true, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error { return reaper.Run(args) },
	}
}

// stepCommand is a launcher's command line to start workers as other users: a program beside this
// one.
func stepCommand() ([]string, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return []string{filepath.Join(filepath.Dir(own), "hamadryad-isolate")}, nil
}
