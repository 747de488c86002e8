// Command hamadryad-policy-hfsp-parts is the policy hfsp with an estimator of its own, for jobs
// that recur. A site names it in policy.settings:
//
//	estimator: recurring
//
// Copy it into a module of yours.
package main

import (
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/plugins/hfsp"
	"github.com/hamadryad/hamadryad/plugins/hfsp/binenc"
	"github.com/hamadryad/hamadryad/plugins/hfsp/estimation"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
)

func init() {
	estimation.Estimators.Register("recurring", func(s estimation.Settings) estimation.Estimator {
		return &recurring{Sampling: estimation.New(s), known: map[name]float64{}, changed: map[name]bool{}}
	})
}

func main() { serve.Main(hfsp.New) }

// recurring guesses the length of a job's tasks, before its samples have run, from the last job of
// that name. All else is as published.
type recurring struct {
	*estimation.Sampling
	known   map[name]float64 // seconds of a task
	changed map[name]bool    // since the last save
}

// name identifies jobs that recur.
type name struct{ user, job, stage string }

// knownMax bounds the known names; the earliest are kept.
const knownMax = 10_000

func nameOf(s *estimation.Stage) name { return name{s.Job.User, s.Job.Name, s.Job.Stages[s.ID].Name} }

// Came sets the guess; then Sampling leaves it alone.
func (e *recurring) Came(s *estimation.Stage) {
	if seconds, ok := e.known[nameOf(s)]; ok && s.Guess == nil {
		s.Guess = &seconds
	}
	e.Sampling.Came(s)
}

// Finished records the mean length of the stage's tasks for the next job of that name.
func (e *recurring) Finished(s *estimation.Stage, task uint64, m estimation.Measure) {
	e.Sampling.Finished(s, task, m)
	size, trained := e.Size(s)
	of := nameOf(s)
	if _, known := e.known[of]; !trained || s.Tasks*s.Slots == 0 || !known && len(e.known) == knownMax {
		return
	}
	e.known[of] = size / float64(s.Tasks*s.Slots)
	e.changed[of] = true
}

// Save writes the number of names and what is known of each, and then Sampling's own data.
func (e *recurring) Save(w *binenc.Writer, whole bool) {
	names := slices.Collect(maps.Keys(e.changed))
	if whole {
		names = slices.Collect(maps.Keys(e.known))
	}
	slices.SortFunc(names, func(a, b name) int {
		return slices.Compare([]string{a.user, a.job, a.stage}, []string{b.user, b.job, b.stage})
	})
	clear(e.changed)
	var past binenc.Writer
	if e.Sampling.Save(&past, whole); len(names) == 0 && len(past.Data) == 0 {
		return
	}
	w.Uint(uint64(len(names)))
	for _, n := range names {
		w.Text(n.user)
		w.Text(n.job)
		w.Text(n.stage)
		w.Float(e.known[n])
	}
	w.Data = append(w.Data, past.Data...)
}

// Load reads what Save wrote.
func (e *recurring) Load(r *binenc.Reader) {
	for range r.Count(knownMax) {
		n := name{r.Text(), r.Text(), r.Text()}
		if seconds := r.Float(); r.Err() == nil && seconds >= 0 {
			e.known[n] = seconds
		}
	}
	e.Sampling.Load(r)
}
