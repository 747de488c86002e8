package experiment

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/internal/document"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

// Parse reads an experiment. file is its path: errors name it, and paths in the text are relative
// to its folder. The error is a scheduler.Problems with all problems by line.
func Parse(file string, text []byte) (*Experiment, error) {
	e := &Experiment{Cluster: cluster.Blank(), file: file}
	d, err := document.Decode(file, text, e)
	if err != nil {
		return nil, err
	}
	c := checks{}
	c.experiment(e, d)
	if err := d.Error(c.problems); err != nil {
		return nil, err
	}
	return e, nil
}

// File is the path that Parse was given.
func (e *Experiment) File() string { return e.file }

// Name is the file's name, without folder and extension.
func (e *Experiment) Name() string {
	return strings.TrimSuffix(filepath.Base(e.file), filepath.Ext(e.file))
}

// checks collects problems.
type checks struct{ problems []document.Problem }

func (c *checks) that(ok bool, message string, path ...any) {
	if !ok {
		c.problems = append(c.problems, document.Problem{Path: path, Message: message})
	}
}

// known refuses a word that is not in a list.
func (c *checks) known(word string, list []string, path ...any) {
	c.that(slices.Contains(list, word), settings.Unknown(word, list)+settings.Hint(word, list), path...)
}

func (c *checks) experiment(e *Experiment, d *document.Document) {
	c.that(e.Title != "", "an experiment needs one", "title")
	c.that(len(e.Policies) <= PoliciesMax && (len(e.Policies) >= 1 || len(e.Claims) == 0), fmt.Sprintf("there are %d: from 1 to %d is right", len(e.Policies), PoliciesMax), "policies")
	c.that(len(e.Figures) <= FiguresMax, fmt.Sprintf("there are %d: at most %d is right", len(e.Figures), FiguresMax), "figures")
	c.that(len(e.Claims)+len(e.Decisions) >= 1 && len(e.Claims) <= ClaimsMax, fmt.Sprintf("there are %d: from 1 to %d is right, or decisions", len(e.Claims), ClaimsMax), "claims")
	if e.Workload != nil {
		c.workload(e.Workload, "workload")
	}
	names, runs := []string{}, 0
	for i := range e.Policies {
		p := &e.Policies[i]
		c.policy(e, p, names, i)
		names = append(names, p.Name)
		runs += p.runs()
	}
	c.cluster(e, d)
	c.that(runs <= RunsMax, fmt.Sprintf("they come to %d runs: at most %d is right", runs, RunsMax), "policies")
	var before []string
	for i := range e.Figures {
		c.figure(&e.Figures[i], names, before, i)
		before = append(before, e.Figures[i].Name)
	}
	for i := range e.Claims {
		c.claim(&e.Claims[i], before, i)
	}
	c.that(len(e.Decisions) <= DecisionsMax, fmt.Sprintf("there are %d: at most %d is right", len(e.Decisions), DecisionsMax), "decisions")
	for i := range e.Decisions {
		c.decisions(&e.Decisions[i], e, names, i)
	}
}

// cluster checks the cluster. Recorded days bring their own.
func (c *checks) cluster(e *Experiment, d *document.Document) {
	recorded := !slices.ContainsFunc(e.Policies, func(p Policy) bool { return p.Workload == nil || p.Workload.Log == "" })
	switch {
	case !recorded:
		c.problems = append(c.problems, e.Cluster.Complete(d, "cluster")...)
	case d.Has("cluster"):
		c.that(false, "the launchers are those of the log: remove it", "cluster")
	}
}

func (c *checks) decisions(k *Decisions, e *Experiment, policies []string, i int) {
	c.that(k.Log != "", "it is not said: the path of an event log", "decisions", i, "log")
	c.that(k.Settings.Kind == 0 || k.Settings.Kind == yaml.MappingNode, "they are keys with values", "decisions", i, "settings")
	if k.Run == "" {
		return
	}
	c.known(k.Run, policies, "decisions", i, "run")
	c.that(k.Settings.Kind == 0 && k.Policy == "", "program and settings are those of the run: give run, or policy and settings", "decisions", i)
	for n := range i {
		c.that(e.Decisions[n].Run == "" || filepath.Clean(e.Decisions[n].Log) != filepath.Clean(k.Log), "another run is recorded there", "decisions", i, "log")
	}
}

