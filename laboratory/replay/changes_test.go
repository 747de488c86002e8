package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// launches lists the attempts that began, with their times.
type launches struct {
	list []string
	at   []time.Duration
}

func (l *launches) Came(time.Duration, int)  {}
func (l *launches) Ended(time.Duration, int) {}
func (l *launches) Holds(at time.Duration, job int, a *simcluster.Attempt, holds bool) {
	if holds {
		n := a.Start.Nodes[0]
		l.list, l.at = append(l.list, fmt.Sprintf("job %d, stage %d, task %d on %s", job, n.Stage, n.Index, a.On.Name)), append(l.at, at)
	}
}

// eventful is a day on which everything happens to a mixed workload.
func eventful(t *testing.T) (*Recording, *launches, *simulation.Result) {
	t.Helper()
	w := mixed()
	for i := range w.Jobs {
		w.Jobs[i].Pool = w.Jobs[i].User
	}
	w.Jobs[3].Stages[0].FailureRate = 0.3
	w.Jobs[7].Stages[0].FailureRate = 0.3
	on := cluster.Default(3, map[string]int{"map": 1, "reduce": 1})
	on.Replicas = 0
	on.Failures = []cluster.Failure{{Launcher: "node2", At: 70 * time.Second, Back: 40 * time.Second}}
	pool, high := "uc", int32(5)
	who := &wire.Principal{Name: "ua"}
	other := func(name, settings string) *simulation.Switch {
		return &simulation.Switch{Name: name, Config: scheduler.Config{Text: []byte(settings)}, Takes: 30 * time.Millisecond, Launch: func(context.Context) (policy.Host, error) {
			return policy.InProcess(kinds[name]()), nil
		}}
	}
	weights := &wire.PolicyStart{}
	wire.NewPolicyStart(weights, scheduler.Config{Text: []byte("placement: {undeclared: create}\nallocations: {pools: {ub: {weight: 4}}}\n")})
	settings := &wire.SettingsChange{Version: 7, Config: weights.Config}
	out, seen := newWriter(t), &launches{}
	result, err := simulation.Play(t.Context(), simulation.Options{
		Workload: w, Cluster: on, Host: policy.InProcess(fifo.New()), Name: "fifo", Record: out.batch, Tick: time.Millisecond, Watch: seen,
		Changes: []simulation.Change{
			{At: 20 * time.Second, Drain: &wire.DrainLauncher{Name: "node1", Drain: true, Principal: who}},
			{At: 25 * time.Second, Job: 2, Kill: &wire.KillJob{Principal: who, Reason: "a mistake"}},
			{At: 30 * time.Second, Switch: other("fair", "placement: {undeclared: create}\n")},
			{At: 45 * time.Second, Job: 5, Update: &wire.UpdateJob{Principal: who, Pool: &pool, Priority: &high}},
			{At: 50 * time.Second, Drain: &wire.DrainLauncher{Name: "node1", Principal: who}},
			{At: 60 * time.Second, Settings: settings},
			{At: 130 * time.Second, Failed: "it crashed"},
			{At: 135 * time.Second, Switch: other("hfsp", "")},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	out.end()
	r, err := Open(out.folder)
	if err != nil {
		t.Fatal(err)
	}
	return r, seen, result
}

// A day with switches of the policy and its settings, a move, a kill, a drain, and failures of a
// policy, a launcher and programs is played again with all of them, and the decisions are the same.
func TestAnEventfulDayAsRecorded(t *testing.T) {
	r, before, recorded := eventful(t)
	d := extract(t, r, 1)
	if d.First.Policy != "fifo" || !d.PolicyChanges() || len(d.ByPeople()) != 4 {
		t.Fatalf("the day begins under %q, and has the changes %+v", d.First.Policy, d.changes)
	}
	again := &launches{}
	played, err := simulation.Play(t.Context(), simulation.Options{
		Workload: d.Workload, Submissions: d.Submissions, Cluster: d.Cluster, Settings: d.Settings, Tick: -1, ThinkAt: d.ThinkAt, Watch: again,
		Host: policy.InProcess(kinds[d.First.Policy]()), Config: d.First.Settings,
		Changes: d.AsRecorded(func(_ context.Context, of Started) (policy.Host, error) {
			return policy.InProcess(kinds[of.Policy]()), nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before.list, again.list) {
		i := 0
		for i < min(len(before.list), len(again.list)) && before.list[i] == again.list[i] {
			i++
		}
		t.Fatalf("of %d launches in the log, and %d in the replay, the one with number %d is another: from %v on\n%s\nand from %v on\n%s", len(before.list), len(again.list), i,
			before.at[min(i, len(before.at)-1)], strings.Join(before.list[i:min(i+4, len(before.list))], "\n"), again.at[min(i, len(again.at)-1)], strings.Join(again.list[i:min(i+4, len(again.list))], "\n"))
	}
	for i, at := range before.at {
		if off := (again.at[i] - at).Abs(); off > 200*time.Millisecond {
			t.Errorf("launch %d is at %v, and was at %v", i, again.at[i], at)
		}
	}
	killed, lost := 0, 0
	for i := range recorded.Jobs {
		a, b := &recorded.Jobs[i], &played.Jobs[i]
		if a.State != b.State || (a.Ended-b.Ended).Abs() > 200*time.Millisecond {
			t.Errorf("job %d ends as %v after %v, and in the log as %v after %v", i, b.State, b.Ended, a.State, a.Ended)
		}
		if a.State == wire.JobState_JOB_STATE_KILLED {
			killed++
		}
		for s := range a.Stages {
			lost += a.Stages[s].Lost
		}
	}
	if killed == 0 || lost < 2 {
		t.Errorf("%d jobs were killed and %d attempts lost: the day is too quiet", killed, lost)
	}
}

// Under a policy of its own a day has what people did, and none of the changes of the policy.
func TestAnEventfulDayUnderAnotherPolicy(t *testing.T) {
	r, _, _ := eventful(t)
	d := extract(t, r, 1)
	played, err := simulation.Play(t.Context(), simulation.Options{
		Workload: d.Workload, Submissions: d.Submissions, Cluster: d.Cluster, Settings: d.Settings, Tick: -1, ThinkAt: d.ThinkAt,
		Host: policy.InProcess(kinds["preemptive-fair"]()), Changes: d.ByPeople(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := played.Jobs[2]; got.State != wire.JobState_JOB_STATE_KILLED || (got.Ended-25*time.Second).Abs() > time.Second {
		t.Errorf("the job that was killed after 25 s ends as %v after %v", got.State, got.Ended)
	}
}
