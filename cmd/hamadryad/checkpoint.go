package main

import (
	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/engine/manager/recovery"
	"github.com/hamadryad/hamadryad/engine/progress"
)

// remaker is a manager's command line for checkpointCommand: its own program, even when the file of
// that name was replaced since.
var remaker = []string{"/proc/self/exe", "checkpoint"}

// checkpointCommand is for managers alone: it makes a checkpoint from the event log, in a separate
// process, so that the manager continues meanwhile.
func (c *cli) checkpointCommand() *cobra.Command {
	return &cobra.Command{
		Use: "checkpoint", Short: "Make a checkpoint for a manager", Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return recovery.RemakeAsked(cmd.Context(), args, progress.Raw(c.show.Out))
		},
	}
}
