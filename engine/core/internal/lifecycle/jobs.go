package lifecycle

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
)

// Jobs takes a job from its start to its end. Bundles get their ids, commit, and reopen when
// their output is lost. When all are finished the last group publishes. A failed or killed job
// is stopped and cleaned up.
type Jobs struct {
	base
	bundles *Bundles
}

// ChooseKinds chooses the slot kinds of a job that no policy knows yet.
func (js *Jobs) ChooseKinds(j *state.Job) { js.bundles.ChooseFirst(j) }
