package manager

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// Lists, status, watches, logs, the policy and metrics are shown without a read of the core, and so
// is the answer for an unknown job. Only for a job that may be submitted at this moment the core is
// asked.
func TestNobodyWhoLooksHoldsUpTheCore(t *testing.T) {
	b := newTestbed(t)
	b.start()
	l := b.launcher("oak", 1, true)
	job := b.submit(3)
	<-l.started
	b.policyWhen("it runs", isRunning)
	before := b.metric("hamadryad_core_reads_total")
	for range 3 {
		s, err := b.api.Status(b.ctx(), &wire.StatusRequest{Job: job, Attempts: true})
		if err != nil || len(s.Attempts) == 0 || len(s.Waiting) == 0 {
			t.Fatalf("status %v: %v", s, err)
		}
		jobs, err := b.api.Jobs(b.ctx(), &wire.JobsRequest{All: true})
		if err != nil || len(jobs.Jobs) != 1 {
			t.Fatalf("jobs %v: %v", jobs, err)
		}
		machines, err := b.api.Launchers(b.ctx(), &wire.LaunchersRequest{})
		if err != nil || len(machines.Launchers) != 1 {
			t.Fatalf("launchers %v: %v", machines, err)
		}
		watch, err := b.api.Watch(b.ctx(), &wire.StatusRequest{Job: job})
		if err == nil {
			_, err = watch.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
		logs, err := b.api.Logs(b.ctx(), &wire.LogsRequest{Attempt: 1 << 60})
		if err == nil {
			_, err = logs.Recv()
		}
		if status.Code(err) != codes.NotFound {
			t.Fatalf("logs of an attempt that there is not: %v", err)
		}
		if _, err := b.api.Policy(b.ctx(), &wire.PolicyQuery{}); err != nil {
			t.Fatal(err)
		}
	}
	unknown := func(ids ...uint64) {
		t.Helper()
		for _, id := range ids {
			if _, err := b.api.Status(b.ctx(), &wire.StatusRequest{Job: id}); status.Code(err) != codes.NotFound {
				t.Errorf("of job-%d, which there is not: %v", id, err)
			}
		}
	}
	unknown(0, job+1, job+1000, 1<<63)
	announced, err := b.api.Prepare(b.ctx(), &wire.PrepareRequest{})
	if err != nil {
		t.Fatal(err)
	}
	unknown(0, announced.Job+1, announced.Job+1000)
	if after := b.metric("hamadryad_core_reads_total"); after != before {
		t.Errorf("after all that the core was looked at %d times, before it %d times", after, before)
	}
	unknown(announced.Job)
	if after := b.metric("hamadryad_core_reads_total"); after != before+1 {
		t.Errorf("then the core was looked at %d times, before %d times", after, before)
	}
}
