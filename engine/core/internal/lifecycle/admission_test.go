package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth/access"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/internal/coretest"
	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/lifecycle"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// announce reserves a job's id.
func announce(h *coretest.Core) scheduler.JobID {
	h.Admission.ReserveID(&wire.Prepare{})
	return h.IDs.LastJob()
}

func submit(h *coretest.Core, client uint64, id scheduler.JobID, spec *wire.JobSpec) {
	h.Admission.Submit(&wire.Submit{Client: client, Job: uint64(id), Spec: spec})
}

// said returns the answer to a client in the current step: "" without one, "yes" for success.
func said(h *coretest.Core, client uint64) (text string) {
	for _, r := range h.Replies() {
		if r.Client != client {
			continue
		}
		if text += "yes"; r.Failure != nil {
			text = r.Failure.Kind.String() + ": " + r.Failure.Message
		}
	}
	return text
}

// A refused submission leaves nothing behind, and the client receives the reason.
func TestOfWhatIsRefusedNothingExists(t *testing.T) {
	for _, story := range []struct {
		spoil func(*wire.JobSpec, *coretest.Core)
		says  string
	}{
		{func(s *wire.JobSpec, _ *coretest.Core) { s.Name = "" }, "has no name"},
		{func(s *wire.JobSpec, _ *coretest.Core) { s.Pool = strings.Repeat("x", 1000) }, "the pool has 1000 bytes"},
		{func(s *wire.JobSpec, _ *coretest.Core) { s.Outputs = make([]string, 1001) }, "publishes 1001 folders"},
		{func(s *wire.JobSpec, _ *coretest.Core) { s.Outputs = []string{"x", "x"} }, `folder "x" is empty or named twice`},
		{func(s *wire.JobSpec, _ *coretest.Core) { s.Properties = []*wire.Property{{Name: "b"}, {Name: "a"}} }, "property 1 is out of order"},
		{func(s *wire.JobSpec, _ *coretest.Core) { s.Folders = &wire.JobFolders{Secret: "../x"} }, `"../x", is to have at most 32 letters and digits`},
		{func(s *wire.JobSpec, _ *coretest.Core) { s.Folders = &wire.JobFolders{Owners: make([]string, 17)} }, "belong to 17 users"},
		{func(s *wire.JobSpec, _ *coretest.Core) { s.GraphBlob = "abc" }, "holds a graph and names another"},
		{func(s *wire.JobSpec, _ *coretest.Core) { s.Graph, s.GraphBlob = nil, "abc" }, "the graph abc is not there"},
		{func(s *wire.JobSpec, _ *coretest.Core) { s.Graph.Stages[0].Name = "" }, "stage 0"},
		{func(_ *wire.JobSpec, h *coretest.Core) { h.Step.Set.Kinds = []string{"gpu"} }, `stage "map" needs slots of kind "default", which nobody has`},
		{func(_ *wire.JobSpec, h *coretest.Core) { h.Step.Set.JobsMax = 1 }, "1 jobs run or wait, which is the limit"},
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		h.Job(coretest.Maps(1))
		id, spec := announce(h), coretest.Maps(1)
		told := h.Policy.Events()
		story.spoil(spec, h)
		submit(h, 7, id, spec)
		if text := said(h, 7); !strings.HasPrefix(text, "ERROR_KIND_INVALID: ") || !strings.Contains(text, story.says) {
			t.Errorf("the client is told %q, not %q", text, story.says)
		}
		if h.Cluster.Jobs.Len() != 1 || h.Cluster.Bundles.Len() != 1 || len(h.Cluster.Ended.All()) > 0 || h.Policy.Events() != told || h.Admission.AwaitsSubmission(id) {
			t.Errorf("%s: something is left of it", story.says)
		}
		h.Checked()
	}
}

