package replay

import (
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/plugins/fifo"
)

// Limits of users are replayed as they were: a day begins with a limit of one slot for each user, and has another one
// from its second minute on.
func TestLimitsOfUsersAreReplayed(t *testing.T) {
	w := mixed()
	on := cluster.Default(3, map[string]int{"map": 1, "reduce": 1})
	on.Replicas, on.UserLimits.Each.Slots = 0, 1
	out, before := newWriter(t), &launches{}
	recorded, err := simulation.Play(t.Context(), simulation.Options{
		Workload: w, Cluster: on, Host: policy.InProcess(fifo.New()), Name: "fifo", Record: out.batch, Tick: time.Millisecond, Watch: before,
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
