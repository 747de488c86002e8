package experiment

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"

	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/replay"
	"github.com/hamadryad/hamadryad/laboratory/report"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Targets of sweeps and seeds.
const (
	setLaunchers = "launchers"
	setSlowStart = "slowStart"
	setSetting   = "settings."
	seedCluster  = "cluster"
	seedWorkload = "workload"
)

// Options control how an experiment is played.
type Options struct {
	// Launch starts the program of a policy, by its name.
	Launch func(ctx context.Context, program string) (policy.Host, error)
	// Fallback makes the fallback of a manager. It is asked for the rounds that it decided
	// in a log; nil: such a log is an error.
	Fallback func() policy.Host
	// Progress receives the progress of long experiments; nil: none is shown.
	Progress io.Writer
	// Keep keeps the runs, and the data of charts over time of each policy's first seed.
	Keep bool
}

// PoolsOfWorkload are settings that make the policy fair create the pools that jobs name: a
// workload's pools are not a submitter's mistakes. They apply to a policy whose settings have no
// placement.
const PoolsOfWorkload = "placement: {undeclared: create}\n"

// run is one play of a policy, which is an index in the experiment's list.
type run struct {
	policy   int
	name     string // of the policy, with the value of its sweep
	value    int    // place of the value in the sweep
	seed     uint64
	config   scheduler.Config
	workload *workload.Workload
	on       cluster.Cluster
	day      *replay.Day // nil: the workload is not recorded
	watched  bool        // the recorder is kept
	waits    *waits
	recorder *report.Recorder
	result   *simulation.Result
	compared []*Decisions       // whose logs the run is compared with while it is played
	equal    map[*Decisions]int // those to which it was equal, with the number of rounds
}

// Run plays the experiment, with as many concurrent runs as there are processors, and computes its
// figures. The error names the policy that could not be played, or the figure that cannot be
// computed.
func (e *Experiment) Run(ctx context.Context, o Options) (*Outcome, error) {
	runs, err := e.plan(ctx, o.Keep)
	if err != nil {
		return nil, err
	}
	for i := range e.Decisions {
		if k := &e.Decisions[i]; k.Run != "" {
			r := e.firstOf(runs, k.Run)
			r.compared = append(r.compared, k)
		}
	}
	if err := e.play(ctx, o, runs); err != nil {
		return nil, err
	}
	outcome, err := e.outcome(runs, o.Keep)
	if err != nil {
		return nil, err
	}
	for i := range e.Decisions {
		row, err := e.compare(ctx, o, &e.Decisions[i], runs)
		if err != nil {
			return nil, fmt.Errorf("decisions of %s: %w", e.Decisions[i].Log, err)
		}
		outcome.Rows = append(outcome.Rows, row)
	}
	return outcome, nil
}

// Runs is how many runs Run plays.
func (e *Experiment) Runs() (n int) {
	for i := range e.Policies {
		n += e.Policies[i].runs()
	}
	return n
}

// runs is how often the policy is played.
func (p *Policy) runs() int { return p.values() * p.seeds() }

func (p *Policy) values() int {
	if p.Sweep == nil {
		return 1
	}
	return max(len(p.Sweep.Values), 1)
}

func (p *Policy) seeds() int {
	if p.Seeds == nil {
		return 1
	}
	return max(p.Seeds.Count, 1)
}

// plan makes all runs, in order of policy, value and seed.
func (e *Experiment) plan(ctx context.Context, keep bool) (all []*run, err error) {
	made := workloads{folder: filepath.Dir(e.file), made: map[workloadKey]*workload.Workload{}, days: map[workloadKey]*replay.Day{}}
	for i := range e.Policies {
		p := &e.Policies[i]
		watched := slices.ContainsFunc(e.Figures, func(f Figure) bool { return f.Policy == p.Name && (f.Of == "held" || f.Of == "idle") })
		for v := range p.values() {
			for s := range p.seeds() {
				r := &run{policy: i, value: v, watched: watched || keep && s == 0, seed: uint64(s) + 1, on: e.Cluster} //nolint:gosec // it is not negative
				if err := r.set(ctx, e, p, &made); err != nil {
					return nil, fmt.Errorf("%s: %w", p.Name, err)
				}
				all = append(all, r)
			}
		}
	}
	return all, nil
}