// A job that needs the policy's admission waits for its verdict. Until then the policy can't
// schedule it. A client that asks again replaces the earlier one. A later request gets the same
// verdict.
func TestThePolicysWord(t *testing.T) {
	for _, admits := range []bool{true, false} {
		h := coretest.New(t)
		h.StartPolicy(scheduler.AbilityAdmission)
		id := announce(h)
		submit(h, 7, id, coretest.Maps(1))
		submit(h, 8, id, coretest.Maps(1))
		if lost := said(h, 7); !strings.Contains(lost, "the submission was made again") || said(h, 8) != "" || h.Cluster.Bundles.Len() > 0 {
			t.Fatalf("the clients are told %q and %q before the policy said anything", lost, said(h, 8))
		}
		if e := h.NotifiedEvents(); len(e) != 1 || e[0].(scheduler.AdmissionAsked).Job.ID != id {
			t.Fatalf("the policy is told %v", e)
		}
		want := "yes"
		if admits {
			if reason, _ := h.Admission.Admit(scheduler.Admit{Job: id}); reason != scheduler.NotRefused {
				t.Fatalf("the policy's word is refused with %v", reason)
			}
		} else {
			want = "ERROR_KIND_INVALID: " + id.String() + " was refused: full"
			if reason, _ := h.Admission.Refuse(scheduler.Refuse{Job: id, Reason: "full"}); reason != scheduler.NotRefused {
				t.Fatalf("the policy's word is refused with %v", reason)
			}
		}
		submit(h, 9, id, coretest.Maps(1))
		if a, b := said(h, 8), said(h, 9); a != want || b != want {
			t.Errorf("the clients are told %q and %q, not %q", a, b, want)
		}
		if e := h.NotifiedEvents(); admits && (len(e) != 2 || e[0].(scheduler.JobSubmitted).Job.ID != id) || !admits && len(e) > 0 {
			t.Errorf("admitted: %t, the policy is told %v", admits, e)
		}
		if there := h.Cluster.Jobs.Len() == 1; there != admits || (h.Cluster.Bundles.Len() == 1) != admits {
			t.Errorf("admitted: %t, it is there: %t", admits, there)
		}
		if j := h.Cluster.Jobs.Get(id); j != nil && j.Submission.Client() != 0 {
			t.Errorf("client %d is to be answered once more", j.Submission.Client())
		}
		again, _ := h.Admission.Admit(scheduler.Admit{Job: id})
		refusal, _ := h.Admission.Refuse(scheduler.Refuse{Job: id})
		if want := map[bool]scheduler.RefusalReason{true: scheduler.NotAsked, false: scheduler.UnknownID}[admits]; again != want || refusal != want {
			t.Errorf("a second word is refused with %v and %v", again, refusal)
		}
		h.Checked()
	}
}

