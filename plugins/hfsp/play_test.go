package hfsp

import (
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// play is the policy on the manager's core.
type play struct {
	*policytest.Playing[*Policy]
	t *testing.T
}

func newPlay(t *testing.T, settings string) *play {
	t.Helper()
	return &play{policytest.Play(t, settings, func() *Policy { return &Policy{} }), t}
}

// maps is a stage of single-slot tasks that take so long; reduces is one that shuffles.
func maps(n int, run time.Duration) cluster.Layer {
	return cluster.Layer{Bundles: n, Run: run, Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1, Memory: 1 << 30}}}
}

func reduces(n int, run time.Duration) cluster.Layer {
	l := maps(n, run)
	l.Shuffles = true
	return l
}

// gang is n tasks that start together, each of a stage of its own.
func gang(n int, run time.Duration) cluster.Layer {
	return cluster.Layer{Bundles: 1, Run: run, Groups: slices.Repeat([]cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}}, n)}
}

// at submits a job of one stage at a time.
func (w *play) at(d time.Duration, l cluster.Layer) {
	w.At(d, cluster.Spec{Name: "job", Layers: []cluster.Layer{l}})
}

// round plays a round now, so that the policy knows the time.
func (w *play) round() {
	w.t.Helper()
	w.Cluster.Note(scheduler.Note{Name: "round"})
	w.Until(w.Cluster.Now().Sub(w.Begin))
}

// lives lists the attempts of a job that are in a state, by id.
func (w *play) lives(id scheduler.JobID, s view.AttemptState) (ids []scheduler.AttemptID) {
	if j := w.Policy.view.Job(id); j != nil {
		for _, a := range j.Attempts() {
			if a.State == s {
				ids = append(ids, a.ID)
			}
		}
	}
	return ids
}

// stage returns the first stage of a job.
func (w *play) stage(id scheduler.JobID) *stage { return of(w.Policy.index.Stages(id)[0]) }

// mean is the mean sojourn time.
func (w *play) mean() time.Duration {
	sum := time.Duration(0)
	for _, d := range w.Sojourn {
		sum += d
	}
	return sum / time.Duration(max(len(w.Sojourn), 1))
}

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
