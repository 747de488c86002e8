package lifecycle

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// rejectForeign returns a good end as it came, or, when it names what is not the attempt's, a failure in its
// place. What the launcher stored for it is deleted.
func (as *Attempts) rejectForeign(a *state.Attempt, m *wire.AttemptEnded) *wire.AttemptEnded {
	err := checkOwn(a, m)
	if err == nil {
		return m
	}
	as.refuseCommit(a.Launcher, m, err.Error())
	return &wire.AttemptEnded{Attempt: m.GetAttempt(), End: wire.End_END_FAILED, Work: m.GetWork(), Failure: &wire.Failure{
		Kind:    wire.ErrorKind_ERROR_KIND_INTERNAL,
		Message: fmt.Sprintf("launcher %s reported an end that can't be the attempt's: %v", a.Launcher.Name, err),
	}}
}

// checkOwn refuses the good end of an attempt that names what another group stored or wrote. Launchers
// hold their workers to the same rule, so an end that breaks it is its launcher's doing.
func checkOwn(a *state.Attempt, m *wire.AttemptEnded) error {
	for _, s := range m.GetStored() {
		if err := checkStored(a, s); err != nil {
			return err
		}
	}
	own := "a" + strconv.FormatUint(uint64(a.ID), 10) + "."
	outputs := int64(len(a.BundleAttempt.Bundle.Job.Spec.GetOutputs()))
	for _, f := range m.GetFiles() {
		switch {
		case !a.HasNode(f.GetStage(), f.GetIndex()):
			return fmt.Errorf("it names an output file of node %d of stage %d, which is not of the attempt's group", f.GetIndex(), f.GetStage())
		case !strings.HasPrefix(f.GetTemporary(), own):
			return fmt.Errorf("it names the output file %.100q, and the attempt's begin with %q", f.GetTemporary(), own)
		case outputs > 0 && int64(f.GetOutput()) >= outputs: // a job without outputs publishes nothing
			return fmt.Errorf("it names a file of output %d, which the job does not have", f.GetOutput())
		}
	}
	return nil
}

// checkStored refuses what no node of the attempt's group writes.
func checkStored(a *state.Attempt, s *wire.StoredOutput) error {
	all := a.BundleAttempt.Bundle.Job.Plan.Graph.Connections
	if int64(s.GetConnection()) >= int64(len(all)) {
		return fmt.Errorf("it names stored output of connection %d, which the job does not have", s.GetConnection())
	}
	if stage := all[s.GetConnection()].FromStage; !a.HasNode(stage, s.GetFrom()) {
		return fmt.Errorf("it names stored output of node %d of stage %d, which is not of the attempt's group", s.GetFrom(), stage)
	}
	return nil
}
