package main

import (
	"context"
	"errors"

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
	return &cobra.Command{
		Use: "drain LAUNCHER...", Short: "Keep new work from launchers", Args: cobra.MinimumNArgs(1), ValidArgsFunction: c.names().Launchers,
		Long: "What runs on the launchers goes on; when \"hamadryad launchers\" shows one drained it can be stopped.\n" +
			"\"hamadryad undrain\" lets new work come again.",
		Example: "  hamadryad drain node-7\n  hamadryad drain node-7 node-8",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withClient(func(cl *client.Client) error { return drainAll(cmd.Context(), cl, args, true) })
		},
	}
}

func (c *cli) undrainCommand() *cobra.Command {
	return &cobra.Command{
		Use: "undrain LAUNCHER...", Short: "Let new work come to launchers again", Args: cobra.MinimumNArgs(1), ValidArgsFunction: c.names().Launchers,
		Long:    "It ends a drain, and the exclusion of a launcher on which attempts of several jobs failed.",
		Example: "  hamadryad undrain node-7",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withClient(func(cl *client.Client) error { return drainAll(cmd.Context(), cl, args, false) })
		},
	}
}

// drainAll drains launchers, or ends that. One that is wrong keeps no other from it.
func drainAll(ctx context.Context, cl *client.Client, launchers []string, drain bool) error {
	var errs []error
	for _, name := range launchers {
		errs = append(errs, cl.Drain(ctx, name, drain))
	}
	return errors.Join(errs...)
}
