package main

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/auth/join"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/site"
)

const (
	// managerName is the manager's name in its certificate: a cluster has one.
	managerName = "m1"
	// joinPort is the port of launchers' joins on a manager that "ca init" sets up.
	joinPort = "7072"
	// managerFile is its configuration, beside the CA.
	managerFile = "manager.yaml"
)

// founding is the arguments of "ca init".
type founding struct {
	cluster, folder string
	manager         string   // host:port; "": the CA alone
	hosts           []string // further hosts of the manager
	admin           string
	launchers       []string
}

func (c *cli) caInitCommand() *cobra.Command {
	var f founding
	cmd := &cobra.Command{
		Use: "init", Short: "Make a cluster's CA", Args: cobra.NoArgs,
		Long: `Makes the CA of a cluster: ca.pem, which everybody gets, and ca.key, which nobody
else does. It is good for ten years. A CA that is there already is not replaced.

With --manager, the address HOST:PORT at which others will reach the manager,
it sets up a cluster. The manager is to run on this machine. It makes
certificates for the manager and for a first administrator, and the manager's
configuration (manager.yaml). It makes a token for each --launcher, which gets
its certificate with it. It prints the commands that start them. The manager
signs launchers, so ca.key stays with it. Its certificate names HOST, and each
--host: browsers and curl want the name or address there by which they reach
its pages.`,
		Example: "  hamadryad ca init --cluster production --folder /etc/hamadryad/ca\n  hamadryad ca init --cluster production --manager 10.0.0.1:7070 --host m1.example.com --launcher node-2 --launcher node-3",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("manager") { // the flag is the root's
				return c.foundCA(f)
			}
			f.manager = c.manager
			return c.foundCluster(f)
		},
	}
	cmd.Flags().StringVar(&f.cluster, "cluster", "hamadryad", "`NAME` of the cluster, which stands in all its certificates")
	cmd.Flags().StringVar(&f.folder, "folder", caFolder, "`FOLDER` for the CA")
	cmd.Flags().StringSliceVar(&f.hosts, "host", nil, "`HOST` at which browsers reach the manager besides, a name or an address, with --manager; may be given several times")
	cmd.Flags().StringVar(&f.admin, "admin", systemUser(), "`NAME` of the first administrator, with --manager")
	cmd.Flags().StringSliceVar(&f.launchers, "launcher", nil, "`NAME` of a launcher to make a token for, with --manager; may be given several times")
	return cmd
}

// systemUser is the name of this process's user, "" when the system has none.
func systemUser() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

