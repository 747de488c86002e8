package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/show"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/manager"
	"github.com/hamadryad/hamadryad/engine/site"
	"github.com/hamadryad/hamadryad/engine/wire"
)

func (c *cli) accessCommand() *cobra.Command {
	file := ""
	var groups []string
	cmd := c.outputFlags(&cobra.Command{
		Use: "access [USER]", Short: "Show who may do what", Args: cobra.MaximumNArgs(1),
		Long: `Shows the roles that a user has, and for whom it may act. It lists the pools
where lists let it submit or administer, with all pools below them. Without
USER it is about you. To ask about others needs one of the roles viewer,
operator, administrator.

With --config it reads a file, such as one that is not in force yet, and asks no
manager. Groups that a certificate names are given with --group then.

A viewer looks at everything. A user has its own jobs, and submits where lists
let it. An operator looks at everything, drains launchers and reloads the
policy. An administrator may do everything. docs/ACCESS.md tells how they are
given.`,
		Example: "  hamadryad access\n  hamadryad access ann\n  hamadryad access ann --config /etc/hamadryad.yaml --group research",
		RunE: func(cmd *cobra.Command, args []string) error {
			user := ""
			if len(args) > 0 {
				user = args[0]
			}
			if file != "" {
				return c.accessIn(file, user, groups)
			}
			return c.withClient(func(cl *client.Client) error {
				r, err := cl.Access(cmd.Context(), user)
				if err != nil {
					return err
				}
				return c.show.Access(r)
			})
		},
	}, show.ThingFormats)
	cmd.Flags().StringVar(&file, "config", "", "`FILE` to read, instead of asking the manager")
	cmd.Flags().StringSliceVar(&groups, "group", nil, "`GROUP` that the user is in besides those of the file; with --config")
	return cmd
}

// accessIn shows a user's rights under a file.
func (c *cli) accessIn(file, user string, groups []string) error {
	s, err := site.Load(config.Sources{File: file, Environ: os.Environ(), CoreKeys: site.CoreKeys()})
	if err != nil {
		return err
	}
	caller := s.Rules.Known(user, groups)
	r := &wire.AccessReply{Principal: &wire.Principal{Name: user, Groups: caller.Groups}}
	manager.DescribeAccess(s.Rules, caller, r)
	if s.Auth.Mode == config.AuthOff {
		r.Advice = append(r.Advice, "auth.mode is off in that file: everybody may do everything until it is tls")
	}
	return c.show.Access(r)
}