// set applies a run's sweep value and seed.
func (r *run) set(ctx context.Context, e *Experiment, p *Policy, made *workloads) error {
	r.name = p.Name
	r.on.Groups = slices.Clone(e.Cluster.Groups)
	var changed []setting
	if s := p.Sweep; s != nil {
		value := s.Values[r.value]
		r.name += fmt.Sprintf(" %s %g", strings.TrimPrefix(s.Set, setSetting), value)
		switch s.Set {
		case setLaunchers:
			r.on.Groups[0].Count = int(value)
		case setSlowStart:
			r.on.Model.SlowStart = value
		default:
			changed = append(changed, setting{s.Set, strconv.FormatFloat(value, 'f', -1, 64)})
		}
	}
	drawn := uint64(0)
	if s := p.Seeds; s != nil {
		for _, of := range s.Of {
			switch of {
			case seedCluster:
				r.on.Seed = r.seed
			case seedWorkload:
				drawn = r.seed
			default:
				changed = append(changed, setting{of, strconv.FormatUint(r.seed, 10)})
			}
		}
	}
	var err error
	if r.config, err = p.config(e.file, changed); err != nil {
		return err
	}
	if p.Workload.Log != "" {
		return r.setDay(ctx, p, drawn, len(changed) > 0, made)
	}
	r.workload, err = made.of(p.Workload, drawn, &r.on)
	return err
}

// setDay makes the run one of a recorded day.
func (r *run) setDay(ctx context.Context, p *Policy, drawn uint64, changed bool, made *workloads) (err error) {
	if r.day, err = made.day(ctx, p.Workload, max(drawn, 1)); err != nil {
		return err
	}
	r.workload, r.on = r.day.Workload, *r.day.Cluster
	if p.Seeds != nil && slices.Contains(p.Seeds.Of, seedCluster) {
		r.on.Seed = r.seed
	}
	if recorded := &r.day.Policy; p.Settings.Kind == 0 && !changed && recorded.Policy == p.Policy && recorded.Known {
		r.config = recorded.Settings
	}
	return nil
}

// options are the run's, with a policy and a watcher.
func (r *run) options(host policy.Host, watch simulation.Watcher) simulation.Options {
	o := simulation.Options{Workload: r.workload, Cluster: &r.on, Host: host, Config: r.config, Watch: watch}
	if r.day != nil {
		o.Submissions, o.Settings, o.ThinkAt, o.Tick = r.day.Submissions, r.day.Settings, r.day.ThinkAt, -1
	}
	return o
}

// setting is a setting that a sweep or a seed changes; key begins with setSetting.
type setting struct{ key, value string }

// config is the policy's settings with some changed. Its line numbers are the file's, where the
// settings are on one line each there.
func (p *Policy) config(file string, changed []setting) (scheduler.Config, error) {
	node := p.Settings
	node.Content = slices.Clone(node.Content)
	if node.Kind == 0 {
		node.Kind, node.Tag = yaml.MappingNode, "!!map"
	}
	for _, s := range changed {
		key, value := strings.TrimPrefix(s.key, setSetting), &yaml.Node{Kind: yaml.ScalarNode, Value: s.value}
		if i := keyAt(node.Content, key); i >= 0 {
			node.Content[i+1] = value
		} else {
			node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
		}
	}
	if p.Policy == "fair" && keyAt(node.Content, "placement") < 0 {
		node.Content = append(node.Content, undeclared.Content[0].Content...)
	}
	c := scheduler.Config{File: file, Line: max(node.Line, 1)}
	if len(node.Content) == 0 {
		return c, nil
	}
	var err error
	c.Text, err = yaml.Marshal(&node)
	return c, err
}

// undeclared is PoolsOfWorkload, parsed.
var undeclared = func() (n yaml.Node) {
	if err := yaml.Unmarshal([]byte(PoolsOfWorkload), &n); err != nil {
		panic(err)
	}
	return n
}()

// keyAt is the index of a key among keys and values; -1: it is missing.
func keyAt(content []*yaml.Node, key string) int {
	for i := 0; i+1 < len(content); i += 2 {
		if content[i].Value == key {
			return i
		}
	}
	return -1
}

// play plays runs.
func (e *Experiment) play(ctx context.Context, o Options, runs []*run) error {
	show := newShown(o.Progress, e.Name(), runs)
	defer show.close()
	playing, within := errgroup.WithContext(ctx)
	playing.SetLimit(runtime.GOMAXPROCS(0))
	for _, r := range runs {
		playing.Go(func() error {
			if within.Err() != nil { // another run has failed, or the caller cancelled
				return context.Cause(within)
			}
			if err := r.play(within, o, e.Policies[r.policy].Policy, filepath.Dir(e.file), show); err != nil {
				return fmt.Errorf("%s, seed %d: %w", r.name, r.seed, err)
			}
			return nil
		})
	}
	return playing.Wait()
}

