package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/manager/supervision"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func (c *cli) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Work with configurations"}
	f := &configured{}
	check := &cobra.Command{
		Use: "check [FILE]", Short: "Check a configuration, the policy's settings included", Args: cobra.MaximumNArgs(1),
		Long:    "Reads the configuration as the manager would, and lets the policy check its own settings. Mistakes are named with file and line.",
		Example: "  hamadryad config check /etc/hamadryad.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.file = args[0]
			}
			if f.file == "" {
				return errNoConfig
			}
			s := config.Sources{File: f.file, Environ: os.Environ(), CoreKeys: coreKeys()}
			site, err := loadSite(s)
			if err != nil {
				return err
			}
			if err := checkPolicy(cmd.Context(), site); err != nil {
				return err
			}
			fmt.Fprintf(c.out, "%s is right; policy %s\n", f.file, site.policy.Name)
			return nil
		},
	}
	f.configFlag(check)
	cmd.AddCommand(check, c.configShowCommand())
	return cmd
}

func (c *cli) configShowCommand() *cobra.Command {
	all := false
	cmd := c.formatFlag(&cobra.Command{
		Use: "show [FILE]", Short: "Show the configuration in force, and where each setting comes from", Args: cobra.MaximumNArgs(1),
		Long: `Asks the manager for its configuration: each key that was set, its value, and the
file and line, variable or flag that set it. What the manager takes over only when
it is started again is marked. With FILE it shows what that file, the environment
and the defaults would give, and asks no manager.`,
		Example: "  hamadryad config show\n  hamadryad config show --all -o json | jq '.settings[] | select(.from != \"default\")'\n  hamadryad config show /etc/hamadryad.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				s, err := loadSite(config.Sources{File: args[0], Environ: os.Environ(), CoreKeys: coreKeys()})
				if err != nil {
					return err
				}
				return c.printSettings(&wire.SettingsReply{File: args[0], Settings: s.shown}, all)
			}
			return c.withClient(func(cl *client.Client) error {
				r, err := cl.Settings(cmd.Context())
				if err != nil {
					return err
				}
				return c.printSettings(r, all)
			})
		},
	})
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also what was not set: the defaults")
	return cmd
}

func (c *cli) printSettings(r *wire.SettingsReply, all bool) error {
	if !all && c.format != "json" {
		r.Settings = slices.DeleteFunc(r.Settings, func(s *wire.Setting) bool { return s.From == "default" && s.NextFrom == "" })
	}
	if c.format == "json" {
		b, err := jsonOf(r)
		if err != nil {
			return err
		}
		return c.printJSON(b)
	}
	if r.Problem != "" {
		fmt.Fprintf(c.out, "%s is not in force as it is now; it was looked at %s ago: %s\n", r.File, span(time.Since(time.Unix(0, r.ProblemAt))), indented(r.Problem))
	}
	t := newTable(c.out, "KEY", "VALUE", "FROM", "AFTER A RESTART")
	for _, s := range r.Settings {
		next := ""
		if s.NextFrom != "" {
			next = fmt.Sprintf("%s (%s)", oneLine(s.Next), s.NextFrom)
		}
		t.row(s.Key, orDash(oneLine(s.Value)), s.From, next)
	}
	return t.end()
}

// oneLine makes a value of several lines one cell.
func oneLine(value string) string { return printable(strings.ReplaceAll(value, "\n", " | ")) }

// checkPolicy lets the plug-in check its settings.
func checkPolicy(ctx context.Context, s *site) error {
	host, err := policy.Launch(ctx, policy.Options{
		Path: s.policy.Path, Checksum: s.policy.Checksum, StartTimeout: s.policy.StartTimeout, Dir: supervision.SocketFolder(""),
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer host.Close()
	return problems(host.Check(ctx, s.policy.Config))
}

// problems leaves out the frames round a policy's own words.
func problems(err error) error {
	var p scheduler.Problems
	if errors.As(err, &p) {
		return p
	}
	return err
}
