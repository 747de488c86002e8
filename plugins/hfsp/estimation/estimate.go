package estimation

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/plugins/hfsp/binenc"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

// LengthMax is the longest that a task can be taken to run, in seconds: thirty years.
const LengthMax = 1e9

// length returns a task's length in seconds within bounds.
func length(seconds float64) float64 {
	if !(seconds > 0) { // also if it is not a number
		return 0
	}
	return min(seconds, LengthMax)
}

// Settings configure how sizes are estimated.
type Settings struct {
	// Xi is a factor for the size that past tasks suggest for an untrained stage: 1 or more,
	// infinity allowed.
	Xi float64
	// Samples is how many tasks train a stage, 1 or more.
	Samples int
	// Distribution is the family that is fitted to the samples.
	Distribution Distribution
	// Delta is how long a task of a stage that shuffles executes before its progress
	// counts, 0 or more.
	Delta time.Duration
	// Default is a task's length while there are no past tasks.
	Default time.Duration
	// Error is the largest relative error that is put into sizes on purpose, from 0 to 1. See the
	// package comment. ErrorSeed selects each stage's error.
	Error     float64
	ErrorSeed uint64
}

// wrong returns a stage's error factor, which depends on ErrorSeed and the stage's lot.
func (s Settings) wrong(lot uint64) float64 {
	if !(s.Error > 0) {
		return 1
	}
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, s.ErrorSeed), lot)) // looks random, and is the same everywhere
	u := float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)                                             // from 0 to below 1
	return 1 + float64(min(s.Error, 1)*(float64(2*u)-1))
}

// Defaults are the published settings.
func Defaults() Settings {
	return Settings{Xi: 1, Samples: 5, Distribution: Uniform, Delta: time.Minute, Default: time.Minute}
}

// Measure is how long a task took, net of suspension, in seconds.
type Measure struct {
	Shuffle float64 // 0 if the task does not shuffle
	Execute float64
	Bytes   int64 // size of its input; weights the shuffle time
}

func (m Measure) bounded() Measure {
	return Measure{length(m.Shuffle), length(m.Execute), max(m.Bytes, 0)}
}

// Stage is the record of one stage's tasks: plain data.
type Stage struct {
	Kind  Kind
	Tasks int // of the stage; the number may grow
	Slots int // of each task, with those that start together with it
	// Job is the stage's job as the manager sent it, or nil if it is not known, and ID is the
	// stage's number in it. Estimators must not change the job.
	Job *scheduler.Job
	ID  scheduler.StageID
	// Owner is data that an estimator other than Sampling keeps for the stage.
	Owner any
	// Lot is any number that tells the stage from others when errors are drawn (Settings.Error).
	Lot uint64
	// Guess is a task's length in seconds according to past tasks, when the stage came.
	Guess *float64
	// Samples are the first tasks that finished, at most Settings.Samples of them.
	Samples []Measure
	// Running are further samples that are estimated, in order of task.
	Running []Running
	// Later is how many tasks finished after the samples, and LaterSeconds their total time.
	Later        int
	LaterSeconds float64
}

// Running is an unfinished task that counts as a sample.
type Running struct {
	Task     uint64
	Progress float64 // the highest that was reported
	Measure  Measure
}

// NewStage returns a stage of which nothing has run.
func NewStage(k Kind, tasks, slots int) *Stage { return &Stage{Kind: k, Tasks: tasks, Slots: slots} }

// Estimator estimates the sizes of stages. Its data about a stage is in the Stage. A task is any
// number that no other task of the stage has at that time. Results must be a function of the calls
// made, in their order: no clocks, no files. One goroutine calls it.
type Estimator interface {
	// Configure applies changed settings; what was learnt stays.
	Configure(Settings)
	// Came is called when the first task of a stage may run, and may be called again later.
	Came(s *Stage)
	// Size returns a stage's size in slot-seconds. It is never negative or NaN, and infinite if
	// nothing is known that bounds it. trained is false if the size is only a guess from past
	// tasks.
	Size(s *Stage) (slotSeconds float64, trained bool)
	// Progress records the progress of a task that has executed for some seconds after
	// shuffling, and says whether that changed anything.
	Progress(s *Stage, task uint64, m Measure, progress float64) bool
	// Finished records a finished task.
	Finished(s *Stage, task uint64, m Measure)
	// Gone records a task that ended without a result, or starts anew, and says whether that
	// changed anything.
	Gone(s *Stage, task uint64) bool
	// Training returns how many samples a stage needs and has.
	Training(s *Stage) Training
}

