package experiment

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/laboratory/replay"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Decisions is an event log. A policy must decide in each of its rounds as recorded.
type Decisions struct {
	// Log is a manager's event log, or one that Record wrote. Its path is relative to the
	// experiment's folder.
	Log string `yaml:"log"`
	// Policy is the program that is asked; default: the one of the name in the log. A program of
	// that name has the settings in the log, any other its defaults. Settings replace both.
	Policy   string    `yaml:"policy"`
	Settings yaml.Node `yaml:"settings"`
	// Run is the Name of a policy of this file. Its program and settings are asked, and Record
	// writes the log from its first run. Without it Record leaves the log alone.
	Run string `yaml:"run"`
}

// program is the program that is asked; "": the one in the log.
func (k *Decisions) program(e *Experiment) string {
	if p := e.named(k.Run); p != nil {
		return p.Policy
	}
	return k.Policy
}

// named is the policy with a name; nil: there is none.
func (e *Experiment) named(name string) *Policy {
	for i := range e.Policies {
		if e.Policies[i].Name == name {
			return &e.Policies[i]
		}
	}
	return nil
}

// Programs are the names of the policies' programs that are played or asked, in order of their first
// use. "" stands for the policy of the name in a log.
func (e *Experiment) Programs() (names []string) {
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i := range e.Policies {
		add(e.Policies[i].Policy)
	}
	for i := range e.Decisions {
		add(e.Decisions[i].program(e))
	}
	return names
}

// title is what the row is called.
func (k *Decisions) title(e *Experiment) string {
	if program := k.program(e); program != "" {
		return fmt.Sprintf("decisions of %s equal those of %s", program, k.Log)
	}
	return "decisions equal those of " + k.Log
}

// follow returns the logs in a folder with which the run is compared, in the order of r.compared. A
// log that can't be read is nil: compare tells why.
func (r *run) follow(folder string) replay.Followers {
	logs := make(replay.Followers, len(r.compared))
	for i, k := range r.compared {
		log, err := replay.Open(below(folder, k.Log))
		if err != nil {
			continue
		}
		if f, err := replay.NewFollower(log); err == nil {
			logs[i] = f
		}
	}
	return logs
}

// followed keeps the number of rounds of each log to which the run was equal.
func (r *run) followed(logs replay.Followers) {
	r.equal = map[*Decisions]int{}
	for i, log := range logs {
		if log == nil {
			continue
		}
		if rounds, ok := log.Equal(); ok {
			r.equal[r.compared[i]] = rounds
		}
	}
}

// firstOf is the first run of the policy with a name; there is one.
func (e *Experiment) firstOf(runs []*run, name string) *run {
	return runs[slices.IndexFunc(runs, func(r *run) bool { return e.Policies[r.policy].Name == name })]
}

// compare gives the rounds of a log to the policy again. A run that was equal to the log has
// answered them already.
func (e *Experiment) compare(ctx context.Context, o Options, k *Decisions, runs []*run) (Row, error) {
	row := Row{Claim: k.title(e)}
	var of *run
	if k.Run != "" {
		of = e.firstOf(runs, k.Run)
		if rounds := of.equal[k]; rounds > 0 {
			row.Measured = measured(rounds, 0)
			return row, nil
		}
	}
	log, err := replay.Open(below(filepath.Dir(e.file), k.Log))
	if err != nil {
		return row, err
	}
	v, err := replay.Verify(ctx, log, replay.VerifyOptions{Differences: 1, Host: func(ctx context.Context, was replay.Started) (policy.Host, scheduler.Config, error) {
		return e.asked(ctx, o, k, of, was)
	}})
	if err != nil {
		return row, err
	}
	sum := v.Sum()
	row.Measured = measured(sum.Rounds, sum.Different)
	row.Problem = firstProblem(v)
	return row, nil
}

func measured(rounds, different int) string {
	return fmt.Sprintf("%d rounds, %d differ", rounds, different)
}

// asked starts the policy that is asked in the place of a generation of a log: that of a run, which
// is nil for a log without one.
func (e *Experiment) asked(ctx context.Context, o Options, k *Decisions, run *run, of replay.Started) (policy.Host, scheduler.Config, error) {
	if of.Fallback {
		if o.Fallback == nil {
			return nil, scheduler.Config{}, errors.New("the manager had fallen back to its own policy")
		}
		return o.Fallback(), scheduler.Config{}, nil
	}
	p := Policy{Policy: k.program(e), Settings: k.Settings}
	if p.Policy == "" {
		p.Policy = of.Policy
	}
	config := of.Settings
	if run != nil {
		config = run.config
	} else if p.Policy != of.Policy || p.Settings.Kind != 0 {
		var err error
		if config, err = p.config(e.file, nil); err != nil {
			return nil, config, err
		}
	}
	host, err := o.Launch(ctx, p.Policy)
	return host, config, err
}

// firstProblem describes the first divergence by round, event and decision; "": there is none.
func firstProblem(v *replay.Verification) string {
	sum := v.Sum()
	switch {
	case len(v.Differences) > 0:
		d := &v.Differences[0]
		return fmt.Sprintf("first in round %d (%s, generation %d). Events: %s. Decisions: %s",
			d.Round, d.Policy, d.Generation, list(d.Events), list(d.Words))
	case !v.Same():
		for _, l := range v.Lives {
			if l.Broke != "" {
				return fmt.Sprintf("policy %s, generation %d: %s", l.Policy, l.Generation, oneLine(l.Broke))
			}
		}
	case sum.Rounds == 0:
		return "no round can be compared: the start of no policy is in the log"
	}
	return ""
}

// list joins lines to one.
func list(lines []string) string {
	if len(lines) == 0 {
		return "none"
	}
	return strings.Join(lines, "; ")
}

// oneLine joins the lines of a text.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Record plays the first run of each policy that Decisions name with run, and writes its log. It
// returns the folders that it wrote. A run that fails leaves the earlier log in place.
func (e *Experiment) Record(ctx context.Context, o Options) (folders []string, err error) {
	runs, err := e.plan(ctx, false)
	if err != nil {
		return nil, err
	}
	for i := range e.Decisions {
		k := &e.Decisions[i]
		if k.Run == "" {
			continue
		}
		folder := below(filepath.Dir(e.file), k.Log)
		if err := e.record(ctx, o, k, runs, folder); err != nil {
			return folders, fmt.Errorf("%s: %w", k.Run, err)
		}
		folders = append(folders, folder)
	}
	return folders, nil
}

func (e *Experiment) record(ctx context.Context, o Options, k *Decisions, runs []*run, folder string) (err error) {
	r := e.firstOf(runs, k.Run)
	w, err := replay.NewWriter(folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	program := e.Policies[r.policy].Policy
	host, err := o.Launch(ctx, program)
	if err != nil {
		return err
	}
	options := r.options(host, nil)
	options.Name, options.Record = program, w.Batch
	if _, err := simulation.Play(ctx, options); err != nil {
		return err
	}
	return w.Commit()
}