func (c *cli) foundCA(f founding) error {
	if len(f.launchers) > 0 {
		return client.Misuse("--launcher needs --manager: a token says where the manager is")
	}
	if len(f.hosts) > 0 {
		return client.Misuse("--host needs --manager: without it no manager gets a certificate here; \"hamadryad ca issue manager/m1 --host HOST\" gives it one")
	}
	ca, err := certs.Init(f.folder, f.cluster, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintf(c.show.Out, "the CA of cluster %s: %s and %s (keep this one to yourself)\nits SHA-256: %s\n",
		ca.Cluster(), filepath.Join(f.folder, certs.FileCA), filepath.Join(f.folder, certs.FileCAKey), ca.Pin())
	return nil
}

// foundCluster makes the files with which a manager here and launchers elsewhere begin. It checks
// all arguments before it makes anything.
func (c *cli) foundCluster(f founding) error {
	who, err := f.identities()
	if err != nil {
		return err
	}
	hosts, err := f.reached()
	if err != nil {
		return err
	}
	file, text, err := f.configuration()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("%s is there already: choose another --folder, or make the CA without --manager", file)
	}
	cfg, err := config.Load(config.Sources{File: file, Texts: map[string][]byte{file: text}, CoreKeys: site.CoreKeys()})
	if err != nil {
		return client.Misuse("--manager %s: %w", f.manager, err)
	}
	ca, err := certs.Init(f.folder, f.cluster, time.Now())
	if err != nil {
		return err
	}
	if ca, err = ca.At(hosts); err != nil {
		return err
	}
	for _, id := range who {
		if _, _, err := ca.Write(filepath.Join(f.folder, string(id.Kind)), id, time.Now(), certs.LifeDefault); err != nil {
			return err
		}
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	var tokens []join.Token
	for _, l := range f.launchers {
		t, err := site.CreateToken(cfg, l, join.TTLDefault, time.Now())
		if err != nil {
			return err
		}
		tokens = append(tokens, t)
	}
	c.showCluster(f, cfg, tokens)
	return nil
}

// identities returns the identities of the manager and the administrator, and checks the launchers'
// names.
func (f founding) identities() (all []auth.Identity, err error) {
	for _, who := range []struct {
		kind auth.Kind
		name string
	}{{auth.Manager, managerName}, {auth.User, f.admin}} {
		id, err := auth.NewIdentity(f.cluster, who.kind, who.name)
		if err != nil {
			return nil, client.Misuse("--cluster %s, --admin %s: %w", f.cluster, f.admin, err)
		}
		all = append(all, id)
	}
	for _, l := range f.launchers {
		if err := auth.CheckName(l); err != nil {
			return nil, client.Misuse("--launcher %s: %w", l, err)
		}
	}
	return all, nil
}

// reached are the hosts of the manager's certificate.
func (f founding) reached() ([]string, error) {
	host, _, err := net.SplitHostPort(f.manager)
	if err != nil || host == "" {
		return nil, client.Misuse("--manager %s: give it the host and port at which launchers and users will reach the manager, such as 10.0.0.1:7070", f.manager)
	}
	if _, err := certs.CheckHost(host); err != nil {
		return nil, client.Misuse("--manager %s: %w", f.manager, err)
	}
	for _, h := range f.hosts {
		if _, err := certs.CheckHost(h); err != nil {
			return nil, client.Misuse("--host %s: %w", h, err)
		}
	}
	return append([]string{host}, f.hosts...), nil
}

// configuration is the manager's, with the name of its file. Paths are absolute: the manager may be
// started anywhere.
func (f founding) configuration() (file string, text []byte, err error) {
	host, _, err := net.SplitHostPort(f.manager)
	if err != nil {
		return "", nil, err
	}
	folder, err := filepath.Abs(f.folder)
	if err != nil {
		return "", nil, err
	}
	data, err := filepath.Abs(config.DataFolder(config.Sources{}, "manager"))
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# The manager of cluster %s, which takes changes over as it runs.\n", f.cluster)
	fmt.Fprintf(&b, "manager:\n  listen: %q\n  data: %q\n", f.manager, data)
	fmt.Fprintf(&b, "auth:\n  mode: tls\n  certificate: %q\n", filepath.Join(folder, string(auth.Manager), managerName+".pem"))
	fmt.Fprintf(&b, "  join: %q # where launchers get their certificates\n  caKey: %q\n", net.JoinHostPort(host, joinPort), filepath.Join(folder, certs.FileCAKey))
	fmt.Fprintf(&b, "  roles:\n    administrator: {users: [%q]}\n", f.admin)
	return filepath.Join(f.folder, managerFile), []byte(b.String()), nil
}

func (c *cli) showCluster(f founding, cfg *config.Config, tokens []join.Token) {
	fmt.Fprintf(c.show.Out, "the cluster %s, in %s: keep that folder to yourself\n\nthe manager, here:\n  hamadryad serve manager --config %s\n", f.cluster, f.folder, cfg.File)
	for _, t := range tokens {
		fmt.Fprintf(c.show.Out, "\nlauncher %s, on its machine, within %.0f minutes:\n  hamadryad serve launcher --token %s\n", t.Launcher, join.TTLDefault.Minutes(), t)
	}
	fmt.Fprintf(c.show.Out, "\n%s, who may do everything:\n  hamadryad config add %s --manager %s --certificate %s\n", f.admin,
		f.cluster, cfg.Manager.Listen, filepath.Join(f.folder, string(auth.User), f.admin+".pem"))
}
