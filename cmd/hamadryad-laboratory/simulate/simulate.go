// Package simulate has the command that plays a workload under policies in virtual time.
package simulate

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad-laboratory/workloads"
	"github.com/hamadryad/hamadryad/cmd/hamadryad/show"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/site"
	"github.com/hamadryad/hamadryad/internal/cpuaffinity"
	"github.com/hamadryad/hamadryad/laboratory/experiment"
	"github.com/hamadryad/hamadryad/laboratory/replay"
	"github.com/hamadryad/hamadryad/laboratory/report"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// gcPercent lets the heap grow to several times its live size before garbage is collected: a
// simulation makes much short-lived garbage.
const gcPercent = 400

// seedsMax bounds the runs under one policy.
const seedsMax = 1000

// command is the command line of `hamadryad simulate`, with its output streams.
type command struct {
	printed, errors io.Writer

	policies    []string
	sets        []string
	cluster     string
	topology    string
	launchers   int
	slots       []string
	slowStart   float64
	speculation bool
	seed        uint64
	seeds       int
	tick, think time.Duration
	results     string
	attempts    string // file
	format      string
	input       workloads.Input
	verify      string // log
	replay      string // log
	differences int
	expects     bool
	assumed     string // the cluster, in words, where no flag names it
}

// Command returns the command. It prints results to out, and progress to errs.
func Command(out, errs io.Writer) *cobra.Command {
	c := &command{printed: out, errors: errs}
	cmd := &cobra.Command{
		Use: "simulate [flags] WORKLOAD\n  hamadryad simulate --verify LOG [--policy POLICY]...\n  hamadryad simulate --replay LOG [flags]\n  hamadryad simulate --expect FILE...", Short: "Play a workload under policies in virtual time", Args: c.args,
		Long: `Plays the jobs of a workload on a simulated cluster, once for each policy and seed, and
holds the results against each other. What decides is the manager's own core and the
policies' own programs; launchers, workers and the network between them are simulated, in
virtual time. The same command gives the same bytes on any machine. It keeps to one
processor, since of cluster and policy only one works at a time; GOMAXPROCS in the
environment lets it have more.

WORKLOAD is a file of any form that "hamadryad workload" reads; - is standard input.

A policy is the name of one beside this program, or the path of its program.
Programs of fifo, fair, preemptive-fair, hfsp, dynamic-priority and drf come
with it. It may also be a configuration (FILE.yaml) whose section "policy"
names it with its settings. Without one, fair makes the pools that jobs name. A
name before it, as in tuned=site.yaml, is what results call it. The cluster is
a file of launchers and of how long things take (go doc
github.com/hamadryad/hamadryad/laboratory/cluster). Or it is so many launchers
with --slots each, and the defaults of such a file. Without any of these a
trace that names its machine (SWF) gets as many slots as that has processors.
Tasks of other kinds than map and reduce get slots of these kinds. The report
says which cluster that is. By default work takes 1.32
times as long away from its input, after table 1 (section 7.4) of Hammr's
paper. The key model.locality of the file says otherwise. Its key model.network
has the speed of links; without it shuffled bytes take no time. --topology
gives the launchers hosts and racks with names, such as those on which the
input of a job history lies.

All that happens within one --tick is told to the manager together. Each
answer of a policy takes as long as --think says: the same for all policies.
Jobs that fail, or that can never be placed, are named, and the exit code is 1
then.

--set plays with each of several values, on all processors: launchers=10,100,
slow-start=0.05,1 or a policy's setting, as in hfsp:locality.mode=nearest,delay.
Several --set give all combinations. The report has a row for each, and charts
over the values. With --results, finished runs are kept in FOLDER/runs. The
same command goes on with those after it was killed. With --attempts, all runs
are played anew.

--verify gives each round of a manager's event log to the policy's program
again, with the settings, snapshot and events of that time. It compares its
decisions with those in the log. LOG is the manager's data folder, or that of
a local cluster, or the folder log in it, or one file of that. A running
manager is not disturbed. The first rounds that differ are told in words, and
the exit code is 1 then. Several --policy are verified one after the other.
Without one it is the program of the name that the log has. A program of that name gets the settings in the log, another one
its defaults, and a configuration (FILE.yaml) brings its own. Nothing outside
is touched: a policy's shell does not run, and nobody is charged.

--replay plays the jobs of such a log, each when it was submitted, with its
own graph. The launchers come and go as the log tells. A task takes as long as
the attempt that finished it, as if its input had been on its machine. One
that never finished takes as long as a finished one of its stage, drawn by the
seed. The number of such tasks is printed. The log tells what a start, a stop,
distance and a policy's answer take. What happens is told at once unless
--tick says otherwise. Jobs are moved and killed, launchers drained and lost,
and programs fail, as in the log. Without --policy the log's policies decide,
with their settings, and each change of them is played. --policy decides all
day; --set then plays it with each value of a setting. Beside each job stands what it took in the log (in the CSV of
--results). Under the log's policy that is about the same: the median and the
largest difference are printed.

--expect plays experiments that are written down: FILE has a workload, a
cluster, policies, and what was published of them. A table has each claim, what
was published, what is measured, and the verdict. The exit code is 1 when a
claim does not come out as the file says. docs/SIMULATOR.md has an example.
Runs share all processors.`,
		Example: `  hamadryad simulate --launchers 100 --slots map=4,reduce=2 --policy fair --policy hfsp fb2009-100.jsonl
  hamadryad simulate --cluster cluster.yaml --policy today.yaml --policy tuned=next.yaml --seeds 5 --results results day.tsv
  hamadryad simulate --policy ./hamadryad-policy-mine -o json day.jsonl.gz
  hamadryad simulate --policy fair --policy hfsp --set launchers=50,100,200 --results results fb2009-100.jsonl
  hamadryad simulate --policy fair --attempts attempts.parquet fb2009-100.jsonl
  hamadryad simulate --topology 19-jobs.topology.json.gz --slots map=4,reduce=2 19-jobs.trace.json.gz
  hamadryad simulate --verify hamadryad-data/manager
  hamadryad simulate --verify hamadryad-data/manager --policy ./build/hamadryad-policy-fair --policy old=fair
  hamadryad simulate --replay hamadryad-data/manager --policy hfsp --policy next.yaml --results results
  hamadryad simulate --expect laboratory/experiments/hfsp-order.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := show.CheckFormat(c.format, show.ThingFormats); err != nil {
				return err
			}
			switch {
			case c.expects:
				return c.runExpect(cmd, args)
			case c.verify != "":
				return c.runVerify(cmd)
			case c.replay != "":
				return c.runReplay(cmd)
			}
			return c.run(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&c.policies, "policy", []string{"fifo"}, "`[NAME=]POLICY` to play it under; may be repeated")
	f.StringArrayVar(&c.sets, "set", nil, "`TARGET=VALUE,...` to play it with each of the values; may be repeated")
	f.StringVar(&c.cluster, "cluster", "", "`FILE` of the cluster; left out: --launchers and --slots")
	f.StringVar(&c.topology, "topology", "", "`FILE` of hosts in racks, as Rumen or the SLS (nodes.json) writes it. Each has a launcher with --slots, or like the only group of --cluster; left out: with slots that suit the workload")
	f.IntVar(&c.launchers, "launchers", 100, "number of launchers")
	f.StringSliceVar(&c.slots, "slots", []string{"map=4", "reduce=2"}, "`KIND=COUNT` slots of each launcher, joined by commas")
	f.Float64Var(&c.slowStart, "slow-start", 0, "share of a stage's writers after whose end its readers may start; 0: as the cluster's file says, else all")
	f.BoolVar(&c.speculation, "speculation", false, "give stragglers a second attempt")
	f.Uint64Var(&c.seed, "seed", 0, "first seed; 0: the cluster's")
	f.IntVar(&c.seeds, "seeds", 1, "how many seeds are played under each policy")
	f.DurationVar(&c.tick, "tick", simulation.DefaultTick, "period in which what happens is told to the manager; 0: at once")
	f.DurationVar(&c.think, "think", simulation.DefaultThink, "how long each of a policy's answers takes")
	f.StringVar(&c.results, "results", "", "`FOLDER` for each run's jobs as CSV, the comparison as JSON and HTML, and drawings")
	f.StringVar(&c.attempts, "attempts", "", "`FILE` for a table of all attempts in the form Parquet; docs/SIMULATOR.md has its columns")
	f.StringVarP(&c.format, "output", "o", show.Table, show.FormatUsage(show.ThingFormats))
	f.StringVar(&c.verify, "verify", "", "`LOG` whose rounds are given to a policy again, in place of a workload")
	f.StringVar(&c.replay, "replay", "", "`LOG` whose jobs are played, in place of a workload; --cluster, --launchers and --slots do not count then")
	f.BoolVar(&c.expects, "expect", false, "play experiments that files describe, and hold what comes out against what was published")
	f.IntVar(&c.differences, "differences", replay.DefaultDifferences, "with --verify, how many differences are told in words")
	c.input.Add(f)
	return cmd
}

// args checks the arguments against the flags: a log replaces a workload.
func (c *command) args(cmd *cobra.Command, args []string) error {
	switch log := c.verify + c.replay; {
	case c.expects && log != "":
		return client.Misuse("an experiment is played, or a log: use --expect alone")
	case c.expects && len(args) == 0:
		return client.Misuse("--expect: name a FILE that describes an experiment")
	case c.expects:
		return nil
	case log == "":
		return cobra.ExactArgs(1)(cmd, args)
	case c.attempts != "" && c.verify != "":
		return client.Misuse("--attempts: with --verify nothing is played")
	case len(c.sets) > 0 && c.verify != "":
		return client.Misuse("--set: values are set for a workload or with --replay, not with --verify")
	case c.verify != "" && c.replay != "":
		return client.Misuse("a log is verified or replayed: use --verify or --replay")
	case len(args) > 0:
		return client.Misuse("%q: with --verify or --replay there is no workload", args[0])
	}
	return nil
}

// contender is a policy that plays a workload.
type contender struct {
	name, path string
	program    string // its name without the prefix of policies' programs
	config     scheduler.Config
	configured bool // config is from a file
	recorded   bool // it changes as in the replayed log

	environment []string // names of variables that its program gets
}

func (c *command) run(cmd *cobra.Command, args []string) error {
	if err := c.checkRuns(); err != nil {
		return err
	}
	list, err := findContenders(c.policies)
	if err != nil {
		return err
	}
	w, err := c.input.Read(args[0])
	if err != nil {
		return err
	}
	on, err := c.settleCluster(cmd.Flags(), w)
	if err != nil {
		return err
	}
	if len(c.sets) > 0 {
		return c.runSweep(cmd, args, w, on, list)
	}
	runs, err := c.playAll(cmd.Context(), list, on.Seed, func(p contender, seed uint64, kept *attemptsOf) (*report.Run, error) {
		seeded := *on
		seeded.Seed = seed
		o := simulation.Options{Workload: c.input.Resampled(w, seed), Cluster: &seeded, Tick: orNone(c.tick), Think: orNone(c.think)}
		kept.watch(p.name, &o)
		return c.play(cmd.Context(), p, o)
	})
	if err != nil {
		return err
	}
	from, err := origin(cmd, args, args[0], on, list)
	if err != nil {
		return err
	}
	from.Assumed = c.assumed
	return c.show(runs, from)
}

func (c *command) checkRuns() error {
	switch {
	case c.seeds < 1 || c.seeds > seedsMax:
		return client.Misuse("--seeds %d: use 1 to %d", c.seeds, seedsMax)
	case c.tick < 0 || c.think < 0:
		return client.Misuse("--tick and --think are not negative")
	}
	return nil
}

// playAll plays once under each policy with each seed.
func (c *command) playAll(ctx context.Context, list []contender, first uint64, one func(contender, uint64, *attemptsOf) (*report.Run, error)) (runs []*report.Run, err error) {
	debug.SetGCPercent(gcPercent)
	err = c.withAttempts(func(file *attemptsFile) error {
		for _, p := range list {
			for i := range c.seeds {
				seed := first + uint64(i) //nolint:gosec // it is not negative
				kept := file.of(len(runs))
				run, err := one(p, seed, kept)
				if err == nil {
					err = kept.write(ctx)
				}
				if err != nil {
					return fmt.Errorf("%s, seed %d: %w", p.name, seed, err)
				}
				runs = append(runs, run)
			}
		}
		return nil
	})
	return runs, err
}

// play plays what the options say.
func (c *command) play(ctx context.Context, p contender, o simulation.Options) (*report.Run, error) {
	w, on := o.Workload, o.Cluster
	defer cpuaffinity.KeepToOne()()
	host, err := c.launch(ctx, p.path, p.environment...)
	if err != nil {
		return nil, err
	}
	steps := progress.NewSteps(c.errors, fmt.Sprintf("%s, seed %d", p.name, on.Seed))
	defer steps.Close()
	rec := report.NewRecorder(w, on)
	o.Host, o.Config, o.Watch = host, p.config, &watched{Watcher: rec, steps: steps, all: len(w.Jobs)}
	var told *report.StatusSeries
	if c.results != "" {
		told = report.NewStatusSeries()
		o.Status, o.StatusEvery = told.Add, told.Every
	}
	result, err := simulation.Play(ctx, o)
	if err != nil {
		return nil, err
	}
	run := report.NewRun(p.name, on.Seed, w, on, result, rec)
	run.Status = told
	return run, nil
}

// launch starts a policy's program, with the variables of these names.
func (c *command) launch(ctx context.Context, path string, environment ...string) (policy.Host, error) {
	return policy.Launch(ctx, policy.Options{
		Path: path, Log: slog.New(slog.NewTextHandler(c.errors, &slog.HandlerOptions{Level: slog.LevelWarn})), Dir: policyhost.SocketFolder(""),
		Environment: environment,
	})
}

// orNone converts a time for the laboratory, to which 0 means its default.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// watched shows how far a run is.
type watched struct {
	simulation.Watcher
	steps     *progress.Steps
	done, all int
}

// Ended implements simulation.Watcher.
func (w *watched) Ended(at time.Duration, job int) {
	w.Watcher.Ended(at, job)
	w.done++
	w.steps.Step("simulated time "+at.Round(time.Second).String(), w.done, w.all)
}

// findContenders finds the named policies, which must have different names.
func findContenders(texts []string) ([]contender, error) {
	var list []contender
	for _, text := range texts {
		p, err := findContender(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(list, func(q contender) bool { return q.name == p.name }) {
			return nil, client.Misuse("two policies are called %s: give one of them another name (--policy NAME=%s)", p.name, text[strings.Index(text, "=")+1:])
		}
		list = append(list, p)
	}
	return list, nil
}

// findContender finds the program and the settings of a --policy.
func findContender(text string) (contender, error) {
	name, what, named := strings.Cut(text, "=")
	if !named {
		name, what = "", text
	} else if name == "" || what == "" {
		return contender{}, client.Misuse("--policy %q: write NAME=POLICY, or POLICY alone", text)
	}
	p := contender{name: name}
	switch ext := filepath.Ext(what); {
	case ext == ".yaml" || ext == ".yml":
		from, err := config.Load(config.Sources{File: what, Environ: os.Environ(), CoreKeys: site.CoreKeys()})
		if err != nil {
			return p, err
		}
		p.config, p.configured, p.program, p.environment = from.Policy.Config, true, from.Policy.Name, from.Policy.Environment
		if p.path, err = site.FindPolicy(from.Policy); err != nil {
			return p, err
		}
		what = strings.TrimSuffix(filepath.Base(what), ext)
	case strings.ContainsRune(what, filepath.Separator):
		if _, err := os.Stat(what); err != nil {
			return p, err
		}
		p.path = what
		what = config.PolicyName(what)
		p.program = what
	default:
		path, err := site.FindPolicy(config.Policy{Name: what})
		if err != nil {
			return p, err
		}
		p.path, p.program = path, what
	}
	if p.name == "" {
		p.name = what
	}
	if !p.configured && p.program == "fair" {
		p.config.Text = []byte(experiment.PoolsOfWorkload)
	}
	return p, nil
}

// show compares the runs, and prints and writes the results.
func (c *command) show(runs []*report.Run, from *report.Origin) error {
	all := report.Compare(runs)
	all.Origin = from
	return c.showCompared(runs, all)
}

// showCompared prints and writes the results. The error names the jobs that failed.
func (c *command) showCompared(runs []*report.Run, all *report.Comparison) error {
	if err := show.Write(c.printed, c.format, all.Text, all.JSON); err != nil {
		return err
	}
	if c.results != "" {
		if err := write(c.results, runs, all); err != nil {
			return err
		}
	}
	return failed(runs)
}
