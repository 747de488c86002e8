package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/complete"
	"github.com/hamadryad/hamadryad/cmd/hamadryad/show"
	"github.com/hamadryad/hamadryad/cmd/internal/manpages"
	"github.com/hamadryad/hamadryad/cmd/internal/usage"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/internal/buildinfo"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// cli is shared by the commands.
type cli struct {
	manager  string
	context  string         // a name; "": the current one
	flags    *pflag.FlagSet // of all commands
	user     string
	actsFor  string
	auth     certs.Files
	bearer   string
	service  string
	patience time.Duration
	watch    bool
	show     show.Printer
}

func execute(ctx context.Context, args []string) int {
	c := &cli{show: show.Printer{Out: progress.Safe(os.Stdout), Errors: os.Stderr}}
	root := c.root()
	root.SetArgs(args)
	err := usage.UnknownCommand(root, args)
	if err == nil {
		var cmd *cobra.Command
		if cmd, err = root.ExecuteContextC(ctx); err != nil {
			err = usage.InWords(cmd, err)
		}
	}
	usage.PrintError(c.show.Errors, err)
	return client.ExitCodeOf(err)
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "hamadryad",
		Short: "Run data-parallel jobs on one machine or many",
		Long: `Hamadryad runs data-parallel jobs: graphs of programs joined by channels. A
manager decides what runs where, as its scheduling policy says; launchers run it.`,
		Example: `  # A whole cluster for one program, on this machine, gone when it ends:
  hamadryad local -- ./wordcount ~/texts /tmp/out

  # A cluster on this machine that stays:
  hamadryad local --launchers 4 --slots 2

  # A cluster on many: a manager here, and a launcher on each machine. The first command
  # makes what they prove themselves with, and prints the others.
  hamadryad ca init --cluster production --manager 10.0.0.1:7070 --admin ann --launcher node-2
  hamadryad serve manager --config hamadryad-ca/manager.yaml
  hamadryad serve launcher --token TOKEN-OF-NODE-2

  # See what happens:
  hamadryad config add production --manager 10.0.0.1:7070 --certificate hamadryad-ca/user/ann.pem
  hamadryad jobs
  hamadryad status job-12
  hamadryad attach job-12

  # With a token of your organisation's login in place of a certificate (docs/ACCESS.md):
  hamadryad --ca ca.pem --bearer token jobs

  # Names of jobs, launchers, pools and policies complete with TAB:
  source <(hamadryad completion bash)`,
		SilenceErrors: true, SilenceUsage: true, Version: show.VersionText(buildinfo.Read()),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.PersistentFlags().StringVar(&c.manager, "manager", client.DefaultAddress(),
		"`HOST:PORT` of the manager; $"+client.AddressVariable+" sets it too, or your current context")
	root.PersistentFlags().StringVar(&c.context, "context", "", "`NAME` of a context in place of the current one: \"hamadryad config contexts\" lists them")
	_ = root.RegisterFlagCompletionFunc("context", contextNames)
	c.flags = root.PersistentFlags()
	root.PersistentFlags().StringVar(&c.user, "user", "", "your user `NAME`, which your jobs get; left out: $"+storage.UserVariable+", or the system's user. A certificate, where there is one, decides it alone; a policy may want a key, too ($"+client.KeyVariable+")")
	root.PersistentFlags().StringVar(&c.actsFor, "for", "", "`NAME` of the user to act for, where the manager's configuration lets you (auth.impersonators); $"+client.ForVariable+" sets it too")
	root.PersistentFlags().DurationVar(&c.patience, "wait", 0, "for `HOW LONG` to wait for a manager that does not answer, such as 10m; $"+client.WaitVariable+" sets it too. Left out: 3s for one that was never there, 2m for one that was")
	given := client.Certificate()
	root.PersistentFlags().StringVar(&c.auth.Certificate, certificateFlag, given.Certificate, "`FILE` with the certificate to show; $"+client.CertificateVariable+" sets it too. \"hamadryad ca --help\" tells of it")
	root.PersistentFlags().StringVar(&c.auth.Key, keyFlag, given.Key, "`FILE` with the certificate's key; left out: beside it, with the ending .key")
	root.PersistentFlags().StringVar(&c.auth.CA, caFlag, given.CA, "`FILE` with the cluster's CA; left out: ca.pem beside the certificate")
	root.PersistentFlags().StringVar(&c.bearer, "bearer", client.Bearer(), "`FILE` with the token to show in place of a certificate, with --ca; $"+client.BearerVariable+" sets it too. docs/ACCESS.md tells how to get one")
	root.PersistentFlags().StringVar(&c.service, "service", client.Service(), "the manager's Kerberos `SERVICE`, such as hamadryad/m1.example.com: prove who you are by your ticket cache (kinit) in place of a certificate, with --ca; $"+client.ServiceVariable+" sets it too")
	root.AddCommand(c.localCommand(), c.serveCommand(), c.caCommand(), c.tokenCommand(), c.submitCommand(),
		c.jobsCommand(), c.statusCommand(), c.attachCommand(), c.waitCommand(), c.killCommand(), c.retryCommand(), c.moveCommand(), c.priorityCommand(), c.limitCommand(), c.logsCommand(), c.scheduleCommand(), c.publishCommand(),
		c.launchersCommand(), c.drainCommand(), c.undrainCommand(), c.policyCommand(), c.queueCommand(), c.eventLogCommand(), c.configCommand(), c.accessCommand(), c.auditCommand(), c.uiCommand(), laboratory("simulate", "Play workloads under policies, in virtual time"), laboratory("workload", "Make, convert and describe workload files"), c.checkpointCommand(), c.reapCommand(), manpages.Command(func(root *cobra.Command) []*cobra.Command { return []*cobra.Command{root} }), c.versionCommand(), exitCodesTopic())
	usage.Prepare(root)
	return root
}

func (c *cli) versionCommand() *cobra.Command {
	return c.outputFlags(&cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Example: "  hamadryad version\n  hamadryad version -o json",
		RunE:    func(*cobra.Command, []string) error { return c.show.Version(buildinfo.Read()) },
	}, show.ThingFormats)
}

// exitCodesTopic is a page of help, without a command.
func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use: "exit-codes", Short: "What the exit codes of commands and programs mean",
		Long: "Commands, and programs that submit jobs, end with one of these exit codes. \"hamadryad local\" and\n" +
			"\"hamadryad submit\" end with that of the program that they ran.\n\n" + client.ExitHelp(),
	}
}

// dial connects to the manager.
func (c *cli) dial() (*client.Client, error) {
	if c.patience < 0 {
		return nil, client.Misuse("--wait %v: say for how long to wait for a manager that does not answer, such as 30s or 10m", c.patience)
	}
	o := client.Options{Wait: c.patience, User: c.user, For: c.actsFor, Auth: c.auth, Bearer: c.bearer, Service: c.service, Waiting: func(why string) {
		fmt.Fprintln(c.show.Errors, "hamadryad: waiting:", scheduler.PrintableText(why))
	}}
	address, err := c.target(&o)
	if err != nil {
		return nil, err
	}
	return client.Dial(address, o)
}

// withClient runs do with a connection.
func (c *cli) withClient(do func(*client.Client) error) error {
	cl, err := c.dial()
	if err != nil {
		return err
	}
	defer cl.Close()
	return do(cl)
}

// names completes words.
func (c *cli) names() complete.Names { return complete.Names{With: c.withClient} }
