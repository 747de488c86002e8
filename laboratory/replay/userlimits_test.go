package replay

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// limitedDay is the log of a day that begins with a limit of one slot for each user, and has another one from its
// second minute on.
func limitedDay(t *testing.T, w *workload.Workload, on *cluster.Cluster, watch simulation.Watcher) (*Recording, *simulation.Result) {
	t.Helper()
	out := newWriter(t)
	recorded, err := simulation.Play(t.Context(), simulation.Options{
		Workload: w, Cluster: on, Host: policy.InProcess(fifo.New()), Name: "fifo", Record: out.batch, Tick: time.Millisecond, Watch: watch,
		Changes: []simulation.Change{{At: time.Minute, UserLimits: &core.UserLimits{Each: core.UserLimit{Slots: 3}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	out.end()
	r, err := Open(out.folder)
	if err != nil {
		t.Fatal(err)
	}
	return r, recorded
}

// limited is a small cluster with such a limit.
func limited() *cluster.Cluster {
	on := cluster.Default(3, map[string]int{"map": 1, "reduce": 1})
	on.Replicas, on.UserLimits.Each.Slots = 0, 1
	return on
}

// A policy decides in each round of a day with limits of users as it did then. One that does not learn of the limits
// decides otherwise.
func TestADayWithLimitsOfUsersIsVerified(t *testing.T) {
	r, _ := limitedDay(t, mixed(), limited(), nil)
	v := verify(t, r, asRecorded)
	if sum := v.Sum(); !v.Same() || sum.Rounds < 20 || sum.Unanswered > 1 || sum.NotAsked+v.Unknown > 0 {
		t.Errorf("the same policy:\n%s", text(t, v))
	}
	blind := verify(t, r, func(context.Context, Started) (policy.Host, scheduler.Config, error) {
		return policy.InProcess(blindToLimits{fifo.New()}), scheduler.Config{}, nil
	})
	if blind.Same() {
		t.Errorf("a policy that does not learn of limits decides the same:\n%s", text(t, blind))
	}
}

// blindToLimits is a policy that gets no UserLimitSet.
type blindToLimits struct{ scheduler.TaskScheduler }

func (b blindToLimits) Start(c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	s.Events = b.without(s.Events)
	return b.TaskScheduler.Start(c, s, e)
}

func (b blindToLimits) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	r.Events = b.without(r.Events)
	return b.TaskScheduler.AssignTasks(r)
}

func (blindToLimits) without(events []scheduler.Event) []scheduler.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e scheduler.Event) bool {
		_, is := e.(scheduler.UserLimitSet)
		return is
	})
}

// Limits of users are replayed as they were.
func TestLimitsOfUsersAreReplayed(t *testing.T) {
	w, on, before := mixed(), limited(), &launches{}
	r, recorded := limitedDay(t, w, on, before)
	d := extract(t, r, 1)
	if d.PolicyChanges() || len(d.ByPeople()) != 1 || d.core.UserLimits.Each.Slots != 1 {
		t.Fatalf("the day begins with the limits %v, and has the changes %+v", d.core.UserLimits, d.changes)
	}
	again := &launches{}
	played, err := simulation.Play(t.Context(), simulation.Options{
		Workload: d.Workload, Submissions: d.Submissions, Cluster: d.Cluster, Settings: d.Settings, Tick: -1, ThinkAt: d.ThinkAt, Watch: again,
		Host: policy.InProcess(fifo.New()), Changes: d.ByPeople(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before.list, again.list) {
		t.Errorf("launched\n%q\nand in the log\n%q", again.list, before.list)
	}
	for i := range recorded.Jobs {
		if a, b := &recorded.Jobs[i], &played.Jobs[i]; (a.Ended - b.Ended).Abs() > 200*time.Millisecond {
			t.Errorf("job %d ends after %v, and in the log after %v", i, b.Ended, a.Ended)
		}
	}
	free := *on
	free.UserLimits = cluster.UserLimits{}
	without, err := simulation.Play(t.Context(), simulation.Options{Workload: w, Cluster: &free, Host: policy.InProcess(fifo.New()), Tick: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if last := len(w.Jobs) - 1; without.Jobs[last].Ended >= recorded.Jobs[last].Ended {
		t.Errorf("without limits the last job ends after %v, and with them after %v", without.Jobs[last].Ended, recorded.Jobs[last].Ended)
	}
}
