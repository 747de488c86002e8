package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/eventlog"
)

func (c *cli) eventLogCommand() *cobra.Command {
	return &cobra.Command{
		Use: "event-log FILE...", Short: "Print event log files, or a folder of them, as lines of JSON", Args: cobra.MinimumNArgs(1),
		Long: `Prints what reached the manager's core, one batch a line, each file's header
first. The files are in the folder log below the manager's data folder; they may
be read while the manager runs.`,
		Example: "  hamadryad event-log hamadryad-data/manager/log\n  hamadryad event-log events-0000000000000001.log | jq 'select(.inputs[]?.submit)'",
		RunE: func(_ *cobra.Command, args []string) error {
			for _, path := range args {
				files := []string{path}
				if info, err := os.Stat(path); err == nil && info.IsDir() {
					if files, err = eventlog.Files(path); err != nil {
						return err
					}
					if len(files) == 0 {
						return client.Misuse("%s holds no event log: name the folder log below a manager's data folder, or files of it", path)
					}
				}
				for _, file := range files {
					if err := c.show.EventLog(file); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
}
