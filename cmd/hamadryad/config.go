package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/show"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/site"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func (c *cli) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Work with configurations",
		Long: `Looks at configurations, and changes the manager's; "use", "contexts", "current" and "add"
are about your own, which says where managers are and who you are there. "check" needs no manager. "apply" puts
a text into the manager's configuration file and in force, as if it had been edited there, and
keeps the one before as a version that "rollback" goes back to. Where the manager can't write its
file, change the file where it comes from: the manager sees that by itself.`,
		Example: `  hamadryad config check new.yaml
  hamadryad config diff new.yaml
  hamadryad config apply new.yaml --comment "more for research"
  hamadryad config versions
  hamadryad config rollback 3
  hamadryad config use production`,
	}
	f := &configured{}
	check := &cobra.Command{
		Use: "check [FILE]", Short: "Check a configuration, the policy's settings included", Args: cobra.MaximumNArgs(1),
		Long:    "Reads the configuration as the manager would, and lets the policy check its own settings. Mistakes are named with file and line. A list of auth.pools for a pool that the policy does not have is a warning, since a job may make such a pool. Policies that tell all their pools, such as fair, are asked.",
		Example: "  hamadryad config check /etc/hamadryad.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.file = args[0]
			}
			if f.file == "" {
				return errNoConfig
			}
			s := config.Sources{File: f.file, Environ: os.Environ(), CoreKeys: site.CoreKeys()}
			checked, err := site.Load(s)
			if err == nil {
				err = checked.CheckPolicy(cmd.Context())
			}
			if err != nil {
				return &client.ExitError{Code: client.ExitFailed, Err: err}
			}
			for _, doubt := range checked.Doubts(cmd.Context()) {
				fmt.Fprintln(c.show.Errors, "hamadryad: warning:", scheduler.PrintableText(doubt))
			}
			fmt.Fprintf(c.show.Out, "%s is right; policy %s\n", f.file, checked.Plugin.Name)
			return nil
		},
	}
	f.configFlag(check)
	cmd.AddCommand(check, c.configShowCommand(), c.configDiffCommand(), c.configApplyCommand(), c.configVersionsCommand(), c.configRollBackCommand(),
		c.configUseCommand(), c.configContextsCommand(), c.configCurrentCommand(), c.configAddCommand())
	return cmd
}

func (c *cli) configShowCommand() *cobra.Command {
	all := false
	cmd := c.outputFlags(&cobra.Command{
		Use: "show [FILE]", Short: "Show the configuration in force, and where each setting comes from", Args: cobra.MaximumNArgs(1),
		Long: `Asks the manager for its configuration: each key that was set, its value, and the
file and line, variable or flag that set it. What the manager takes over only when
it is started again is marked. With FILE it shows what that file, the environment
and the defaults would give, and asks no manager.`,
		Example: "  hamadryad config show\n  hamadryad config show --all -o json | jq '.settings[] | select(.from != \"default\")'\n  hamadryad config show /etc/hamadryad.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				s, err := site.Load(config.Sources{File: args[0], Environ: os.Environ(), CoreKeys: site.CoreKeys()})
				if err != nil {
					return err
				}
				return c.show.Settings(&wire.SettingsReply{File: args[0], Settings: s.Shown}, all)
			}
			return c.withClient(func(cl *client.Client) error {
				r, err := cl.Settings(cmd.Context())
				if err != nil {
					return err
				}
				return c.show.Settings(r, all)
			})
		},
	}, show.ListFormats)
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also what was not set: the defaults")
	return cmd
}