// Admission without a deciding policy depends on what is known of the policy. One that never wanted
// a say is not waited for. One that wants a say and is down does not count as a yes.
func TestWithoutAPolicy(t *testing.T) {
	advises := scheduler.AbilityAdmission | scheduler.AbilityAdvisoryAdmission
	const waits, in, refused = "", "yes", "ERROR_KIND_INVALID: job-1 was refused: the policy that admits jobs is down: try again later"
	for _, story := range []struct {
		name        string
		was         func(*coretest.Core) // the policy before it failed
		without     bool                 // AdmitWithoutPolicy
		first, then string               // the client's answer at once, and after a long time without a verdict
	}{
		{"none was ever there", func(*coretest.Core) {}, false, waits, in},
		{"one that does not admit", func(h *coretest.Core) { h.StartPolicy(0); h.Rounds.Failed(1, "gone") }, false, in, in},
		{"one that admits", func(h *coretest.Core) { h.StartPolicy(scheduler.AbilityAdmission); h.Rounds.Failed(1, "gone") }, false, refused, refused},
		{"one that admits and need not", func(h *coretest.Core) { h.StartPolicy(scheduler.AbilityAdmission); h.Rounds.Failed(1, "gone") }, true, in, in},
		{
			"one that was asked and is gone", func(h *coretest.Core) { h.StartPolicy(scheduler.AbilityAdmission) }, true, waits, in,
		},
		{"one that admits, the fallback decides", func(h *coretest.Core) {
			h.StartPolicy(scheduler.AbilityAdmission)
			h.Rounds.Failed(1, "gone")
			h.StartFallback()
		}, false, refused, refused},
		{"one that admits and need not, the fallback decides", func(h *coretest.Core) {
			h.StartPolicy(scheduler.AbilityAdmission)
			h.Rounds.Failed(1, "gone")
			h.StartFallback()
		}, true, in, in},
		{"one that does not admit, the fallback decides", func(h *coretest.Core) {
			h.StartPolicy(0)
			h.Rounds.Failed(1, "gone")
			h.StartFallback()
		}, false, in, in},
		{"one that advises", func(h *coretest.Core) { h.StartPolicy(advises); h.Rounds.Failed(1, "gone") }, false, in, in},
		{"one that advises, another stands in", func(h *coretest.Core) {
			h.StartPolicy(advises)
			h.Rounds.Failed(1, "gone")
			h.StartFallback()
		}, false, in, in},
		{"one that advises, was asked and is gone", func(h *coretest.Core) { h.StartPolicy(advises) }, false, waits, in},
		{"one that advises, of the manager's life before", func(h *coretest.Core) { h.StartPolicy(advises); h.Policy.Forget() }, false, waits, in},
		{"one that advises, and is silent", func(h *coretest.Core) { h.StartPolicy(advises) }, false, waits, in},
		{
			"one that admits, of the manager's life before", func(h *coretest.Core) {
				h.StartPolicy(scheduler.AbilityAdmission)
				h.Policy.Forget()
			}, false, waits, "ERROR_KIND_INVALID: job-1 was refused: the policy did not admit it within 10s: try again later",
		},
		{
			"one that is silent", func(h *coretest.Core) { h.StartPolicy(scheduler.AbilityAdmission) }, true, waits,
			"ERROR_KIND_INVALID: job-1 was refused: the policy did not admit it within 10s: try again later",
		},
	} {
		h := coretest.New(t)
		h.Step.Set.AdmitWithoutPolicy = story.without
		story.was(h)
		id := announce(h)
		submit(h, 7, id, coretest.Maps(1))
		first := said(h, 7)
		if strings.HasSuffix(story.name, "was asked and is gone") {
			h.Rounds.Failed(1, "gone")
		}
		h.Step.Now = h.Step.Now.Add(h.Step.Set.AdmissionMax) // and still the same step
		if due := h.Due(step.TimerAdmission, uint64(id)); due != (first == waits) {
			t.Errorf("%s: somebody looks how long it waits: %t", story.name, due)
		}
		h.Admission.AdmissionExpired(id)
		if then := said(h, 7); first != story.first || then != story.then {
			t.Errorf("%s: the client is told %q, and then %q", story.name, first, then)
		}
		if there := h.Cluster.Jobs.Len() == 1; there != (story.then == in) {
			t.Errorf("%s: it is there: %t", story.name, there)
		}
		h.Checked()
	}
}

// A policy that takes over is asked about all waiting jobs. If it has no say, they are admitted.
func TestAPolicyTakesOver(t *testing.T) {
	for _, a := range []scheduler.Ability{0, scheduler.AbilityAdmission} {
		h := coretest.New(t)
		x := announce(h)
		submit(h, 7, x, coretest.Maps(1))
		h.StartPolicy(a)
		if in := h.Cluster.Jobs.Get(x).Phase() == state.JobRunning; in != (a == 0) || in != (said(h, 7) == "yes") {
			t.Errorf("with abilities %v it is in: %t, and the client is told %q", a, in, said(h, 7))
		}
		asked := 0
		for _, e := range h.NotifiedEvents() {
			if _, is := e.(scheduler.AdmissionAsked); is {
				asked++
			}
		}
		if want := map[bool]int{true: 0, false: 1}[a == 0]; asked != want {
			t.Errorf("with abilities %v it is asked %d times", a, asked)
		}
	}
}

