package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/shirou/gopsutil/v4/mem"
	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/launcher"
	"github.com/hamadryad/hamadryad/engine/local"
)

// localOptions are the flags of local.
type localOptions struct {
	config    string
	launchers int
	slots     string
	memory    string
	data      string
	policy    string
	logLevel  string
	hosts     []string
	hdfs      bool

	places []place // from hosts
}

func (c *cli) localCommand() *cobra.Command {
	var o localOptions
	cmd := &cobra.Command{
		Use:   "local [flags] [-- PROGRAM ARGS...]",
		Short: "Run a whole cluster on this machine, for one program or until stopped",
		Long: `Starts a manager, its policy plug-in and launchers as processes of this machine,
on free ports of loopback, and waits until they are ready. Then it runs PROGRAM with
HAMADRYAD_MANAGER set, ends everything when PROGRAM ends, and exits with its exit
code. Without PROGRAM it prints the manager's address and stays until it is stopped.

It is the same code as a cluster of many machines. A part that dies is started again;
one that dies before all are up ends the start, and what it said last is shown.

When it is killed itself, a job that ran leaves OUT.job-1.5f0c93aa.tmp beside its output,
with parts that nobody will publish. The next run is of another cluster, with another
name there, and touches no such folder: remove it when you like.

With --hdfs it also starts a small, real HDFS: a NameNode and four DataNodes, from
Hadoop's own jars, which Maven fetches the first time (64 MB). PROGRAM and all parts
find it as hdfs:///, the command "hdfs dfs" is put on PROGRAM's PATH, and the launchers
get the DataNodes' host names, so that work goes to where its input lies.`,
		Example: `  hamadryad local -- ./wordcount --top 10 ~/texts /tmp/out
  hamadryad local --launchers 4 --slots 2 --data /tmp/cluster -- ./wordcount ~/texts /tmp/out
  hamadryad local --policy fair --launchers 2
  hamadryad local --hdfs -- sh -c 'hdfs dfs -put ~/texts /in && ./wordcount hdfs:///in hdfs:///out'
  hamadryad local --hosts node0.test=/rack0,node1.test=/rack0,node2.test=/rack1`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.runLocal(cmd.Context(), o, args) },
	}
	cmd.Flags().StringVar(&o.config, "config", os.Getenv("HAMADRYAD_CONFIG"), "configuration file; addresses and folders of it are not used")
	cmd.Flags().IntVarP(&o.launchers, "launchers", "l", 0, "number of launchers; 1 when left out, or one for each host")
	cmd.Flags().StringVarP(&o.slots, "slots", "s", "", "slots of each launcher, such as 2 or map=2,reduce=1; one a core when left out")
	cmd.Flags().StringVar(&o.memory, "memory", "", "memory of each launcher, such as 4GiB; a fair part of the machine's when left out")
	cmd.Flags().StringVarP(&o.data, "data", "d", "", "folder for all data, kept afterwards; a temporary one when left out")
	cmd.Flags().StringVar(&o.policy, "policy", "", "scheduling policy: a name, or the path of a plug-in")
	cmd.Flags().StringVar(&o.logLevel, "log-level", "info", "of manager and launchers: debug, info, warn or error")
	cmd.Flags().StringSliceVar(&o.hosts, "hosts", nil, "host names of the launchers, HOST or HOST=RACK, as the places of input files spell them")
	cmd.Flags().BoolVar(&o.hdfs, "hdfs", false, "start a small HDFS too; it needs Java and Maven")
	cmd.Flags().SetInterspersed(false)
	_ = cmd.RegisterFlagCompletionFunc("policy", completePolicies)
	return cmd
}

// launchersMax keeps a slip of the finger from filling the machine with processes.
const launchersMax = 256

func (c *cli) runLocal(ctx context.Context, o localOptions, program []string) (err error) {
	if err := o.placeLaunchers(); err != nil {
		return err
	}
	if len(program) > 0 {
		if program[0], err = exec.LookPath(program[0]); err != nil {
			return fmt.Errorf("%w: name an executable file", err)
		}
	}
	cleanup, err := o.prepare()
	if err != nil {
		return err
	}
	defer cleanup()
	var env []string
	if o.hdfs {
		small, err := c.startHDFS(ctx, o.data)
		if err != nil {
			return err
		}
		defer small.Stop() //nolint:errcheck // its processes are killed; there is nothing to do about one that is gone
		env = hadoopEnvironment(small)
	}
	cluster, err := local.Start(ctx, local.Options{
		Folder: o.data, Launchers: o.launchers, Env: env, Errors: c.errors, Manager: o.manager, Launcher: o.launcher,
	})
	if err != nil {
		return err
	}
	defer cluster.Stop()
	if len(program) > 0 {
		code, err := cluster.Run(program)
		if err == nil && code != 0 {
			err = exitCode(code)
		}
		return err
	}
	fmt.Fprintf(c.out, "the cluster is ready: %d launchers, manager at %s, data and logs in %s, metrics at http://%s/metrics\n\n  export %s=%s\n\nctrl-C ends it\n",
		o.launchers, cluster.Address, o.data, cluster.Page, client.AddressVariable, cluster.Address)
	return cluster.Wait(ctx)
}

// prepare makes the data folder and fills in what was left out.
func (o *localOptions) prepare() (cleanup func(), err error) {
	cleanup = func() {}
	if o.data == "" {
		if o.data, err = os.MkdirTemp("", "hamadryad-local-"); err != nil {
			return cleanup, err
		}
		dir := o.data
		cleanup = func() { os.RemoveAll(dir) }
	}
	if o.data, err = filepath.Abs(o.data); err != nil {
		return cleanup, err
	}
	if err := os.MkdirAll(o.data, 0o700); err != nil {
		return cleanup, err
	}
	if o.memory == "" {
		machine, err := mem.VirtualMemory()
		if err != nil {
			return cleanup, fmt.Errorf("this machine's memory: %w; give --memory", err)
		}
		o.memory = fmt.Sprint(int64(float64(machine.Total)*launcher.MemoryShare) / int64(o.launchers))
	}
	return cleanup, nil
}

// manager is the command line of the manager.
func (o *localOptions) manager(address, page string) []string {
	args := append([]string{"manager", "--listen", address, "--http", page, "--data", filepath.Join(o.data, "manager")}, o.shared()...)
	switch { // without the flag the configuration's policy decides
	case o.policy == "":
	case filepath.Base(o.policy) != o.policy:
		args = append(args, "--policy-path", o.policy)
	default:
		args = append(args, "--policy", o.policy)
	}
	return args
}

// launcher is the command line of a launcher.
func (o *localOptions) launcher(i int, name, manager string) []string {
	args := append([]string{
		"--manager", manager, "launcher", "--name", name, "--memory", o.memory,
		"--data", filepath.Join(o.data, name), "--cache", filepath.Join(o.data, "cache"),
	}, o.shared()...)
	if p := o.placeOf(i); p.host != "" {
		args = append(args, "--host", p.host, "--rack", p.rack)
	}
	if o.slots != "" {
		args = append(args, "--slots", o.slots)
	}
	return args
}

// shared are the flags of all parts.
func (o *localOptions) shared() []string {
	flags := []string{"--log-level", o.logLevel}
	if o.config != "" {
		flags = append(flags, "--config", o.config)
	}
	return flags
}
