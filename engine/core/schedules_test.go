package core_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// planned is a core with schedules. It keeps the batches of its steps, so that a test can replay them.
type planned struct {
	t       *testing.T
	core    *core.Core
	now     time.Duration
	client  uint64
	batches []*wire.Batch
	last    core.Reply
	told    map[uint64]*wire.Schedule // what the actions told
}

func newPlanned(t *testing.T, set core.Settings) *planned {
	p := &planned{t: t, core: core.New(set), now: time.Hour, told: map[uint64]*wire.Schedule{}}
	p.step(wire.NewInput(&wire.ManagerStart{Term: 1}))
	p.step(wire.NewInput(&wire.PolicyStart{Generation: 1, Policy: "p"}))
	p.step(wire.NewPolicyStarted(1, scheduler.Description{Name: "p"}))
	return p
}

// step gives the core inputs, and keeps the last reply.
func (p *planned) step(in ...*wire.Input) {
	p.t.Helper()
	p.now += time.Millisecond
	b := &wire.Batch{At: int64(p.now), Inputs: in}
	p.batches = append(p.batches, b)
	p.last = core.Reply{}
	for _, a := range p.core.Step(b) {
		switch a := a.(type) {
		case core.Reply:
			p.last = a
		case core.SchedulesChanged:
			for _, s := range a.Schedules {
				p.told[s.Id] = s
			}
			for _, id := range a.Removed {
				delete(p.told, id)
			}
		}
	}
	if err := p.core.Check(); err != nil {
		p.t.Fatal(err)
	}
}

// pass lets time pass, with ticks when the core wants them.
func (p *planned) pass(d time.Duration) {
	end := p.now + d
	for {
		wake, ok := p.core.NextWake()
		if !ok || time.Duration(wake) > end {
			break
		}
		p.now = max(p.now, time.Duration(wake))
		p.step(wire.Tick())
	}
	p.now = max(p.now, end)
}

func byUser(user string) *wire.Principal { return &wire.Principal{Name: user} }

func (p *planned) add(user, name string, how wire.IfRunning) string {
	p.client++
	p.step(wire.NewInput(&wire.AddSchedule{Client: p.client, Principal: byUser(user), Name: name, Definition: &wire.ScheduleDefinition{
		Cron: "* * * * *", Zone: "UTC", IfRunning: how, StartDeadlineNs: int64(10 * time.Minute), Command: []string{"run"}, Folder: "/",
	}}))
	return p.last.Failure.GetMessage()
}

func (p *planned) change(user, name string, act wire.ScheduleAct) string {
	p.client++
	p.step(wire.NewInput(&wire.ChangeSchedule{Client: p.client, Principal: byUser(user), Name: name, Act: act}))
	return p.last.Failure.GetMessage()
}

func (p *planned) replace(user, name, cron string) string {
	p.client++
	p.step(wire.NewInput(&wire.AddSchedule{Client: p.client, Principal: byUser(user), Name: name, Replace: true, Definition: &wire.ScheduleDefinition{
		Cron: cron, Zone: "UTC", StartDeadlineNs: int64(10 * time.Minute), Command: []string{"run"}, Folder: "/",
	}}))
	return p.last.Failure.GetMessage()
}

func (p *planned) due(id uint64, at time.Duration) {
	p.step(wire.NewInput(&wire.ScheduleDue{Schedule: id, Due: int64(at)}))
}

func (p *planned) take(user, runner string, held ...*wire.RunKey) *wire.RunKey {
	p.client++
	p.step(wire.NewInput(&wire.TakeRun{Client: p.client, Principal: byUser(user), Runner: runner, Held: held}))
	return p.last.Run.GetKey()
}

func (p *planned) end(user string, key *wire.RunKey, succeeded bool) string {
	p.client++
	p.step(wire.NewInput(&wire.EndRun{Client: p.client, Principal: byUser(user), Key: key, Succeeded: succeeded}))
	return p.last.Failure.GetMessage()
}

// submit submits a job of a run, and returns its number or why it was refused.
func (p *planned) submit(user string, key *wire.RunKey) (uint64, string) {
	p.client++
	p.step(wire.NewInput(&wire.Prepare{Client: p.client, Principal: byUser(user)}))
	id := uint64(p.last.Job)
	return id, p.submitAs(user, id, key)
}