// Jobs that wait for a failed policy's verdict are not admitted by the fallback. They wait for the
// next policy with admission.
func TestTheFallbackLetsNobodyIn(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(scheduler.AbilityAdmission)
	x := announce(h)
	submit(h, 7, x, coretest.Maps(1))
	h.Rounds.Failed(1, "gone")
	h.StartFallback()
	if j := h.Cluster.Jobs.Get(x); j == nil || j.Phase() != state.JobPendingAdmission || said(h, 7) != "" {
		t.Fatalf("with the fallback the job is %+v, and its client is told %q", j, said(h, 7))
	}
	h.StartPolicy(scheduler.AbilityAdmission)
	if e := h.NotifiedEvents(); len(e) != 1 || e[0].(scheduler.AdmissionAsked).Job.ID != x {
		t.Errorf("the policy that is back is told %v", e)
	}
	h.Checked()
}

// A job that was accepted and waited for others is not refused because the policy that admits jobs
// is down: it waits for that policy, and then for its verdict as long as any job.
func TestAnAcceptedJobWaitsForThePolicy(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(scheduler.AbilityAdmission)
	first, x := announce(h), announce(h)
	submit(h, 7, first, coretest.Maps(1))
	spec := coretest.Maps(1)
	spec.After = []*wire.JobDependency{{Job: uint64(first), Any: true}}
	submit(h, 8, x, spec)
	j := h.Cluster.Jobs.Get(x)
	if j == nil || j.Phase() != state.JobWaiting || said(h, 8) != "yes" {
		t.Fatalf("the job is %+v, and its client is told %q", j, said(h, 8))
	}
	h.Rounds.Failed(1, "gone")
	h.Admission.KillJob(&wire.KillJob{Client: 9, Job: uint64(first)})
	h.Admission.EndWait(j)
	for range 3 {
		h.Later(h.Step.Set.AdmissionMax)
		if !h.Due(step.TimerAdmission, uint64(x)) {
			t.Fatal("no timer ends its wait for the policy")
		}
		h.Admission.AdmissionExpired(x)
	}
	if h.Cluster.Jobs.Get(x) == nil || j.Phase() != state.JobPendingAdmission {
		t.Fatalf("without the policy the job is %+v", j)
	}
	h.StartPolicy(scheduler.AbilityAdmission)
	if e := h.NotifiedEvents(); len(e) != 1 || e[0].(scheduler.AdmissionAsked).Job.ID != x {
		t.Errorf("the policy that is back is told %v", e)
	}
	h.Admission.AdmissionExpired(x)
	if h.Cluster.Jobs.Get(x) == nil {
		t.Error("it was refused before the policy had its time")
	}
	h.Later(h.Step.Set.AdmissionMax)
	h.Admission.AdmissionExpired(x)
	if e := h.Cluster.Ended.Get(x); e == nil || e.Status.Failure == nil {
		t.Error("a policy that never answers holds it for ever")
	}
	h.Checked()
}

// Under a policy with an authenticator no client submits without a proof, even while another policy
// decides.
func TestNobodyUnprovenSubmitsPastAGate(t *testing.T) {
	const refused = `ERROR_KIND_INVALID: job-1 "maps": the site's policy lets nobody submit without a proof of who it is: try again`
	for _, story := range []struct {
		name  string
		was   func(*coretest.Core)
		proof string
		want  string
	}{
		{"unproven", func(*coretest.Core) {}, scheduler.Unproven, refused},
		{"nothing", func(*coretest.Core) {}, "", refused},
		{"proved", func(*coretest.Core) {}, "hmac-sha256", "yes"},
		{"unproven, while the fallback decides", func(h *coretest.Core) { h.Rounds.Failed(1, "gone"); h.StartFallback() }, scheduler.Unproven, refused},
		{"unproven, in the next life", func(h *coretest.Core) { h.Policy.Forget() }, scheduler.Unproven, refused},
		{"unproven, under a policy without one", func(h *coretest.Core) { h.StartPolicy(0) }, scheduler.Unproven, "yes"},
	} {
		h := coretest.New(t)
		h.StartPolicy(scheduler.AbilityAuthenticator)
		story.was(h)
		spec := coretest.Maps(1)
		spec.Principal = &wire.Principal{Name: "u", Proof: story.proof}
		id := announce(h)
		submit(h, 7, id, spec)
		if got := said(h, 7); got != story.want {
			t.Errorf("%s: the client is told %q", story.name, got)
		}
		h.Checked()
	}
}

