package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/complete"
	"github.com/hamadryad/hamadryad/cmd/hamadryad/parts"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/local"
)

func (c *cli) localCommand() *cobra.Command {
	var o parts.Options
	cmd := &cobra.Command{
		Use:   "local [flags] [-- PROGRAM ARGS...]",
		Short: "Run a whole cluster on this machine, for one program or until stopped",
		Long: `Starts a manager, its policy plug-in and launchers as processes of this machine,
on free ports of loopback, and waits until they are ready. Then it runs PROGRAM with
HAMADRYAD_MANAGER set, ends everything when PROGRAM ends, and exits with its exit
code. Without PROGRAM it prints the manager's address and stays until it is stopped.

It is the same code as a cluster of many machines. A part that dies is started again;
one that dies before all are up ends the start, and what it said last is shown.

When it is killed itself, a job that ran leaves a folder such as
OUT.job-1.5f0c93aa.k3v9w2m5q7x4a.tmp beside its output,
with parts that nobody will publish. The next run is of another cluster, with another
name there, and touches no such folder: remove it when you like.

With --hdfs it also starts a small, real HDFS: a NameNode and four DataNodes.
They run from Hadoop's own jars, which Maven fetches the first time (64 MB).
PROGRAM and all parts find it as hdfs:///, and the command "hdfs dfs" is put
on PROGRAM's PATH. The launchers get the DataNodes' host names, so that work
goes to where its input lies.`,
		Example: `  hamadryad local -- ./wordcount ~/texts /tmp/out
  hamadryad local --launchers 4 --slots 2 --data /tmp/cluster -- ./wordcount ~/texts /tmp/out
  hamadryad local --policy fair --launchers 2
  hamadryad local --hdfs -- sh -c 'hdfs dfs -put ~/texts /in && ./wordcount hdfs:///in hdfs:///out'
  hamadryad local --hosts node0.test=/rack0,node1.test=/rack0,node2.test=/rack1`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.runLocal(cmd.Context(), o, args) },
	}
	cmd.Flags().StringVar(&o.Config, "config", os.Getenv("HAMADRYAD_CONFIG"), "configuration file; addresses and folders of it are not used")
	cmd.Flags().IntVarP(&o.Launchers, "launchers", "l", 0, "number of launchers; 1 when left out, or one for each host")
	cmd.Flags().StringVarP(&o.Slots, "slots", "s", "", "slots of each launcher, such as 2 or map=2,reduce=1; one a core when left out")
	cmd.Flags().StringVar(&o.Memory, "memory", "", "memory of each launcher, such as 4GiB; a fair part of the machine's when left out")
	cmd.Flags().StringVarP(&o.Data, "data", "d", "", "folder for all data, kept afterwards; a temporary one when left out")
	cmd.Flags().StringVar(&o.Policy, "policy", "", "scheduling policy: a name, or the path of a plug-in")
	cmd.Flags().StringVar(&o.LogLevel, "log-level", "info", "of manager and launchers: debug, info, warn or error")
	cmd.Flags().StringSliceVar(&o.Hosts, "hosts", nil, "host names of the launchers, HOST or HOST=RACK, as the places of input files spell them")
	cmd.Flags().BoolVar(&o.HDFS, "hdfs", false, "start a small HDFS too; it needs Java and Maven")
	cmd.Flags().SetInterspersed(false)
	_ = cmd.RegisterFlagCompletionFunc("policy", complete.Policies)
	return cmd
}

func (c *cli) runLocal(ctx context.Context, o parts.Options, program []string) (err error) {
	if err := o.PlaceLaunchers(); err != nil {
		return err
	}
	// All is on loopback and ends with this process: certificates are for other clusters.
	if err := os.Setenv(client.ModeVariable, "off"); err != nil {
		return err
	}
	if len(program) > 0 {
		if program[0], err = exec.LookPath(program[0]); err != nil {
			return client.Misuse("%w: name an executable file", err)
		}
	}
	cleanup, err := o.Prepare()
	if err != nil {
		return err
	}
	defer cleanup()
	var env []string
	if o.HDFS {
		small, err := parts.StartHDFS(ctx, o.Data)
		if err != nil {
			return err
		}
		defer small.Stop() //nolint:errcheck // its processes are killed; there is nothing to do about one that is gone
		env = parts.HadoopEnvironment(small)
	}
	cluster, err := local.Start(ctx, local.Options{
		Folder: o.Data, Launchers: o.Launchers, Env: env, Errors: c.show.Errors, Manager: o.Manager, Launcher: o.Launcher,
	})
	if err != nil {
		return err
	}
	defer cluster.Stop()
	if len(program) > 0 {
		code, err := cluster.Run(program)
		if err == nil && code != 0 {
			err = &client.ExitError{Code: code}
		}
		return err
	}
	fmt.Fprintf(c.show.Out, "the cluster is ready: %d launchers, manager at %s, data and logs in %s, pages at http://%s/\n\n  export %s=%s\n\nctrl-C ends it\n",
		o.Launchers, cluster.Address, o.Data, cluster.Page, client.AddressVariable, cluster.Address)
	return cluster.Wait(ctx)
}