func (p *planned) submitAs(user string, id uint64, key *wire.RunKey) string {
	p.client++
	p.step(wire.NewInput(&wire.Submit{Client: p.client, Job: id, Spec: &wire.JobSpec{
		Name: "job", Principal: byUser(user), Run: key, Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "work", Nodes: 1, Slots: 1}}}, Fingerprint: []byte("f"),
	}}))
	return p.last.Failure.GetMessage()
}

func (p *planned) kill(id uint64) {
	p.client++
	p.step(wire.NewInput(&wire.KillJob{Client: p.client, Job: id, Principal: byUser("root")}))
	p.step(wire.Tick())
}

// runs describes the runs of a schedule as it was told.
func (p *planned) runs(id uint64) string {
	var list []string
	for _, r := range p.told[id].GetRuns() {
		list = append(list, fmt.Sprintf("%d %s/%d", r.Number, wire.RunStateName(r.State), len(r.Jobs)))
	}
	return strings.Join(list, ", ")
}

// submittedBy fails unless a job's status, and that of a restored core, name the run that submitted it.
func (p *planned) submittedBy(job uint64, want string) {
	p.t.Helper()
	restored, err := core.Restore(p.core.Checkpoint())
	if err != nil {
		p.t.Fatal(err)
	}
	for _, c := range []*core.Core{p.core, restored} {
		for _, attempts := range []bool{false, true} {
			s, _ := c.JobStatus(scheduler.JobID(job), attempts)
			r := s.GetRun()
			p.want("submitted by", fmt.Sprintf("run %d of %s, start %d", r.GetRun(), r.GetName(), r.GetTry()), want)
		}
	}
}

func (p *planned) want(what, got, want string) {
	p.t.Helper()
	if got != want {
		p.t.Errorf("%s: %q, is to be %q", what, got, want)
	}
}

func (p *planned) wantPart(what, got, want string) {
	p.t.Helper()
	if want == "" && got != "" || !strings.Contains(got, want) {
		p.t.Errorf("%s: %q, is to have %q", what, got, want)
	}
}

// replayed fails unless a replay of all batches, and a restored checkpoint, give the same state.
func (p *planned) replayed(set core.Settings) {
	p.t.Helper()
	again := core.New(set)
	for _, b := range p.batches {
		again.Step(b)
	}
	frozen := p.core.Freeze()
	now := p.core.Checkpoint()
	restored, err := core.Restore(now)
	if err != nil {
		p.t.Fatal(err)
	}
	var written bytes.Buffer
	if err := frozen.Write(&written); err != nil {
		p.t.Fatal(err)
	}
	if !bytes.Equal(again.Checkpoint(), now) || !bytes.Equal(restored.Checkpoint(), now) || !bytes.Equal(written.Bytes(), now) {
		p.t.Error("a replay, a restored checkpoint or a frozen state differs from the state")
	}
	if err := restored.Check(); err != nil {
		p.t.Error(err)
	}
	if told := p.core.Schedules(); len(told) != len(p.told) {
		p.t.Errorf("%d schedules were told, and there are %d", len(p.told), len(told))
	}
}