// play plays a run. Logs are in a folder.
func (r *run) play(ctx context.Context, o Options, program, folder string, show *shown) error {
	host, err := o.Launch(ctx, program)
	if err != nil {
		return err
	}
	recorder := report.NewRecorder(r.workload, &r.on)
	r.waits = newWaits(len(r.workload.Jobs))
	options := r.options(host, &watcher{Watcher: recorder, waits: r.waits, name: r.name, shown: show})
	options.Name = program
	logs := r.follow(folder)
	defer logs.Close()
	if len(logs) > 0 {
		options.Record = logs.Batch
	}
	r.result, err = simulation.Play(ctx, options)
	if err != nil {
		return err
	}
	r.followed(logs)
	if r.watched {
		r.recorder = recorder
	}
	for i := range r.result.Jobs {
		if j := &r.result.Jobs[i]; j.Failure != "" {
			return fmt.Errorf("job %s failed: %s", r.workload.Jobs[i].ID, j.Failure)
		}
	}
	return nil
}

// workloads makes each workload once for each seed that changes it.
type workloads struct {
	folder string
	made   map[workloadKey]*workload.Workload
	days   map[workloadKey]*replay.Day
}

type workloadKey struct {
	of        *Workload // nil: it is the file
	file      file
	seed      uint64
	launchers int
}

// file is a workload in a file. A file that several policies name is read once.
type file struct {
	path, mapping string
	first, stages int
}

// newWorkloadKey is the key of a workload that no seed draws.
func newWorkloadKey(w *Workload) workloadKey {
	if w.File != "" {
		return workloadKey{file: file{w.File, w.Mapping, w.First, w.Stages}}
	}
	return workloadKey{of: w}
}

func (m *workloads) of(w *Workload, seed uint64, on *cluster.Cluster) (*workload.Workload, error) {
	key := newWorkloadKey(w)
	if w.drawn() {
		key.seed, key.launchers = seed, on.Launchers()
	}
	if made := m.made[key]; made != nil {
		return made, nil
	}
	made, err := w.make(m.folder, seed, on)
	if err != nil {
		return nil, err
	}
	m.made[key] = made
	return made, nil
}

// day is a recorded day, with what no attempt shows drawn by the seed.
func (m *workloads) day(ctx context.Context, w *Workload, seed uint64) (*replay.Day, error) {
	key := workloadKey{of: w, seed: seed}
	if made := m.days[key]; made != nil {
		return made, nil
	}
	log, err := replay.Open(below(m.folder, w.Log))
	if err != nil {
		return nil, err
	}
	made, err := replay.Extract(ctx, log, seed, nil)
	if err != nil {
		return nil, err
	}
	m.days[key] = made
	return made, nil
}

// shown shows the progress of several runs. It is safe for concurrent use.
type shown struct {
	mu        sync.Mutex
	steps     *progress.Steps // nil: no progress is shown
	done, all int             // jobs
}

// shownFrom is the number of jobs from which progress is shown: smaller experiments end soon.
const shownFrom = 50

func newShown(to io.Writer, title string, runs []*run) *shown {
	s := &shown{}
	for _, r := range runs {
		s.all += len(r.workload.Jobs)
	}
	if to != nil && s.all >= shownFrom {
		s.steps = progress.NewSteps(to, title)
	}
	return s
}

func (s *shown) ended(name string, at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done++; s.steps != nil {
		s.steps.Step(fmt.Sprintf("%s, simulated time %v", name, at.Round(time.Second)), s.done, s.all)
	}
}

func (s *shown) close() {
	if s.steps != nil {
		s.steps.Close()
	}
}

// watcher shows progress when a job ends, and measures how long jobs wait.
type watcher struct {
	simulation.Watcher
	waits *waits
	name  string
	shown *shown
}

// Came implements simulation.Watcher.
func (w *watcher) Came(at time.Duration, job int) {
	w.Watcher.Came(at, job)
	w.waits.since[job] = at
}

// Holds implements simulation.Watcher.
func (w *watcher) Holds(at time.Duration, job int, a *simcluster.Attempt, holds bool) {
	w.Watcher.Holds(at, job, a, holds)
	w.waits.hold(at, job, holds)
}

// Ended implements simulation.Watcher.
func (w *watcher) Ended(at time.Duration, job int) {
	w.Watcher.Ended(at, job)
	w.waits.end(at, job)
	w.shown.ended(w.name, at)
}
