package preemptivefair

import (
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

const (
	// graceDefault is enough to write out a record or two.
	graceDefault = 5 * time.Second
	// holdMaxDefault is long against the time between the last end of a stage and
	// the next stage's readiness, and short against a task.
	holdMaxDefault = 5 * time.Second
	// collectAfterDefault is long against the usual task, so that slots seldom stand
	// empty for work that would have fitted anyway.
	collectAfterDefault = 30 * time.Second
	// timesMaxDefault lets a bundle lose to a few newcomers before others do in its place.
	timesMaxDefault = 3
)

// The choices of the settings.
const (
	everyJob  = "all"
	askedOnly = "asked"
	nobody    = "none"

	evenly         = "evenly"
	furthestOver   = "furthest-over-share"
	lowestPriority = "lowest-priority"

	newest          = "newest"
	atRandom        = "random"
	newestInCluster = "newest-in-cluster"
	leastProgress   = "least-progress"
	newcomerData    = "newcomer-data"

	holdShare = "share"
	holdAll   = "all"
	holdNone  = "none"
)

var modes = map[string]scheduler.PreemptMode{
	"kill": scheduler.PreemptKill, "soft": scheduler.PreemptSoft, "suspend": scheduler.PreemptSuspend,
}

// options are the policy's settings; doc.go says what they mean.
type options struct {
	Preemption         string        `yaml:"preemption"`
	OnlyHigherPriority bool          `yaml:"only-higher-priority"`
	JobLoses           string        `yaml:"job-loses"`
	AttemptLoses       string        `yaml:"attempt-loses"`
	Mode               string        `yaml:"mode"`
	Grace              time.Duration `yaml:"grace"`
	Hold               string        `yaml:"hold"`
	HoldMax            time.Duration `yaml:"hold-max"`
	WorkConserving     bool          `yaml:"work-conserving"`
	CollectAfter       time.Duration `yaml:"collect-after"`
	TimesMax           int           `yaml:"times-max"`

	Locality locality.Settings `yaml:"locality"`
}

func parse(c scheduler.Config) (options, error) {
	o := options{
		Preemption: everyJob, JobLoses: evenly, AttemptLoses: newest, Mode: "kill", Grace: graceDefault,
		Hold: holdShare, HoldMax: holdMaxDefault, WorkConserving: true, CollectAfter: collectAfterDefault,
		TimesMax: timesMaxDefault,
		Locality: locality.New(locality.ModeNearest, locality.ModeFlow, locality.ModeNearest, locality.ModeNone),
	}
	if err := settings.Decode(c, &o); err != nil {
		return options{}, err
	}
	var wrong scheduler.Problems
	choice := func(key, value string, choices ...string) {
		if !slices.Contains(choices, value) {
			wrong = append(wrong, settings.At(c, key, settings.Unknown(value, choices)))
		}
	}
	choice("preemption", o.Preemption, everyJob, askedOnly, nobody)
	choice("job-loses", o.JobLoses, evenly, furthestOver, lowestPriority)
	choice("attempt-loses", o.AttemptLoses, newest, atRandom, newestInCluster, leastProgress, newcomerData)
	choice("mode", o.Mode, "kill", "soft", "suspend")
	choice("hold", o.Hold, holdShare, holdAll, holdNone)
	if o.Grace < 0 {
		wrong = append(wrong, settings.At(c, "grace", "must not be negative; mode: kill gives none"))
	}
	if o.HoldMax < 0 {
		wrong = append(wrong, settings.At(c, "hold-max", "must not be negative; 0s sets no bound, hold: none holds nothing"))
	}
	if o.CollectAfter < 0 {
		wrong = append(wrong, settings.At(c, "collect-after", "must not be negative; 0s lets smaller work pass for ever"))
	}
	if o.TimesMax < 0 {
		wrong = append(wrong, settings.At(c, "times-max", "must not be negative; 0 sets no bound, preemption: none takes nothing back"))
	}
	if len(wrong) > 0 {
		return options{}, wrong
	}
	return o, nil
}

// answer is what a job says by a property.
type answer uint8

const (
	notSaid answer = iota
	yes
	no
	unclear
)

func said(j *scheduler.Job, property string) answer {
	for _, p := range j.Properties {
		if p.Name != property {
			continue
		}
		switch p.Value {
		case "true":
			return yes
		case "false":
			return no
		}
		return unclear
	}
	return notSaid
}

// mayTake says whether slots are taken back for a job.
func (o options) mayTake(j *scheduler.Job) bool {
	switch o.Preemption {
	case everyJob:
		return said(j, "preempt") != no
	case askedOnly:
		return said(j, "preempt") == yes
	}
	return false
}

// mayLose says whether slots may be taken from one job for another.
func (o options) mayLose(from, to *scheduler.Job) bool {
	return said(from, "preemptible") != no && (!o.OnlyHigherPriority || from.Priority < to.Priority)
}
