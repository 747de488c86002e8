package experiment

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/workload/synthetic"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Experiment is a file's content. Parse makes it.
type Experiment struct {
	// Title describes the experiment in a line.
	Title string `yaml:"title"`
	// Source is the publication.
	Source Source `yaml:"source"`
	// Workload is played where a policy does not name another.
	Workload *Workload `yaml:"workload"`
	// Cluster is as in a file of `hamadryad simulate --cluster`.
	Cluster cluster.Cluster `yaml:"cluster"`
	// Policies are played one by one; PoliciesMax at most. There is at least one if there are claims.
	Policies []Policy `yaml:"policies"`
	// Figures are computed in this order: a figure may use earlier ones.
	Figures []Figure `yaml:"figures"`
	// Claims are the rows of the table, and Decisions are further rows; at least one of both.
	Claims    []Claim     `yaml:"claims"`
	Decisions []Decisions `yaml:"decisions"`

	file string
}

// Source is a publication.
type Source struct {
	Document string `yaml:"document"` // authors, title, year
	Section  string `yaml:"section"`  // or the number of a figure or table
	Claim    string `yaml:"claim"`    // in a sentence
}

// Workload is jobs from a file, made by a specification, recorded, or written down: one of File,
// Log, Generate and Jobs.
type Workload struct {
	// File is a file in any format that `hamadryad workload` reads. Its path is relative to the
	// experiment's folder.
	File string `yaml:"file"`
	// Mapping says what the columns of File are when it is a table: the name of a given mapping, or
	// a file as for `hamadryad workload --csv-mapping`, relative to the experiment's folder.
	Mapping string `yaml:"mapping"`
	// Log is a manager's event log, whose jobs are played as `hamadryad simulate --replay` does. The
	// launchers are those of the log, and so are the settings of a policy with its name that has
	// none in the file. Its path is relative to the experiment's folder.
	Log string `yaml:"log"`
	// Generate is as in a file of `hamadryad workload generate --spec`.
	Generate *synthetic.Spec `yaml:"generate"`
	// Jobs are in order of submission.
	Jobs []Job `yaml:"jobs"`
	// First keeps only the first jobs, and Stages the first stages of each; 0 keeps all.
	First  int `yaml:"first"`
	Stages int `yaml:"stages"`
}

// Job is a job in the experiment's file.
type Job struct {
	ID     string        `yaml:"id"`
	Class  string        `yaml:"class"`
	User   string        `yaml:"user"`
	Pool   string        `yaml:"pool"`
	Submit time.Duration `yaml:"submit"` // since the beginning
	Stages []Stage       `yaml:"stages"` // each reads what the one before wrote
}

// Stage is a stage of such a job.
type Stage struct {
	Name string `yaml:"name"`
	// Kind is the kind of slots; default "default".
	Kind scheduler.SlotKind `yaml:"kind"`
	// Tasks is the number of tasks, default 1, and Work the time of each.
	Tasks int           `yaml:"tasks"`
	Work  time.Duration `yaml:"work"`
	// Spread is the largest share by which a task takes longer or shorter, drawn by the workload's
	// seed.
	Spread float64 `yaml:"spread"`
	// Memory is the memory of each task; Input is the size of each task's stored input.
	Memory cluster.Size `yaml:"memory"`
	Input  cluster.Size `yaml:"input"`
	// InputOn is the number of tasks with their input on each launcher, in order of launchers;
	// their sum is Tasks. The workload's seed draws each task's launcher.
	InputOn []int `yaml:"inputOn"`
	// SlowStart is the share of the previous stage's tasks that must have ended before these may
	// start; 0: the cluster's.
	SlowStart float64 `yaml:"slowStart"`
}

// Policy is a policy's program with settings, and its repetitions.
type Policy struct {
	// Name is the policy's name in figures; default Policy, the program's name.
	Name   string `yaml:"name"`
	Policy string `yaml:"policy"`
	// Settings are the policy's.
	Settings yaml.Node `yaml:"settings"`
	// Workload replaces the experiment's workload.
	Workload *Workload `yaml:"workload"`
	Sweep    *Sweep    `yaml:"sweep"`
	Seeds    *Seeds    `yaml:"seeds"`
}

// Sweep plays a policy once for each of several values. Its figures are then lists.
type Sweep struct {
	// Set is the swept value: launchers (of the cluster's first group), slowStart (of the cluster's
	// model), or settings.KEY, a setting of the policy.
	Set    string    `yaml:"set"`
	Values []float64 `yaml:"values"`
}

// Seeds plays a policy with each of the seeds from 1 to Count. Its figures are means over the
// seeds.
type Seeds struct {
	Count int `yaml:"count"`
	// Of is what the seed sets: cluster, workload, or settings.KEY, a setting of the policy.
	Of []string `yaml:"of"`
}

// Bounds of an experiment.
const (
	PoliciesMax = 100
	RunsMax     = 10_000
	FiguresMax  = 1_000
	ClaimsMax   = 1_000
	// DecisionsMax bounds the logs with which decisions are compared.
	DecisionsMax = 100
)

