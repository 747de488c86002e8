package main

import (
	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/engine/client"
)

func (c *cli) launchersCommand() *cobra.Command {
	return c.formatFlag(&cobra.Command{
		Use: "launchers", Short: "List launchers", Args: cobra.NoArgs,
		Long: "FREE is what work may start on, of slots (none of a launcher that drains or is excluded), and what no attempt holds of the memory that the launcher was given. Suspended attempts hold " +
			"memory of its SWAP first. CPU and USED are how busy its " +
			"machine is, with all that runs there: the part of all processors' time between the last two heartbeats that was not idle, " +
			"and the part of the machine's memory that is not available; - stands for what is not known.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withClient(func(cl *client.Client) error {
				list, err := cl.Launchers(cmd.Context())
				if err != nil {
					return err
				}
				return c.show.Launchers(list)
			})
		},
	})
}

func (c *cli) drainCommand() *cobra.Command {
	end := false
	cmd := &cobra.Command{
		Use: "drain LAUNCHER", Short: "Keep new work from a launcher", Args: cobra.ExactArgs(1), ValidArgsFunction: c.names().Launchers,
		Long: "With --end new work comes again, also to a launcher that is excluded because attempts of several jobs failed there. " +
			"What runs on the launcher goes on; when \"hamadryad launchers\" shows it drained it can be stopped.",
		Example: "  hamadryad drain node-7\n  hamadryad drain node-7 --end",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withClient(func(cl *client.Client) error { return cl.Drain(cmd.Context(), args[0], !end) })
		},
	}
	cmd.Flags().BoolVar(&end, "end", false, "let new work come again")
	return cmd
}