// A due time makes one run. Its command may be started again, and one start submits.
func TestADueTimeGetsTheJobsOfOneStart(t *testing.T) {
	set := core.DefaultSettings()
	p := newPlanned(t, set)
	p.want("add", p.add("ann", "nightly", wire.IfRunning_IF_RUNNING_SKIP), "")
	p.wantPart("add again", p.add("ann", "nightly", 0), "there is a schedule")
	p.want("add another's", p.add("bob", "nightly", 0), "")
	due := p.now
	p.due(1, due)
	p.due(1, due) // as after a restart of the shell
	p.due(1, due+time.Hour)
	p.want("runs", p.runs(1), "1 waiting/0")
	if p.take("bob", "b") != nil {
		t.Error("bob's runner has a run of ann")
	}
	first := p.take("ann", "r1")
	if first == nil || p.take("ann", "r2") != nil {
		t.Fatal("a run was not taken once")
	}
	// The manager and the runner are lost between the claim and the submission.
	p.step(wire.NewInput(&wire.ManagerStart{Term: 2}))
	p.pass(set.Schedules.Lease - time.Second)
	p.want("runs", p.runs(1), "1 running/0")
	p.pass(2 * time.Second)
	p.want("runs", p.runs(1), "1 waiting/0")
	second := p.take("ann", "r2")
	if second == nil || second.Try != 2 {
		t.Fatalf("the second try is %v", second)
	}
	// Both commands go on. One of them is the first to submit.
	_, why := p.submit("bob", first)
	p.wantPart("bob submits", why, "has no schedule with the number 1")
	job, why := p.submit("ann", first)
	p.want("the first start submits", why, "")
	p.submitAs("ann", job, first) // its answer was lost
	p.submittedBy(job, "run 1 of nightly, start 1")
	_, why = p.submit("ann", second)
	p.wantPart("the second start submits", why, fmt.Sprintf("has submitted job-%d by another start", job))
	p.want("the second start fails", p.end("ann", second, false), "")
	p.want("runs", p.runs(1), "1 running/1")
	more, why := p.submit("ann", first) // a pipeline
	p.want("its next job", why, "")
	p.want("the first start ends", p.end("ann", first, true), "")
	p.want("it says so again", p.end("ann", first, true), "")
	p.want("runs", p.runs(1), "1 succeeded/2")
	_, why = p.submit("ann", first)
	p.wantPart("a late job", why, "has ended, it succeeded")

	// A run whose jobs live counts as one that goes on.
	p.due(1, p.now)
	p.want("runs", p.runs(1), "1 succeeded/2")
	p.kill(job)
	p.submittedBy(job, "run 1 of nightly, start 1")
	p.kill(more)
	p.due(1, p.now)
	p.want("runs", p.runs(1), "1 succeeded/2, 2 waiting/0")
	p.pass(11 * time.Minute)
	p.want("runs", p.runs(1), "1 succeeded/2, 2 missed/0")
	if s := p.told[1]; s.Skipped != 1 || s.Missed != 0 {
		t.Errorf("%d skipped, %d missed", s.Skipped, s.Missed)
	}
	p.replayed(set)
}

// What was due while no manager ran is missed when its start deadline is over.
func TestMissedDueTimes(t *testing.T) {
	set := core.DefaultSettings()
	p := newPlanned(t, set)
	p.add("ann", "a", 0)
	from := p.now
	p.now += 24 * time.Hour
	p.step(wire.NewInput(&wire.ScheduleDue{Schedule: 1, Due: int64(from + time.Hour), Passed: 3}))
	p.want("runs", p.runs(1), "")
	p.step(wire.NewInput(&wire.ScheduleDue{Schedule: 1, Due: int64(p.now - 9*time.Minute), Passed: 20}))
	p.want("runs", p.runs(1), "1 waiting/0")
	if s := p.told[1]; s.Missed != 24 {
		t.Errorf("%d missed", s.Missed)
	}
	p.pass(2 * time.Minute)
	p.want("runs", p.runs(1), "1 missed/0")
	p.want("pause", p.change("ann", "a", wire.ScheduleAct_SCHEDULE_ACT_PAUSE), "")
	p.due(1, p.now)
	p.want("runs", p.runs(1), "1 missed/0")
	p.want("run", p.change("ann", "a", wire.ScheduleAct_SCHEDULE_ACT_RUN), "")
	p.wantPart("run again", p.change("ann", "a", wire.ScheduleAct_SCHEDULE_ACT_RUN), "run 2 has not ended")
	paused := p.now
	p.pass(time.Minute)
	p.want("resume", p.change("ann", "a", wire.ScheduleAct_SCHEDULE_ACT_RESUME), "")
	p.due(1, paused+time.Second)
	p.want("runs", p.runs(1), "1 missed/0, 2 waiting/0")
	p.wantPart("remove", p.change("bob", "a", wire.ScheduleAct_SCHEDULE_ACT_REMOVE), "has no schedule")
	key := p.take("ann", "r")
	p.want("remove", p.change("ann", "a", wire.ScheduleAct_SCHEDULE_ACT_REMOVE), "")
	_, why := p.submit("ann", key)
	p.wantPart("submit", why, "it was removed")
	p.wantPart("end", p.end("ann", key, true), "it was removed")
	p.replayed(set)
}