// Figure is a computed value: of the runs of a policy (Of), or of earlier figures (Ratio and
// others).
type Figure struct {
	Name string `yaml:"name"`
	// Of is one of the kinds below, computed from the runs of Policy, a policy's Name. Class,
	// Pool, User, Jobs and Stage limit it to some jobs and to one stage of each; left out, all count.
	//
	//	time            from From to To of each job, of which Take is taken
	//	makespan        from the first submission to the last end
	//	jobs            the number of jobs
	//	ended           the number of jobs that had ended by By
	//	attempts        the number of attempts
	//	preempted       the number of attempts that were stopped for others
	//	suspended       the number of attempts that were suspended
	//	suspended-jobs  the number of jobs of which attempts were suspended
	//	starved         the longest time for which one of the jobs was there and held no slot
	//	wasted          the slot time of attempts that did not finish
	//	local           the part, in percent, of finished attempts with stored input that had it on their machine
	//	local-attempts  the number of these
	//	held            the first time from By on at which Jobs held Slots of Kind, for For at least
	//	idle            the slot time of Kind that nobody held while the only one of Jobs was there
	Of     string   `yaml:"of"`
	Policy string   `yaml:"policy"`
	Class  string   `yaml:"class"`
	Pool   string   `yaml:"pool"`
	User   string   `yaml:"user"`
	Jobs   []string `yaml:"jobs"`
	Stage  string   `yaml:"stage"`
	// From and To are beginning, submitted, began (the job's first attempt), ended, STAGE.began or
	// STAGE.ended; defaults are submitted and ended. A job without the stage does not count.
	From string `yaml:"from"`
	To   string `yaml:"to"`
	// Take is mean (the default), median, min, max, a percentile such as p80 (by the nearest rank), or each, which gives a
	// list of all jobs' times.
	Take string `yaml:"take"`
	// Over combines several seeds: mean (the default), min or max.
	Over string `yaml:"over"`
	// By is a time since the beginning, or the name of an earlier figure of kind time.
	By    string             `yaml:"by"`
	Slots []int              `yaml:"slots"` // of each of Jobs
	Kind  scheduler.SlotKind `yaml:"kind"`  // default "default"
	For   time.Duration      `yaml:"for"`

	// Ratio and the others compute a figure from two earlier ones, a and b: a/b, a-b, a in percent
	// of b, and by how many percent a is more than b.
	Ratio      []string `yaml:"ratio"`
	Difference []string `yaml:"difference"`
	Percent    []string `yaml:"percent"`
	Increase   []string `yaml:"increase"`

	// Unit is s (the default), min or h for times, and any word for others. Divide divides the
	// shown value; 0 does not. Checks compare the shown value.
	Unit   string  `yaml:"unit"`
	Divide float64 `yaml:"divide"`
	// Decimals is how many are shown, default 1.
	Decimals *int `yaml:"decimals"`
}

// Claim is a row of the table: the published result, and the computed one.
type Claim struct {
	Claim string `yaml:"claim"`
	// Published is the published result in words; empty where there is none.
	Published string `yaml:"published"`
	// Figures are shown.
	Figures []string `yaml:"figures"`
	// Holds are the checks by which the claim holds. Expected are checks that must always be met.
	Holds    []Check `yaml:"holds"`
	Expected []Check `yaml:"expected"`
	// Verdict is holds or differs. Why is the reason, required when it differs. The verdict must be
	// the computed one. Both are empty without a published result.
	Verdict string `yaml:"verdict"`
	Why     string `yaml:"why"`
	// Here is the result measured when the verdict was written, in its shown form.
	Here string `yaml:"here"`
}

// Verdicts on published results.
const (
	Holds   = "holds"
	Differs = "differs"
)

// Check compares each value of a figure with a number, or with the value at its index of a list.
type Check struct {
	Figure  string  `yaml:"figure"`
	Near    Numbers `yaml:"near"` // give or take Within
	Within  float64 `yaml:"within"`
	Above   Numbers `yaml:"above"`
	AtLeast Numbers `yaml:"atLeast"`
	Below   Numbers `yaml:"below"`
	AtMost  Numbers `yaml:"atMost"`
	// Order requires the same order as in Near. Falls requires that no value exceeds the previous
	// one, both rounded to a hundredth.
	Order bool `yaml:"order"`
	Falls bool `yaml:"falls"`
}

// Numbers is a number, or a list of them.
type Numbers []float64

// UnmarshalYAML reads a number or a list.
func (n *Numbers) UnmarshalYAML(node *yaml.Node) error {
	var one float64
	if node.Decode(&one) == nil {
		*n = Numbers{one}
		return nil
	}
	var list []float64
	if node.Decode(&list) != nil || len(list) == 0 {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: it is neither a number nor a list of numbers", node.Line)}}
	}
	*n = list
	return nil
}

// at is the number for the value at a place.
func (n Numbers) at(i int) float64 {
	if len(n) == 1 {
		return n[0]
	}
	return n[i]
}
