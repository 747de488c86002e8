package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/engine/auth/join"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/site"
)

func (c *cli) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "Let launchers join by a token",
		Long: `A launcher gets its certificate by itself when it is given a token: the manager signs
it for the launcher that the token names, once. The launcher renews it from then on,
so no certificate has to be copied to many machines.`,
	}
	cmd.AddCommand(c.tokenCreateCommand())
	return cmd
}

func (c *cli) tokenCreateCommand() *cobra.Command {
	f := &configured{}
	var launcher string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: "create", Short: "Make a token for a launcher", Args: cobra.NoArgs,
		Long: `Makes a token on the manager's machine, with the manager's configuration: it
counts once, for one launcher, until --ttl is over. The manager's data folder
keeps a hash of it. The token has the manager's addresses (manager.listen and
auth.join) and the SHA-256 of the CA. So the launcher gives it to nobody but a
manager of this cluster. Whoever has the token until then can be that
launcher.

The manager must have auth.caKey, which signs, and auth.join, where launchers come.`,
		Example: `  hamadryad token create --config /etc/hamadryad.yaml --launcher node-7 > node-7.token
  hamadryad serve launcher --token node-7.token`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(f.sources(cmd))
			if err != nil {
				return err
			}
			t, err := site.CreateToken(cfg, launcher, ttl, time.Now())
			if err != nil {
				return err
			}
			fmt.Fprintln(c.show.Out, t)
			fmt.Fprintf(c.show.Errors, "a token for launcher %s, good once, until %s\n", launcher, time.Now().Add(ttl).Format(time.RFC3339))
			return nil
		},
	}
	cmd.Flags().StringVar(&launcher, "launcher", "", "`NAME` of the launcher")
	cmd.Flags().DurationVar(&ttl, "ttl", join.TTLDefault, "for how long the token is good")
	_ = cmd.MarkFlagRequired("launcher")
	f.configFlag(cmd)
	f.flag(cmd, "data", "manager.data", "the manager's data folder")
	f.flag(cmd, "ca-key", "auth.caKey", "file with the CA's key")
	f.keys[caFlag], f.keys[certificateFlag] = "auth.ca", "auth.certificate"
	return cmd
}