// Queued runs start when earlier ones are over, and several run where that is allowed.
func TestRunsBesideOthers(t *testing.T) {
	set := core.DefaultSettings()
	set.Schedules.RunsMax, set.Schedules.RunsKept, set.Schedules.UserMax = 3, 2, 2
	p := newPlanned(t, set)
	p.add("ann", "queue", wire.IfRunning_IF_RUNNING_QUEUE)
	p.add("ann", "allow", wire.IfRunning_IF_RUNNING_ALLOW)
	p.wantPart("a third", p.add("ann", "more", 0), "core.schedules.userMax")
	for range 4 {
		p.due(1, p.now)
		p.due(2, p.now)
	}
	p.want("queued", p.runs(1), "1 waiting/0, 2 queued/0")
	p.want("allowed", p.runs(2), "1 waiting/0, 2 waiting/0, 3 waiting/0")
	key := p.take("ann", "r")
	job, why := p.submit("ann", key)
	p.want("submit", why, "")
	p.end("ann", key, true)
	p.want("queued", p.runs(1), "1 succeeded/1, 2 queued/0")
	p.pass(20 * time.Minute) // while it is queued its start deadline does not count
	p.want("queued", p.runs(1), "1 succeeded/1, 2 queued/0")
	p.replayed(set)
	p.kill(job)
	p.want("released", p.runs(1), "1 succeeded/1, 2 waiting/0")
	p.want("allowed", p.runs(2), "1 missed/0, 2 missed/0, 3 missed/0")
	p.due(2, p.now)
	p.want("kept", p.runs(2), "2 missed/0, 3 missed/0, 4 waiting/0")
	p.replayed(set)
}

// An answer that did not reach the runner costs no lease, and runners that are lost are not waited
// for without end.
func TestLostRunners(t *testing.T) {
	set := core.DefaultSettings()
	p := newPlanned(t, set)
	p.add("ann", "a", 0)
	p.pass(time.Second)
	p.due(1, p.now)
	lost := p.take("ann", "r")
	again := p.take("ann", "r") // which holds none
	if again == nil || again.Try != lost.Try+1 {
		t.Fatalf("after %v it has %v", lost, again)
	}
	for range 5 {
		p.pass(set.Schedules.Lease - time.Second)
		if p.take("ann", "r", again) != nil {
			t.Fatal("a second run")
		}
	}
	p.want("held", p.runs(1), "1 running/0")
	for try := again.Try; int(try) < set.Schedules.TriesMax; try++ {
		p.pass(set.Schedules.Lease + time.Second)
		p.take("ann", fmt.Sprint("r", try))
	}
	p.pass(set.Schedules.Lease + time.Second)
	p.want("given up", p.runs(1), "1 failed/0")
	p.due(1, p.now)
	key := p.take("ann", "r")
	_, why := p.submit("ann", key)
	p.want("submit", why, "")
	p.pass(set.Schedules.Lease + time.Second)
	p.want("lost", p.runs(1), "1 failed/0, 2 lost/1")
	p.replayed(set)
}

// Whatever runners, clients and restarts do, the jobs of a run are those of one start of its command.
func TestRandomRuns(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 1))
		set := core.DefaultSettings()
		set.Schedules.RunsKept, set.Schedules.RunsMax = 3, 2
		p := newPlanned(t, set)
		for i := range 3 {
			p.add("ann", fmt.Sprint("s", i), wire.IfRunning(i))
		}
		var keys []*wire.RunKey
		tries := map[[2]uint64]uint32{} // that submitted, by schedule and run
		for range 300 {
			switch random.IntN(10) {
			case 0, 1:
				p.due(1+random.Uint64N(3), p.now)
			case 2, 3:
				held := slices.DeleteFunc(slices.Clone(keys), func(*wire.RunKey) bool { return random.IntN(2) == 0 })
				if k := p.take("ann", fmt.Sprint("r", random.IntN(3)), held...); k != nil {
					keys = append(keys, k)
				}
			case 4, 5, 6:
				if len(keys) == 0 {
					continue
				}
				k := keys[random.IntN(len(keys))]
				job, why := p.submit("ann", k)
				run := [2]uint64{k.Schedule, k.Run}
				if why == "" && tries[run] != 0 && tries[run] != k.Try {
					t.Fatalf("seed %d: tries %d and %d of run %v submitted", seed, tries[run], k.Try, run)
				}
				if why == "" {
					tries[run] = k.Try
					if random.IntN(2) == 0 {
						p.kill(job)
					}
				}
			case 7:
				if len(keys) > 0 {
					p.end("ann", keys[random.IntN(len(keys))], random.IntN(2) == 0)
				}
			case 8:
				p.pass(time.Duration(random.Int64N(int64(3 * time.Minute))))
			case 9:
				if random.IntN(4) == 0 {
					p.step(wire.NewInput(&wire.ManagerStart{Term: p.core.Term() + 1}))
				}
			}
		}
		p.replayed(set)
	}
}