// A job fails after a while if a bundle would not fit even into all launchers, empty. A launcher
// that joins in time can prevent that. Without launchers nothing is decided.
func TestTooLargeAJob(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	j := h.Job(coretest.Gang(3))
	if j.Waits.Unplaceable() != 0 {
		t.Error("an empty cluster counts as too small")
	}
	h.Launcher("a", 2)
	h.Admission.CheckPlaceable()
	h.Later(h.Step.Set.UnplaceableAfter - 1)
	h.Admission.UnplaceableTooLong(j.ID)
	if j.Waits.Unplaceable() == 0 || j.Ends() {
		t.Fatalf("it can't be placed since %d, and ends: %t", j.Waits.Unplaceable(), j.Ends())
	}
	h.Launcher("b", 1)
	h.Admission.CheckPlaceable()
	h.Later(time.Hour)
	h.Admission.UnplaceableTooLong(j.ID)
	if j.Waits.Unplaceable() != 0 || j.Ends() {
		t.Fatalf("with room it can't be placed since %d, and ends: %t", j.Waits.Unplaceable(), j.Ends())
	}
	k := h.Job(coretest.Gang(4))
	h.Later(h.Step.Set.UnplaceableAfter)
	h.Admission.UnplaceableTooLong(k.ID)
	want := `stage "a": a bundle needs 4 groups of 1 default slots and 256 MiB of memory at once, and all 2 launchers, were they empty, have room for 3 (3 default slots): ask for less`
	if k.End.Outcome() != scheduler.JobFailed || !strings.HasPrefix(k.End.Failure().GetMessage(), want) {
		t.Errorf("it is %v: %q", k.End.Outcome(), k.End.Failure().GetMessage())
	}
	h.Checked()
}

// An id is good for one submission, for a limited time, and until it is killed. An unknown id that
// an earlier life may have given is reported as lost.
func TestIDs(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	for _, story := range []struct {
		before func() scheduler.JobID
		says   string
	}{
		{func() scheduler.JobID { return 99 }, "ERROR_KIND_INVALID: job-99 was not announced, or too long ago"},
		{func() scheduler.JobID {
			id := announce(h)
			h.Admission.KillJob(&wire.KillJob{Client: 6, Job: uint64(id)})
			return id
		}, "ERROR_KIND_INVALID: job-1 was not announced, or too long ago"},
		{func() scheduler.JobID {
			id := announce(h)
			h.Later(h.Step.Set.PreparedFor)
			h.Admission.ExpireReservedIDs()
			return id
		}, "ERROR_KIND_INVALID: job-2 was not announced, or too long ago"},
		{func() scheduler.JobID {
			h.IDs.BeginLife(ids.Start{Now: h.Step.Now, Age: time.Hour})
			return 1000
		}, "ERROR_KIND_LOST: the manager knows nothing of job-1000. Its number lies where the manager went on after it was killed: most numbers there were never given. If it was submitted, the event log lost the records of it"},
		{func() scheduler.JobID {
			id := announce(h)
			h.Admission.UpdateJob(&wire.UpdateJob{Client: 5, Job: uint64(id)})
			return id
		}, "yes"},
	} {
		submit(h, 7, story.before(), coretest.Maps(1))
		if text := said(h, 7); !strings.HasPrefix(text, story.says) {
			t.Errorf("the client is told %q, not %q", text, story.says)
		}
		h.Later(time.Second)
	}
}

// An id announced in this life of the manager is not lost. In the next life, a request about it
// learns that the log lost it.
func TestAnAnnouncementOfAnEarlierLife(t *testing.T) {
	h := coretest.New(t)
	h.IDs.BeginLife(ids.Start{Now: h.Step.Now})
	h.Later(time.Second)
	id := announce(h)
	before := h.Admission.Lost(id)
	h.Later(time.Second)
	h.IDs.BeginLife(ids.Start{Now: h.Step.Now, Age: time.Hour})
	if after := h.Admission.Lost(id); before != nil || after.GetKind() != wire.ErrorKind_ERROR_KIND_LOST {
		t.Errorf("in its life it is %v, and then %v", before, after)
	}
}