// Training counts the samples of a stage, in tasks. The policy runs samples on the training slots,
// and never kills them.
type Training struct {
	Need     int // samples that train the stage; 0: it needs none
	Measured int // samples so far, finished or running
	Finished int // those of Measured that have finished
}

// Keeper is an Estimator whose learnt data survives a restart. The policy must decide as if it had
// not restarted, so an estimator that learns must also save.
type Keeper interface {
	// Save writes what was learnt from all stages: the changes since the last call, or
	// everything with whole set. Without changes it writes nothing.
	Save(w *binenc.Writer, whole bool)
	// Load reads the output of one call of Save, which replaces earlier data about the same things.
	Load(r *binenc.Reader)
	// SaveStage writes what was learnt from a stage, and LoadStage reads it.
	SaveStage(s *Stage, w *binenc.Writer)
	LoadStage(s *Stage, r *binenc.Reader)
}

// Explainer is an Estimator that can show what it learnt over all stages.
type Explainer interface {
	// Facts lists at most so many facts.
	Facts(most int) []scheduler.Property
}

// SamplingName is the name of the published estimator.
const SamplingName = "sampling"

// NewEstimator makes an estimator without data.
type NewEstimator func(Settings) Estimator

// Estimators are the estimators by name. Register adds one. An estimator that changes only part of
// the published one may embed Sampling.
var Estimators = settings.NewChoices("estimator", map[string]NewEstimator{
	SamplingName: func(s Settings) Estimator { return New(s) },
})

// Sampling is the published estimator.
type Sampling struct {
	Settings Settings
	Past     Past

	saved map[Kind]Mean // the means that Save wrote last
}

var (
	_ Estimator = (*Sampling)(nil)
	_ Keeper    = (*Sampling)(nil)
	_ Explainer = (*Sampling)(nil)
)

// New returns an estimator without past tasks.
func New(s Settings) *Sampling { return &Sampling{Settings: s} }

// Configure implements Estimator.
func (e *Sampling) Configure(s Settings) { e.Settings = s }

// Need returns how many samples train a stage: at most as many as it has tasks.
func (e *Sampling) Need(s *Stage) int { return min(e.Settings.Samples, s.Tasks) }

// Training implements Estimator.
func (e *Sampling) Training(s *Stage) Training {
	return Training{Need: e.Need(s), Measured: len(s.Samples) + len(s.Running), Finished: len(s.Samples)}
}

// Facts implements Explainer.
func (e *Sampling) Facts(most int) (all []scheduler.Property) {
	for _, m := range e.Past[:min(len(e.Past), most)] {
		what := "mean task of kind " + scheduler.Printable(m.Kind.Slots)
		if m.Kind.Shuffles {
			what += ", shuffling"
		}
		all = append(all, scheduler.Property{Name: what, Value: time.Duration(m.Seconds * float64(time.Second)).Round(time.Millisecond).String()})
	}
	return all
}

// Size implements Estimator.
func (e *Sampling) Size(s *Stage) (slotSeconds float64, trained bool) {
	size, trained := e.estimate(s)
	if math.IsInf(size, 1) {
		return size, trained
	}
	return float64(size * e.Settings.wrong(s.Lot)), trained
}

// estimate is the size before the error of Settings.Error is applied.
func (e *Sampling) estimate(s *Stage) (slotSeconds float64, trained bool) {
	tasks := float64(max(s.Tasks, 0)) * float64(max(s.Slots, 0))
	n := len(s.Samples) + len(s.Running)
	if n == 0 || n < e.Need(s) {
		if math.IsInf(e.Settings.Xi, 1) { // even if past tasks took no time
			return e.Settings.Xi, false
		}
		guess := e.past(s.Kind)
		if s.Guess != nil {
			guess = length(*s.Guess)
		}
		if n > 0 { // a stage with longer samples than past tasks must not be served before small stages
			guess = max(guess, e.task(s))
		}
		return float64(e.Settings.Xi * float64(tasks*guess)), false
	}
	return float64(tasks * e.task(s)), true
}

