package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/client"
)

// caFolder is the CA's default folder.
const caFolder = "hamadryad-ca"

func (c *cli) caCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ca", Short: "Make the certificates of a cluster",
		Long: `A cluster whose ports others reach is closed to strangers by certificates: its
manager, launchers and users each have one that the cluster's CA signed, and all
connections are encrypted (TLS 1.3). A certificate has one name in it, such as
hamadryad://production/user/ann; host names play no part.

"ca init" makes the CA once, and with --manager all that a first cluster needs; "ca issue"
makes a certificate with its key. Processes and
programs are told of theirs by one setting, auth.certificate (or --certificate, or
$` + client.CertificateVariable + `): the key and ca.pem are looked for beside it. A file
that is replaced counts without a restart.

Keep ca.key to yourself: whoever has it is everybody.`,
		Example: `  hamadryad ca init --cluster production --manager 10.0.0.1:7070 --launcher node-2 --launcher node-3

  hamadryad ca init --cluster production
  hamadryad ca issue manager/m1 launcher/node-7 user/ann

  hamadryad serve manager --auth tls --certificate m1.pem --listen 10.0.0.1:7070
  hamadryad serve launcher --auth tls --certificate node-7.pem --manager 10.0.0.1:7070 --bind 10.0.0.7
  hamadryad config add production --manager 10.0.0.1:7070 --certificate ann.pem`,
	}
	cmd.AddCommand(c.caInitCommand(), c.caIssueCommand())
	return cmd
}

func (c *cli) caIssueCommand() *cobra.Command {
	var folder, out string
	var groups, hosts []string
	var life time.Duration
	cmd := &cobra.Command{
		Use: "issue {manager|launcher|user}/NAME...", Short: "Issue certificates", Args: cobra.MinimumNArgs(1),
		Long: `Makes a key for each NAME, and has the CA sign its certificate: NAME.pem and
NAME.key, with ca.pem beside them. Copy the three to their owner, who alone
may read the key. The same name
again gives a new certificate and a new key. The one before stays good until
it ends, so keep the life of certificates short.

A launcher's NAME is its launcher.name, a user's the one that jobs run under.

A manager's certificate is good for its NAME, localhost and loopback's
addresses. With --host it is also for the names and addresses by which
browsers, curl and Prometheus reach its pages from elsewhere. Our own programs
need none. A certificate that takes the place of another keeps the hosts of
that one, unless --host gives others.`,
		Example: "  hamadryad ca issue manager/m1 launcher/node-7 user/ann\n  hamadryad ca issue manager/m1 --host m1.example.com --host 10.0.0.1\n  hamadryad ca issue user/ann --life 720h\n  hamadryad ca issue launcher/node-7 --folder /etc/hamadryad/ca --out /tmp/node-7",
		RunE: func(_ *cobra.Command, args []string) error {
			ca, err := certs.OpenAuthority(filepath.Join(folder, certs.FileCA), filepath.Join(folder, certs.FileCAKey))
			if err != nil {
				return fmt.Errorf("%w: make a CA with \"hamadryad ca init\", or name its folder with --folder", err)
			}
			if ca, err = ca.In(groups); err != nil {
				return err
			}
			var ids []auth.Identity
			for _, arg := range args {
				kind, name, _ := strings.Cut(arg, "/")
				id, err := auth.NewIdentity(ca.Cluster(), auth.Kind(kind), name)
				if err != nil {
					return client.Misuse("%s: %w", arg, err)
				}
				ids = append(ids, id)
			}
			if len(hosts) > 0 && !slices.ContainsFunc(ids, func(id auth.Identity) bool { return id.Kind == auth.Manager }) {
				return client.Misuse("--host is for managers: others are reached by no browser")
			}
			for _, id := range ids {
				to := cmp.Or(out, filepath.Join(folder, string(id.Kind)))
				if err := c.issue(ca, id, to, hosts, life); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&folder, "folder", caFolder, "`FOLDER` of the CA")
	cmd.Flags().StringVar(&out, "out", "", "`FOLDER` for the files; left out: one below the CA's for each kind")
	cmd.Flags().StringSliceVar(&groups, "group", nil, "`GROUP` that the users are in, for roles and lists; may be given several times")
	cmd.Flags().StringSliceVar(&hosts, "host", nil, "`HOST` at which browsers reach the manager, a name or an address; may be given several times")
	cmd.Flags().DurationVar(&life, "life", certs.LifeDefault, "for how long the certificate is good, such as 720h")
	return cmd
}

// issue writes a certificate into a folder: of a manager for hosts, or for the hosts of the
// certificate that it replaces.
func (c *cli) issue(ca *certs.Authority, id auth.Identity, to string, hosts []string, life time.Duration) error {
	if len(hosts) == 0 {
		hosts = certs.HostsOf(filepath.Join(to, id.Name+".pem"), id)
	}
	ca, err := ca.At(hosts)
	if err != nil {
		return client.Misuse("--host: %w", err)
	}
	cert, key, err := ca.Write(to, id, time.Now(), life)
	if err != nil {
		return err
	}
	good := ""
	if id.Kind == auth.Manager {
		good = "; for browsers it is good at " + strings.Join(certs.HostsOf(cert, id), ", ")
	}
	fmt.Fprintf(c.show.Out, "%s: %s and %s, with %s%s\n", id, cert, key, filepath.Join(to, certs.FileCA), good)
	return nil
}