// Where the log lost its end, a run, a start of it, or its whole schedule is made a second time with the same numbers. The
// start before it submits nothing, ends nothing and renews nothing.
func TestStartsThatTheLogLost(t *testing.T) {
	set := core.DefaultSettings()
	before := newPlanned(t, set)
	before.add("ann", "nightly", wire.IfRunning_IF_RUNNING_SKIP)
	due := before.now + 1
	var lengths []int // of the log: without the schedule, without the run, without the start
	lengths = append(lengths, len(before.batches)-1, len(before.batches))
	before.due(1, due)
	lengths = append(lengths, len(before.batches))
	lost := before.take("ann", "r1")
	if _, why := before.submit("ann", lost); lost == nil || why != "" {
		t.Fatalf("%v: %s", lost, why)
	}
	for _, kept := range lengths {
		p := &planned{t: t, core: core.New(set), now: before.now, told: map[uint64]*wire.Schedule{}}
		for _, b := range before.batches[:kept] {
			p.core.Step(b)
		}
		p.step(wire.NewInput(&wire.ManagerStart{Term: 9}))
		if kept == lengths[0] {
			p.add("ann", "hourly", wire.IfRunning_IF_RUNNING_SKIP)
		}
		p.due(1, p.now)
		p.due(1, p.now) // the first one is of the time at which the schedule was added
		second := p.take("ann", "r2")
		if second == nil || second.Schedule != lost.Schedule || second.Run != lost.Run || second.Try != lost.Try {
			t.Fatalf("after %d batches the start is %v", kept, second)
		}
		_, why := p.submit("ann", lost)
		p.wantPart("the lost start submits", why, "log has lost this start of run 1")
		p.wantPart("the lost start ends", p.end("ann", lost, true), "log has lost this start of run 1")
		p.pass(set.Schedules.Lease / 2)
		p.take("ann", "r1", lost)
		p.pass(set.Schedules.Lease/2 + time.Second)
		p.want("runs", p.runs(1), "1 waiting/0")
		_, why = p.submit("ann", second)
		p.want("the second start submits", why, "")
		p.want("the second start ends", p.end("ann", second, true), "")
	}
}

// A replaced schedule keeps its id, its runs and its pause. Due times before are decided, and limits
// of the number of schedules do not count.
func TestReplacedSchedule(t *testing.T) {
	set := core.DefaultSettings()
	set.Schedules.UserMax = 1
	p := newPlanned(t, set)
	if why := p.add("ann", "a", wire.IfRunning_IF_RUNNING_SKIP); why != "" {
		t.Fatal(why)
	}
	p.pass(time.Minute)
	p.due(1, p.now)
	p.change("ann", "a", wire.ScheduleAct_SCHEDULE_ACT_PAUSE)
	p.pass(time.Minute)
	if why := p.replace("ann", "a", "0 1 * * *"); why != "" {
		t.Fatal(why)
	}
	s := p.told[1]
	if len(p.told) != 1 || s.Definition.Cron != "0 1 * * *" || !s.Paused || len(s.Runs) != 1 || s.Decided != int64(p.now) {
		t.Errorf("%v", s)
	}
	if why := p.replace("ann", "b", "0 1 * * *"); !strings.Contains(why, "core.schedules.userMax") {
		t.Errorf("a second one: %q", why)
	}
	if why := p.replace("ann", "a", ""); !strings.Contains(why, "has no times") || p.told[1].Definition.Cron != "0 1 * * *" {
		t.Errorf("one without times: %q", why)
	}
	if why := p.add("ann", "a", wire.IfRunning_IF_RUNNING_SKIP); !strings.Contains(why, "--replace") {
		t.Errorf("added again: %q", why)
	}
}