// Announced ids without a submission are bounded, also over a long time.
func TestHowManyAreAnnounced(t *testing.T) {
	h := coretest.New(t)
	h.Step.Set.PreparedMax = 3
	h.IDs.BeginLife(ids.Start{Now: h.Step.Now})
	for range 5 {
		h.Admission.ReserveID(&wire.Prepare{Client: 7})
	}
	if text := said(h, 7); h.Cluster.ReservedIDs.Len() != 3 || !strings.Contains(text, "3 jobs were announced and not submitted, which is the limit") {
		t.Errorf("%d are announced, and the client is told %q", h.Cluster.ReservedIDs.Len(), text)
	}
	for range 20_000 {
		h.Cluster.ReservedIDs = state.ReservedIDs{} // as if they were submitted
		h.Admission.ReserveID(&wire.Prepare{})
	}
	h.Later(time.Millisecond)
	h.Admission.ReserveID(&wire.Prepare{Client: 7})
	if text := said(h, 7); h.IDs.LastJob() != 10_000 || !strings.Contains(text, "more than 500 jobs a second were announced") {
		t.Errorf("%d are announced, and the client is told %q", h.IDs.LastJob(), text)
	}
}

// A user who announces jobs without submitting them does not block other users.
func TestOneUserAnnouncesOnlySoMany(t *testing.T) {
	h := coretest.New(t)
	h.Step.Set.PreparedMax, h.Step.Set.PreparedUserMax = 10, 4
	h.IDs.BeginLife(ids.Start{Now: h.Step.Now})
	prepare := func(client uint64, user string) {
		h.Admission.ReserveID(&wire.Prepare{Client: client, Principal: &wire.Principal{Name: user}})
	}
	for range 9 {
		prepare(7, "flood")
	}
	if text := said(h, 7); h.Cluster.ReservedIDs.Len() != 4 || !strings.Contains(text, `4 jobs were announced by user "flood" and not submitted`) {
		t.Errorf("%d are announced, and the client is told %q", h.Cluster.ReservedIDs.Len(), text)
	}
	prepare(8, "ann")
	if h.Cluster.ReservedIDs.Len() != 5 {
		t.Errorf("another user can't announce a job: %q", said(h, 8))
	}
}

// A person moves a job to another pool, and kills it. A policy learns of that only once the job is
// admitted.
func TestAPersonChangesAJob(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(scheduler.AbilityAdmission)
	id, pool, high := announce(h), "night", int32(2)
	submit(h, 7, id, coretest.Maps(1))
	ann := &wire.Principal{Name: "ann"}
	move := func() []scheduler.Event {
		h.NotifiedEvents()
		h.Admission.UpdateJob(&wire.UpdateJob{Client: 8, Job: uint64(id), Principal: ann, Pool: &pool, Priority: &high})
		if text := said(h, 8); text != "yes" {
			t.Errorf("the client is told %q", text)
		}
		return h.NotifiedEvents()
	}
	if e := move(); len(e) > 0 {
		t.Errorf("the policy is told %v of a job that is not in", e)
	}
	h.Admission.Admit(scheduler.Admit{Job: id})
	if e := move(); len(e) != 1 || e[0].(scheduler.JobUpdated).Pool != pool || e[0].(scheduler.JobUpdated).Priority != 2 {
		t.Errorf("the policy is told %v", e)
	}
	j := h.Cluster.Jobs.Get(id)
	for range 2 {
		h.Later(time.Second)
		h.Admission.KillJob(&wire.KillJob{Client: 9, Job: uint64(id), Principal: ann, Reason: "wrong"})
		if text, over := said(h, 9), "ERROR_KIND_INVALID: job-1 has ended"; text != "yes" && text != over {
			t.Errorf("the client is told %q", text)
		}
	}
	if n := j.Notes.List(); said(h, 9) == "yes" || j.End.Outcome() != scheduler.JobKilled || n[len(n)-1] != "killed by ann: wrong" || n[0] != `moved to pool "night" by ann` {
		t.Errorf("it is %v, with the notes %q", j.End.Outcome(), n)
	}
	h.Checked()
}

