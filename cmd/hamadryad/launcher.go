package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/launcher"
	"github.com/hamadryad/hamadryad/engine/local"
	"github.com/hamadryad/hamadryad/engine/site"
)

func (c *cli) launcherCommand() *cobra.Command {
	f := &configured{}
	part := &local.Part{}
	cmd := &cobra.Command{
		Use: "launcher", Short: "Run a launcher", Args: cobra.NoArgs,
		Long: `Runs a launcher: the agent of one machine. It joins the manager with its slots
and memory, starts and ends the workers that run jobs, and serves what they store.
Launchers may come and go while jobs run.

Attempts that a policy suspends are stopped by the freezer of cgroup2 where
the launcher may make groups below its own. Elsewhere each of their processes
gets a stop signal (launcher.suspend: auto, freezer or signals). The log says
at the start which, and why. They keep their memory. The part that has room in
--swap does not count in --memory, so others may have it. Give there what the
machine's swap has for them. Suspended attempts
go on when a slot is free.

With launcher.isolation.user: submitter, a launcher that runs as root starts
each worker as the user of this machine who has the submitter's name. The
worker has its own view of the system. It sees no processes but its own, has a
/tmp of its own, and gains nothing by set-uid programs.
launcher.isolation.leastUID, allow and deny say who may run. Such a launcher
needs the program hamadryad-isolate beside this one. With none, the default,
workers run as the launcher's user.

Where the launcher may use cgroup2 with the controllers cpu, memory and pids,
it limits each worker. The limits are its attempt's memory,
launcher.isolation.processes, and, where processors are short, its share by
slots. With the controller cpuset and isolation by submitter, users have
processors of their own by their slots, while several users have work here.
There must not be more slots than processors. launcher.isolation.cgroup says
where the groups are: auto, a folder of cgroup2, or none. Auto is below the
launcher's own group, in which it must be alone, as in a unit of systemd with
Delegate=yes. Auto is below the launcher's own group, in which it must be
alone, as in a unit of systemd with Delegate=yes. The log says at the start
whether there are limits, and why not.

The configuration file is read once. A launcher that restarts while the file
has mistakes goes on with what it joined with last. It says so in its log and
in hamadryad_launcher_config_wrong. The first start of a data folder refuses
such a file.

A launcher that has joined with a token needs it no more: its data folder has the certificate
and remembers where the manager is. A certificate, or a manager, that the environment has for
your own commands ($HAMADRYAD_AUTH_CERTIFICATE, $HAMADRYAD_MANAGER) does not replace those.`,
		Example: "  hamadryad serve launcher --token node-2.token --data /var/lib/hamadryad\n  hamadryad serve launcher --auth tls --certificate node-2.pem --manager 10.0.0.1:7070 --bind 10.0.0.2\n  hamadryad serve launcher --manager 10.0.0.1:7070 --slots map=4,reduce=2 --memory 16GiB --rack r1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := f.sources(cmd)
			s.Manager = os.Getenv(client.AddressVariable)
			cfg, err := site.StartLauncher(s, logger)
			if err != nil {
				return err
			}
			ctx, stop, err := part.Begin(cmd.Context())
			if err != nil {
				return err
			}
			defer stop()
			systemd, err := openUnit(part, cfg.Log)
			if err != nil {
				return err
			}
			cfg.Ready = func() {
				part.Ready("joined")
				systemd.status("joined the manager at " + cfg.Manager)
			}
			cfg.Watchdog, cfg.Reaper = systemd.serve, reaperCommand
			if cfg.Step, err = stepCommand(); err != nil {
				return err
			}
			return launcher.Run(ctx, cfg)
		},
	}
	f.configFlag(cmd)
	f.keys = map[string]string{"manager": "launcher.manager"} // the flag is the root's
	f.flag(cmd, "name", "launcher.name", "name, unique in the cluster")
	f.flag(cmd, "host", "launcher.host", "name of the machine, as the places of input files spell it")
	f.flag(cmd, "names", "launcher.names", "further names and addresses of the machine in the places of input files, separated by commas")
	f.flag(cmd, "rack", "launcher.rack", "rack of the machine")
	f.flag(cmd, "slots", "launcher.slots", "slots: a number, or kinds such as map=4,reduce=2")
	f.flag(cmd, "memory", "launcher.memory", "memory for all workers, such as 16GiB")
	f.flag(cmd, "swap", "launcher.swap", "swap of the machine for memory of suspended attempts, such as 16GiB")
	f.flag(cmd, "resources", "launcher.resources", "countable resources that tasks may ask for, such as gpu:4,license-x:10")
	f.flag(cmd, "suspension-frees", "launcher.suspensionFrees", "kinds of resources that suspension of a task frees for others, separated by commas")
	f.flag(cmd, "cores", "launcher.cores", "processor cores that tasks may ask for; 0 does not count them")
	f.flag(cmd, "data", "launcher.data", "folder for its data")
	f.flag(cmd, "cache", "launcher.cache", "folder for programs; launchers of a machine may share it")
	f.flag(cmd, "bind", "launcher.bind", "address that its ports listen on")
	f.authFlags(cmd)
	f.flag(cmd, "join", "auth.join", "address of the manager for joins and renewals")
	f.flag(cmd, "token", "auth.token", "token of \"hamadryad token create\", or a file with it: for a launcher without a good certificate. It has the manager's address, too")
	f.flag(cmd, "log-level", "log.level", "debug, info, warn or error")
	partFlags(cmd, part)
	return cmd
}
