package manager

import (
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// A job waits for jobs of which only history knows how they ended, over a restart of the manager,
// and for one that still runs then.
func TestAJobWaitsForForgottenJobs(t *testing.T) {
	b := newTestbed(t)
	b.cfg.Core.JobsKept = 1
	b.start()
	l := b.launcher("l", 1, false)
	forgotten := b.submit(1)
	b.follow(forgotten)
	b.follow(b.submit(1))
	soon := b.submitAfter(&wire.JobDependency{Job: forgotten})
	b.follow(soon)
	l.cancel()
	running := b.submit(1)
	waits := b.submitAfter(&wire.JobDependency{Job: forgotten}, &wire.JobDependency{Job: running})
	b.stop()
	b.start()
	eventually(t, "the job still waits", func() bool {
		s, err := b.api.Status(b.ctx(), &wire.StatusRequest{Job: waits})
		return err == nil && s.Summary.State == wire.JobState_JOB_STATE_WAITING && len(s.Waiting) == 1 && strings.HasSuffix(s.Waiting[0], "to succeed")
	})
	b.launcher("l", 2, false)
	if s := b.follow(waits); !succeeded(s) || len(s.After) != 2 {
		t.Errorf("the job that waited ended as %v", s)
	}
	if _, err := b.trySubmitAfter(&wire.JobDependency{Job: 1 << 40}); err == nil || !strings.Contains(err.Error(), "which is not there") {
		t.Errorf("a job waits for an unknown one: %v", err)
	}
}

func (b *testbed) submitAfter(after ...*wire.JobDependency) uint64 {
	b.t.Helper()
	job, err := b.trySubmitAfter(after...)
	if err != nil {
		b.t.Fatal(err)
	}
	return job
}

// trySubmitAfter submits a job of one node that waits for others.
func (b *testbed) trySubmitAfter(after ...*wire.JobDependency) (uint64, error) {
	prepared, err := b.api.Prepare(b.ctx(), &wire.PrepareRequest{})
	if err != nil {
		return 0, err
	}
	_, err = b.api.Submit(b.ctx(), &wire.SubmitRequest{Job: prepared.Job, Spec: &wire.JobSpec{
		Name: "job", Principal: &wire.Principal{Name: "me"}, Program: b.upload("program"), Plan: b.upload("plan"), After: after,
		Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "work", Nodes: 1, Slots: 1, Memory: 1}}}, Fingerprint: []byte("f"),
	}})
	return prepared.Job, err
}