// A draft made beside the core becomes the job, unless the settings or the step have changed.
func TestADraftIsTheJob(t *testing.T) {
	for name, story := range map[string]struct {
		change func(*coretest.Core)
		taken  bool // expected to be used
		used   bool
	}{
		"the same":     {func(*coretest.Core) {}, true, true},
		"other memory": {func(h *coretest.Core) { h.Step.Set.MemoryDefault *= 2 }, false, false},
		"other bounds": {func(h *coretest.Core) { h.Step.Set.Graph.Stages-- }, false, false},
		"other kinds":  {func(h *coretest.Core) { h.Step.Set.Kinds = []string{scheduler.DefaultKind} }, false, false},
		"too late":     {func(*coretest.Core) {}, true, false},
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		spec := coretest.Maps(2)
		d := lifecycle.NewDraft(h.Step.Set, spec, nil)
		story.change(h)
		if taken := h.Admission.Expect(d); taken != story.taken {
			t.Errorf("%s: it is taken: %t", name, taken)
		}
		if name == "too late" {
			h.Admission.DropExpected()
		}
		spec.Graph.Stages[0].Nodes = 5 // shows whether the graph was read again
		j := h.Job(spec)
		if want := map[bool]int{true: 2, false: 5}[story.used]; len(j.Bundles) != want || j.Bundles[0].Request(0).Memory != h.Step.Set.MemoryDefault {
			t.Errorf("%s: it has %d bundles, not %d, of %d bytes", name, len(j.Bundles), want, j.Bundles[0].Request(0).Memory)
		}
		h.Checked()
	}
}

// Whatever the order of requests, and whether or not the policy answers: each request is answered
// once in the end, and all requests about an admitted job get a yes.
func TestEachRequestIsAnsweredOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := coretest.New(r)
		h.StartPolicy(scheduler.AbilityAdmission)
		answers := map[uint64]int{}
		asked, in := uint64(0), map[scheduler.JobID]bool{}
		for range rapid.IntRange(1, 30).Draw(r, "moves") {
			id := scheduler.JobID(rapid.IntRange(1, 3).Draw(r, "job"))
			switch rapid.IntRange(0, 6).Draw(r, "move") {
			case 0, 1:
				asked++
				h.Admission.ReserveID(&wire.Prepare{Client: asked})
			case 2, 3:
				asked++
				submit(h, asked, id, coretest.Maps(1))
			case 4:
				asked++
				h.Admission.KillJob(&wire.KillJob{Client: asked, Job: uint64(id)})
			case 5:
				if reason, _ := h.Admission.Admit(scheduler.Admit{Job: id}); reason == scheduler.NotRefused {
					in[id] = true
				}
			case 6:
				h.Admission.Refuse(scheduler.Refuse{Job: id})
			}
			count(h, r, answers, in)
		}
		for id := range h.IDs.LastJob() {
			h.Admission.AdmissionExpired(id + 1)
		}
		count(h, r, answers, in)
		for client := range asked {
			if n := answers[client+1]; n != 1 {
				r.Errorf("request %d is answered %d times", client+1, n)
			}
		}
	})
}

// count counts the answers of the step, and begins the next step.
func count(h *coretest.Core, r *rapid.T, answers map[uint64]int, in map[scheduler.JobID]bool) {
	for _, reply := range h.Replies() {
		answers[reply.Client]++
		if in[reply.Job] && strings.Contains(reply.Failure.GetMessage(), "was refused") {
			r.Errorf("client %d is told that %v was refused, which is in", reply.Client, reply.Job)
		}
	}
	h.Checked()
	h.Later(time.Millisecond)
}