// Came fixes the guess that past tasks suggest for a stage. Later tasks of other stages do not
// change it.
func (e *Sampling) Came(s *Stage) {
	if s.Guess == nil {
		guess := e.past(s.Kind)
		s.Guess = &guess
	}
}

// past is the mean length of past tasks of a kind.
func (e *Sampling) past(k Kind) float64 {
	if l, ok := e.Past.Of(k); ok {
		return l
	}
	return length(e.Settings.Default.Seconds())
}

// task is the mean length of a trained stage's tasks.
func (e *Sampling) task(s *Stage) float64 {
	n := len(s.Samples) + len(s.Running)
	all := make([]Measure, 0, n)
	all = append(all, s.Samples...)
	for i := range s.Running {
		all = append(all, s.Running[i].Measure)
	}
	lengths := make([]float64, n)
	for i, m := range all {
		lengths[i] = m.Execute
	}
	one := e.Settings.Distribution.Mean(lengths)
	if s.Kind.Shuffles {
		one += shuffle(all)
	}
	return (float64(one*float64(n)) + s.LaterSeconds) / float64(n+s.Later)
}

// shuffle is the tasks' mean shuffle time, weighted with their input.
func shuffle(all []Measure) float64 {
	bytes := 0.0
	for _, m := range all {
		bytes += float64(m.Bytes)
	}
	sum := 0.0
	for _, m := range all {
		weight := 1 / float64(len(all))
		if bytes > 0 {
			weight = float64(m.Bytes) / bytes
		}
		sum += float64(m.Shuffle * weight)
	}
	return length(sum)
}

// Expected returns the total execution time of a task that has executed for some seconds and
// reached some progress. It returns false while progress is 0 or Delta has not passed.
func (s Settings) Expected(executed, progress float64) (float64, bool) {
	if !(executed >= s.Delta.Seconds()) || !(progress > 0) {
		return 0, false
	}
	return length(executed / min(progress, 1)), true
}

// Progress implements Estimator. It measures running tasks only in stages that shuffle: other tasks
// are short.
func (e *Sampling) Progress(s *Stage, task uint64, m Measure, progress float64) bool {
	if !s.Kind.Shuffles {
		return false
	}
	i, known := slices.BinarySearchFunc(s.Running, task, func(r Running, task uint64) int {
		switch {
		case r.Task < task:
			return -1
		case r.Task > task:
			return 1
		}
		return 0
	})
	if known && !(progress > s.Running[i].Progress) {
		progress = s.Running[i].Progress
	}
	expected, ok := e.Settings.Expected(m.Execute, progress)
	if !ok || math.IsNaN(progress) || !known && len(s.Samples)+len(s.Running) >= e.Settings.Samples {
		return false
	}
	m = m.bounded()
	m.Execute = expected
	if !known {
		s.Running = slices.Insert(s.Running, i, Running{Task: task})
	}
	r := &s.Running[i]
	changed := *r != Running{task, min(progress, 1), m}
	*r = Running{task, min(progress, 1), m}
	return changed
}

// Finished implements Estimator.
func (e *Sampling) Finished(s *Stage, task uint64, m Measure) {
	e.Gone(s, task)
	m = m.bounded()
	if !s.Kind.Shuffles {
		m.Execute, m.Shuffle = length(m.Execute+m.Shuffle), 0
	}
	e.Past.Learn(s.Kind, m.Shuffle+m.Execute)
	switch n := len(s.Samples) + len(s.Running); {
	case n < e.Settings.Samples:
		s.Samples = append(s.Samples, m)
	case len(s.Running) > 0 && len(s.Samples) < e.Settings.Samples: // a finished task is a better sample than a running one
		s.Running = s.Running[:len(s.Running)-1]
		s.Samples = append(s.Samples, m)
	default:
		s.Later++
		s.LaterSeconds += m.Shuffle + m.Execute
	}
}

// Gone implements Estimator.
func (e *Sampling) Gone(s *Stage, task uint64) bool {
	n := len(s.Running)
	s.Running = slices.DeleteFunc(s.Running, func(r Running) bool { return r.Task == task })
	if len(s.Running) == 0 {
		s.Running = nil
	}
	return len(s.Running) < n
}
