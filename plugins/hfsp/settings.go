package hfsp

import (
	"fmt"
	"math"
	"time"

	"github.com/hamadryad/hamadryad/plugins/hfsp/estimation"
	"github.com/hamadryad/hamadryad/plugins/hfsp/virtual"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

// The choices of the settings.
const (
	lateShare = "share"
	latePlain = "plain"

	preemptWait    = "wait"
	preemptKill    = "kill"
	preemptSuspend = "suspend"
)

const (
	// trainingDefault is a tenth: bursts of new jobs leave nine tenths to others.
	trainingDefault = 0.1
	// suspendedMaxDefault is how many attempts may be suspended on one launcher.
	suspendedMaxDefault = 8
	// suspendedMemoryDefault is the part of a launcher's memory that suspended attempts may hold.
	suspendedMemoryDefault = 0.5
	// priorityWeightDefault gives a stage twice the weight for each level of priority.
	priorityWeightDefault = 2
	// levelsMax is how many levels above and below normal a priority counts.
	levelsMax = 10
	// samplesMax bounds the samples of a stage.
	samplesMax = 1000
)

// options are the policy's settings; doc.go says what they mean.
type options struct {
	Estimator       string        `yaml:"estimator"`
	Xi              float64       `yaml:"xi"`
	Samples         int           `yaml:"samples"`
	Distribution    string        `yaml:"distribution"`
	Delta           time.Duration `yaml:"delta"`
	TaskDefault     time.Duration `yaml:"task-default"`
	TrainingPart    float64       `yaml:"training-part"`
	Late            string        `yaml:"late"`
	PreemptMaps     string        `yaml:"preempt-maps"`
	PreemptReduces  string        `yaml:"preempt-reduces"`
	SuspendedMax    int           `yaml:"suspended-max"`
	SuspendedMemory float64       `yaml:"suspended-memory"`
	PriorityWeight  float64       `yaml:"priority-weight"`
	CollectAfter    time.Duration `yaml:"collect-after"`
	EstimateError   float64       `yaml:"estimate-error"`
	EstimateSeed    uint64        `yaml:"estimate-seed"`

	Locality locality.Settings `yaml:"locality"`
}

func defaults() options {
	e := estimation.Defaults()
	return options{
		Estimator: estimation.SamplingName, Xi: e.Xi, Samples: e.Samples, Distribution: string(e.Distribution), Delta: e.Delta, TaskDefault: e.Default,
		TrainingPart: trainingDefault, Late: lateShare, PreemptMaps: preemptWait, PreemptReduces: preemptSuspend,
		SuspendedMax: suspendedMaxDefault, SuspendedMemory: suspendedMemoryDefault,
		Locality: locality.New(locality.ModeAttempts, locality.ModeAttempts, locality.ModeDelay, locality.ModeFlow, locality.ModeNearest, locality.ModeNone),

		PriorityWeight: priorityWeightDefault, CollectAfter: settings.CollectAfterDefault,
		EstimateSeed: 1,
	}
}

func parse(c scheduler.Config) (options, error) {
	o := defaults()
	if err := settings.Decode(c, &o); err != nil {
		return options{}, err
	}
	checks := settings.Checks{Config: c}
	checks.Choice("estimator", o.Estimator, estimation.Estimators.Names()...)
	checks.Choice("distribution", o.Distribution, names(estimation.Distributions())...)
	checks.Choice("late", o.Late, lateShare, latePlain)
	checks.Choice("preempt-maps", o.PreemptMaps, preemptWait, preemptKill, preemptSuspend)
	checks.Choice("preempt-reduces", o.PreemptReduces, preemptWait, preemptKill, preemptSuspend)
	checks.That(o.Xi >= 1, "xi", "must be 1 or more: 1 trusts what tasks of the past say, .inf lets a stage that is not trained run its samples only")
	checks.That(o.Samples >= 1 && o.Samples <= samplesMax, "samples", fmt.Sprintf("must be from 1 to %d: without a sample no stage is ever trained", samplesMax))
	checks.That(o.Delta >= 0, "delta", "must not be negative; 0s counts progress from the first report on")
	checks.That(o.TaskDefault >= 0, "task-default", "must not be negative")
	checks.That(o.TrainingPart >= 0 && o.TrainingPart <= 1, "training-part", "must be from 0 to 1: it is a part of the slots")
	checks.That(o.SuspendedMax >= 0, "suspended-max", "must not be negative; 0 suspends nothing")
	checks.That(o.SuspendedMemory >= 0 && o.SuspendedMemory <= 1, "suspended-memory", "must be from 0 to 1: it is a part of a launcher's memory")
	checks.That(o.PriorityWeight >= 1 && o.PriorityWeight <= virtual.WeightMax, "priority-weight", fmt.Sprintf("must be from 1 to %d: 1 lets priorities count for nothing", int(virtual.WeightMax)))
	checks.CollectAfter(o.CollectAfter)
	checks.That(o.EstimateError >= 0 && o.EstimateError <= 1, "estimate-error", "must be from 0 to 1: it is by what part of it a size is wrong at most; 0 is for all but experiments")
	return o, checks.Err()
}

func names(all []estimation.Distribution) (list []string) {
	for _, d := range all {
		list = append(list, string(d))
	}
	return list
}

func (o options) estimation() estimation.Settings {
	return estimation.Settings{
		Xi: o.Xi, Samples: o.Samples, Distribution: estimation.Distribution(o.Distribution), Delta: o.Delta, Default: o.TaskDefault,
		Error: o.EstimateError, ErrorSeed: o.EstimateSeed,
	}
}

// newEstimator makes the estimator that the checked settings name.
func (o options) newEstimator() estimation.Estimator {
	made, _ := estimation.Estimators.Named(o.Estimator)
	return made(o.estimation())
}

func (o options) rule() virtual.Rule {
	if o.Late == latePlain {
		return virtual.Plain
	}
	return virtual.Sharing
}

// abilities returns what the policy can do, and the period of progress events: a few within delta.
func (o options) abilities() (scheduler.Ability, time.Duration) {
	every := min(max(o.Delta/6, 100*time.Millisecond), 10*time.Second)
	return scheduler.AbilityCheckpoint | scheduler.AbilityResume | scheduler.AbilityProgress, every
}

// weight is a job's weight in the virtual cluster, by its priority.
func (o options) weight(p scheduler.Priority) float64 {
	level := min(max(int(p), -levelsMax), levelsMax)
	return math.Pow(o.PriorityWeight, float64(level))
}
