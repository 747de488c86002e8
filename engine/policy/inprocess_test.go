package policy_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// slowStatus answers Status when released.
type slowStatus struct {
	plugintest.Policy
	asked, release chan struct{}
}

func (p *slowStatus) Status() (scheduler.Status, error) {
	p.asked <- struct{}{}
	<-p.release
	return scheduler.Status{}, nil
}

// A caller that stops waiting for the status does not end the policy.
func TestImpatientQuestionHarmsNobody(t *testing.T) {
	p := &slowStatus{asked: make(chan struct{}, 1), release: make(chan struct{})}
	slow := policy.InProcess(p)
	defer mustEnd(t, slow)
	defer slow.Close()
	start(t, slow)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-p.asked
		cancel()
	}()
	if _, err := slow.Status(ctx); policy.KindOf(err) != policy.Canceled {
		t.Errorf("in process: error %v", err)
	}
	close(p.release)
	if _, err := slow.AssignTasks(within(t), smallRound(1)); err != nil {
		t.Errorf("the round after it, in process: %v", err)
	}

	h, _ := launch(t, plugintest.Good)
	start(t, h)
	for i := range 200 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*5*time.Microsecond)
		if _, err := h.Status(ctx); err != nil && policy.KindOf(err) != policy.Busy {
			t.Fatalf("plug-in: error %v", err)
		}
		cancel()
	}
	if _, err := h.AssignTasks(within(t), smallRound(1)); err != nil {
		t.Errorf("the round after it: %v", err)
	}
}

// hanging is a policy in process that does not answer until released.
type hanging struct {
	plugintest.Policy
	release chan struct{}
}

func (p *hanging) AssignTasks(scheduler.Round) (scheduler.Decisions, error) {
	<-p.release
	return scheduler.Decisions{}, nil
}

func TestHangingPolicyInProcessIsAbandoned(t *testing.T) {
	p := &hanging{release: make(chan struct{})}
	h := policy.InProcess(p)
	env := testEnv
	env.Limits.RoundDeadline = 50 * time.Millisecond
	if _, err := h.Start(within(t), scheduler.Config{}, scheduler.Snapshot{}, env); err != nil {
		t.Fatal(err)
	}
	if _, err := h.AssignTasks(within(t), smallRound(1)); policy.KindOf(err) != policy.Deadline {
		t.Errorf("error %v", err)
	}
	if _, err := h.Status(within(t)); policy.KindOf(err) != policy.Deadline {
		t.Errorf("a call after the end: %v", err)
	}
	close(p.release)
	mustEnd(t, h)
}

// broken is a policy in process that goes wrong in every way it can.
type broken struct{ plugintest.Policy }

func (*broken) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	if r.Number == 1 {
		return scheduler.Decisions{Notes: []scheduler.Note{{Body: make([]byte, 5<<20)}}}, nil
	}
	return scheduler.Decisions{}, nil
}

func (*broken) Status() (scheduler.Status, error) { panic("no status on purpose") }

func TestBrokenPolicyInProcess(t *testing.T) {
	h := policy.InProcess(&broken{})
	defer mustEnd(t, h)
	defer h.Close()
	if _, err := h.AssignTasks(within(t), smallRound(1)); policy.KindOf(err) != policy.Faulted {
		t.Errorf("a round before Start: error %v", err)
	}
	start(t, h)
	if _, err := h.AssignTasks(within(t), smallRound(1)); policy.KindOf(err) != policy.Breach {
		t.Errorf("big answer: error %v", err)
	}
	if _, err := h.Status(within(t)); policy.KindOf(err) != policy.Breach || !strings.Contains(err.Error(), "AssignTasks of round 1") {
		t.Errorf("a call after the breach: error %v", err)
	}
	p := policy.InProcess(&broken{})
	defer mustEnd(t, p)
	start(t, p)
	for range 2 {
		if _, err := p.Status(within(t)); policy.KindOf(err) != policy.Panicked || !strings.Contains(err.Error(), "no status on purpose") {
			t.Errorf("panic: error %v", err)
		}
	}
}