// A site that declares only slots of kinds map and reduce takes stock MapReduce jobs, whose stages
// prefer these kinds, even before a launcher has them. It refuses a job that asks for other kinds.
func TestSitesWithMapAndReduceSlotsAlone(t *testing.T) {
	h := coretest.New(t)
	h.Step.Set.Kinds = []string{"map", "reduce"}
	spec := coretest.MapReduce(2, 1)
	spec.Graph.Stages[0].PreferKind, spec.Graph.Stages[1].PreferKind = "map", "reduce"
	id := announce(h)
	submit(h, 7, id, spec)
	j := h.Cluster.Jobs.Get(id)
	if j == nil {
		t.Fatalf("it is refused: %s", said(h, 7))
	}
	if j.Stages[0].Kind() != "map" || j.Stages[1].Kind() != "reduce" {
		t.Errorf("its stages take slots of kinds %q and %q", j.Stages[0].Kind(), j.Stages[1].Kind())
	}
	other := coretest.Maps(1)
	other.Graph.Stages[0].PreferKind = "gpu"
	submit(h, 8, announce(h), other)
	if text := said(h, 8); !strings.Contains(text, `needs slots of kind "default", which nobody has`) {
		t.Errorf("of a stage that may take none of the site's: %q", text)
	}
}

// CheckSubmission predicts the core's decision, and changes nothing.
func TestCheckSubmissionIsWhatSubmitDecides(t *testing.T) {
	for name, change := range map[string]func(*coretest.Core, *wire.JobSpec){
		"sound":      func(*coretest.Core, *wire.JobSpec) {},
		"no name":    func(_ *coretest.Core, spec *wire.JobSpec) { spec.Name = "" },
		"output":     func(_ *coretest.Core, spec *wire.JobSpec) { spec.Outputs = []string{"/out", "/out"} },
		"may not":    func(h *coretest.Core, _ *wire.JobSpec) { h.Step.Set.Access = &access.Rules{} },
		"not proved": func(h *coretest.Core, _ *wire.JobSpec) { h.StartPolicy(scheduler.AbilityAuthenticator) },
		"two reasons": func(h *coretest.Core, spec *wire.JobSpec) {
			spec.Name = ""
			h.StartPolicy(scheduler.AbilityAuthenticator)
		},
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		h.Admission.ReserveID(&wire.Prepare{Client: 1})
		id, spec := h.IDs.LastJob(), coretest.Maps(1)
		change(h, spec)
		before := h.Admission.CheckSubmission(id, spec)
		want := "yes"
		if before != nil {
			want = before.Kind.String() + ": " + before.Message
		}
		h.Admission.Submit(&wire.Submit{Client: 7, Job: uint64(id), Spec: spec})
		if got := said(h, 7); got != want || (name == "sound") != (before == nil) {
			t.Errorf("%s: the core says %q, and said %q beforehand", name, got, want)
		}
	}
}

// A user has at most as many live jobs as its limit says. A new limit counts from the next
// submission on, and an exception replaces the limit of all users.
func TestUsersHaveAtMostSoManyJobs(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	submitted := func(user string) (scheduler.JobID, string) {
		id, spec := announce(h), coretest.Maps(1)
		spec.Principal = &wire.Principal{Name: user}
		submit(h, 7, id, spec)
		text := said(h, 7)
		h.Later(time.Second)
		return id, text
	}
	want := func(user, want string) scheduler.JobID {
		t.Helper()
		id, text := submitted(user)
		if text != want && (want == "" || !strings.Contains(text, want)) {
			t.Errorf("%s is told %q, not %q", user, text, want)
		}
		return id
	}
	h.Step.Set.UserLimits = step.UserLimits{Each: step.UserLimit{Jobs: 2}, Users: map[string]step.UserLimit{"bob": {Jobs: 1}, "eve": {}}}
	first := want("ann", "yes")
	want("ann", "yes")
	want("ann", `user "ann" has 2 jobs that run or wait, and may have 2 (core.userLimits): wait until one has ended`)
	want("bob", "yes")
	want("bob", `user "bob" has 1 jobs`)
	for range 4 {
		want("eve", "yes")
	}
	h.Admission.KillJob(&wire.KillJob{Client: 9, Job: uint64(first), Principal: &wire.Principal{Name: "ann"}})
	h.Checked()
	for range 100 {
		if h.Cluster.Jobs.Get(first) == nil {
			break
		}
		h.Later(time.Second)
		h.Jobs.Continue(h.Cluster.Jobs.Get(first))
	}
	want("ann", "yes")
	h.Step.Set.UserLimits = step.UserLimits{}
	h.Cluster.ApplyUserLimits()
	want("ann", "yes")
	h.Checked()
}