func (c *checks) workload(w *Workload, path ...any) {
	at := func(keys ...any) []any { return append(slices.Clone(path), keys...) }
	n := 0
	for _, given := range []bool{w.File != "", w.Log != "", w.Generate != nil, len(w.Jobs) > 0} {
		if given {
			n++
		}
	}
	c.that(n == 1, "it has one of file, log, generate and jobs", path...)
	c.that(w.Log == "" || w.First == 0 && w.Stages == 0, "all jobs of a log are played, with all stages: remove first and stages", path...)
	c.that(w.Mapping == "" || w.File != "", "it is for the columns of a file: give a file, or remove it", at("mapping")...)
	c.that(w.First >= 0, "it is not negative", at("first")...)
	c.that(w.Stages >= 0, "it is not negative", at("stages")...)
	if w.Generate != nil {
		c.problems = append(c.problems, w.Generate.Complete(at("generate")...)...)
	}
	tasks := 0
	for i := range w.Jobs {
		for k := range w.Jobs[i].Stages {
			c.stage(&w.Jobs[i].Stages[k], at("jobs", i, "stages", k)...)
			tasks = min(tasks+w.Jobs[i].Stages[k].Tasks, workload.TasksMax+1)
		}
	}
	c.that(tasks <= workload.TasksMax, fmt.Sprintf("they have more than %d tasks", workload.TasksMax), at("jobs")...)
}

func (c *checks) stage(s *Stage, path ...any) {
	at := func(key string) []any { return append(slices.Clone(path), key) }
	c.that(s.Tasks >= 0 && s.Tasks <= workload.TasksMax, fmt.Sprintf("it is %d: from 1 to %d is right", s.Tasks, workload.TasksMax), at("tasks")...)
	s.Tasks = max(s.Tasks, 1)
	c.that(s.Spread >= 0 && s.Spread <= 1, fmt.Sprintf("it is %v: from 0 to 1 is right", s.Spread), at("spread")...)
	if len(s.InputOn) == 0 {
		return
	}
	sum := 0
	for _, n := range s.InputOn {
		c.that(n >= 0, "it is not negative", at("inputOn")...)
		sum += n
	}
	c.that(sum == s.Tasks, fmt.Sprintf("it is the input of %d tasks, and there are %d", sum, s.Tasks), at("inputOn")...)
}

func (c *checks) policy(e *Experiment, p *Policy, names []string, i int) {
	c.that(p.Policy != "", "it is not said: a name such as fair", "policies", i, "policy")
	if p.Name == "" {
		p.Name = p.Policy
	}
	c.that(!slices.Contains(names, p.Name), fmt.Sprintf("two policies are called %q: give one another name", p.Name), "policies", i, "name")
	c.that(p.Settings.Kind == 0 || p.Settings.Kind == yaml.MappingNode, "they are keys with values", "policies", i, "settings")
	switch {
	case p.Workload != nil:
		c.workload(p.Workload, "policies", i, "workload")
	case e.Workload == nil:
		c.that(false, "there is none here, nor for the whole experiment", "policies", i, "workload")
	default:
		p.Workload = e.Workload
	}
	if s := p.Sweep; s != nil {
		c.that(len(s.Values) > 0, "there are none", "policies", i, "sweep", "values")
		c.set(s.Set, []string{setLaunchers, setSlowStart}, "policies", i, "sweep", "set")
		c.that(p.Workload == nil || p.Workload.Log == "" || strings.HasPrefix(s.Set, setSetting), "the launchers are those of the log: sweep one of the settings", "policies", i, "sweep", "set")
		for _, v := range s.Values {
			c.that(s.Set != setLaunchers || v >= 1 && v <= cluster.LaunchersMax && v == float64(int(v)), fmt.Sprintf("there are no %v launchers", v), "policies", i, "sweep", "values")
			c.that(s.Set != setSlowStart || v > 0 && v <= 1, fmt.Sprintf("it is %v: above 0 and at most 1 is right", v), "policies", i, "sweep", "values")
		}
	}
	if s := p.Seeds; s != nil {
		c.that(s.Count >= 1 && s.Count <= RunsMax, fmt.Sprintf("there are %d: from 1 to %d is right", s.Count, RunsMax), "policies", i, "seeds", "count")
		c.that(len(s.Of) > 0, "it is not said whose they are: cluster, workload, or a setting", "policies", i, "seeds", "of")
		for k, of := range s.Of {
			c.set(of, []string{seedCluster, seedWorkload}, "policies", i, "seeds", "of", k)
		}
	}
}

// set refuses a name that is neither in a list nor a policy's setting.
func (c *checks) set(what string, list []string, path ...any) {
	if setting, is := strings.CutPrefix(what, setSetting); is {
		c.that(setting != "" && !strings.Contains(setting, "."), "it is one of the policy's settings, at the top", path...)
		return
	}
	c.known(what, append(slices.Clone(list), setSetting+"NAME"), path...)
}

