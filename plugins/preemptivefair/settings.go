package preemptivefair

import (
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

const (
	// graceDefault is enough to write out a record or two.
	graceDefault = 5 * time.Second
	// holdMaxDefault is long compared with the time from the end of one stage to the readiness
	// of the next, and short compared with a task.
	holdMaxDefault = 5 * time.Second
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

// options are the policy's settings; doc.go documents them.
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

var defaults = options{
	Preemption: everyJob, JobLoses: evenly, AttemptLoses: newest, Mode: "kill", Grace: graceDefault,
	Hold: holdShare, HoldMax: holdMaxDefault, WorkConserving: true, CollectAfter: settings.CollectAfterDefault,
	TimesMax: timesMaxDefault,
	Locality: locality.New(locality.ModeNearest, locality.ModeFlow, locality.ModeNearest, locality.ModeNone),
}

func (o *options) check() error {
	var checks settings.Checks
	checks.Choice("preemption", o.Preemption, everyJob, askedOnly, nobody)
	checks.Choice("job-loses", o.JobLoses, evenly, furthestOver, lowestPriority)
	checks.Choice("attempt-loses", o.AttemptLoses, newest, atRandom, newestInCluster, leastProgress, newcomerData)
	checks.Choice("mode", o.Mode, "kill", "soft", "suspend")
	checks.Choice("hold", o.Hold, holdShare, holdAll, holdNone)
	checks.That(o.Grace >= 0, "grace", "must not be negative; mode: kill gives none")
	checks.That(o.HoldMax >= 0, "hold-max", "must not be negative; 0s sets no bound, hold: none holds nothing")
	checks.CollectAfter(o.CollectAfter)
	checks.That(o.TimesMax >= 0, "times-max", "must not be negative; 0 sets no bound, preemption: none takes nothing back")
	return checks.Err()
}

// answer is a job's choice, given by a property.
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