func (c *checks) figure(f *Figure, policies, before []string, i int) {
	at := func(key string) []any { return []any{"figures", i, key} }
	c.that(f.Name != "", "a figure needs one", at("name")...)
	c.that(!slices.Contains(before, f.Name), fmt.Sprintf("two figures are called %q", f.Name), at("name")...)
	if f.Decimals != nil {
		c.that(*f.Decimals >= 0 && *f.Decimals <= 12, fmt.Sprintf("it is %d: from 0 to 12 is right", *f.Decimals), at("decimals")...)
	}
	timed := slices.Contains([]string{"time", "makespan", "held", "wasted", "idle", "starved"}, f.Of) || len(f.Difference) > 0
	c.that(timed || f.Unit != "min" && f.Unit != "h", "it is no time: use another unit", at("unit")...)
	given := 0
	for _, made := range f.madeOf() {
		if len(made.of) == 0 {
			continue
		}
		given++
		c.that(len(made.of) == 2, "it is made of two figures", at(made.key)...)
		for _, name := range made.of {
			c.that(slices.Contains(before, name), fmt.Sprintf("no figure before this one is called %q%s", name, settings.Hint(name, before)), at(made.key)...)
		}
	}
	if f.Of == "" || given > 0 {
		c.that(f.Of == "" && given == 1, "a figure has one of of, ratio, difference, percent and increase", "figures", i)
		return
	}
	c.known(f.Of, kinds(), at("of")...)
	c.known(f.Policy, policies, at("policy")...)
	c.that(f.Take == "" || slices.Contains([]string{"mean", "median", "min", "max", "each"}, f.Take) || percentile(f.Take) > 0,
		fmt.Sprintf("%q is unknown: use mean, median, min, max, each, or a percentile such as p95", f.Take), at("take")...)
	if f.Over != "" {
		c.known(f.Over, []string{"mean", "min", "max"}, at("over")...)
	}
	for _, moment := range []struct{ key, text string }{{"from", f.From}, {"to", f.To}} {
		c.that(isMoment(moment.text), fmt.Sprintf("%q is unknown: use beginning, submitted, began, ended, STAGE.began or STAGE.ended", moment.text), at(moment.key)...)
	}
	if f.By != "" && !slices.Contains(before, f.By) {
		_, err := time.ParseDuration(f.By)
		c.that(err == nil, fmt.Sprintf("%q is neither a time such as 60m nor a figure before this one%s", f.By, settings.Hint(f.By, before)), at("by")...)
	}
	c.that(f.Of != "ended" || f.By != "", "it is not said by when", at("by")...)
	c.that(f.Of != "held" || len(f.Slots) == len(f.Jobs) && len(f.Jobs) > 0, "there is to be a number for each of jobs", at("slots")...)
	c.that(f.Of != "idle" || len(f.Jobs) == 1, "it is of one job", at("jobs")...)
}

// percentile parses a percentile such as p95; 0: it is none.
func percentile(text string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(text, "p"))
	if err != nil || !strings.HasPrefix(text, "p") || n < 1 || n > 100 {
		return 0
	}
	return n
}

func isMoment(text string) bool {
	stage, what, ofStage := strings.Cut(text, ".")
	if ofStage {
		return stage != "" && (what == "began" || what == "ended")
	}
	return slices.Contains([]string{"", "beginning", "submitted", "began", "ended"}, text)
}

func (c *checks) claim(k *Claim, figures []string, i int) {
	c.that(k.Claim != "", "it says nothing", "claims", i, "claim")
	c.that(len(k.Figures) > 0, "there are none to be shown", "claims", i, "figures")
	for n, name := range k.Figures {
		c.known(name, figures, "claims", i, "figures", n)
	}
	if k.Published == "" {
		c.that(k.Verdict == "" && len(k.Holds) == 0, "nothing was published that could hold", "claims", i)
	} else {
		c.known(k.Verdict, []string{Holds, Differs}, "claims", i, "verdict")
		c.that(len(k.Holds) > 0, "it is not said when the claim holds", "claims", i, "holds")
		c.that(k.Verdict != Differs || k.Why != "", "a claim that differs needs a reason", "claims", i, "why")
	}
	for _, list := range []struct {
		key    string
		checks []Check
	}{{"holds", k.Holds}, {"expected", k.Expected}} {
		for n := range list.checks {
			check := &list.checks[n]
			c.known(check.Figure, figures, "claims", i, list.key, n, "figure")
			c.that(check.Near != nil || check.Above != nil || check.AtLeast != nil || check.Below != nil || check.AtMost != nil || check.Falls,
				"it compares with nothing: use near, above, atLeast, below, atMost or falls", "claims", i, list.key, n)
			c.that(!check.Order || check.Near != nil, "it is the order of near: say what is near", "claims", i, list.key, n, "order")
			c.that(check.Within >= 0, "it is not negative", "claims", i, list.key, n, "within")
		}
	}
}
