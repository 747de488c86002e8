package replay

import (
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/sdk/job/elements"
)

// A day with a job array, of which an element fails, some are killed, and these run again, is played
// again with all of that.
func TestADayWithAnArray(t *testing.T) {
	const nodes = 20
	ranges := func(text string) []*wire.ElementRange {
		set, err := elements.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return wire.ElementRanges(set)
	}
	stage := workload.Stage{Name: "sweep", Kind: "default", Tasks: make([]workload.Task, nodes)}
	fails := make([][]time.Duration, nodes)
	fails[3] = []time.Duration{time.Second}
	for i := range stage.Tasks {
		stage.Tasks[i].Work = 10 * time.Second
	}
	w := &workload.Workload{Jobs: []workload.Job{{ID: "job-1", Name: "sweep", User: "ua", Stages: []workload.Stage{stage}}}}
	who := &wire.Principal{Name: "ua"}
	out, before := newWriter(t), &launches{}
	recorded, err := simulation.Play(t.Context(), simulation.Options{
		Workload: w, Cluster: cluster.Default(2, map[string]int{"default": 2}), Host: policy.InProcess(fifo.New()), Name: "fifo", Record: out.batch, Tick: time.Millisecond, Watch: before,
		Submissions: []simulation.Submission{{
			Spec: &wire.JobSpec{Name: "sweep", Principal: who, AttemptsMax: 1, Graph: &wire.Graph{Stages: []*wire.Stage{{
				Name: "sweep", Nodes: nodes, Kind: "default", Slots: 1, Elements: &wire.Elements{Ranges: ranges("100-119"), AtOnce: 3},
			}}}},
			Starts: [][]time.Duration{make([]time.Duration, nodes)}, Fails: [][][]time.Duration{fails},
		}},
		Changes: []simulation.Change{
			{At: 15 * time.Second, Kill: &wire.KillJob{Principal: who, Elements: ranges("104,110-112"), Reason: "a whim"}},
			{At: 35 * time.Second, Retry: &wire.RetryElements{Principal: who, Elements: ranges("103,111")}},
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
	d := extract(t, r, 1)
	if len(d.ByPeople()) != 2 {
		t.Fatalf("the day has the changes %+v", d.changes)
	}
	again := &launches{}
	played, err := simulation.Play(t.Context(), simulation.Options{
		Workload: d.Workload, Submissions: d.Submissions, Cluster: d.Cluster, Settings: d.Settings, Tick: -1, ThinkAt: d.ThinkAt, Watch: again,
		Host: policy.InProcess(fifo.New()), Changes: d.ByPeople(),
	})
	if err != nil {
		t.Fatal(err)
	}
	// All have an attempt but two of those that were killed before they began. The one that failed has two.
	if !slices.Equal(before.list, again.list) || len(before.list) != nodes-2+1 {
		t.Errorf("%d attempts are in the log, and %d in the replay:\n%q\n%q", len(before.list), len(again.list), before.list, again.list)
	}
	if a, b := &recorded.Jobs[0], &played.Jobs[0]; a.State != wire.JobState_JOB_STATE_FAILED || a.State != b.State || (a.Ended-b.Ended).Abs() > 200*time.Millisecond {
		t.Errorf("the job ends as %v after %v, and in the log as %v after %v", b.State, b.Ended, a.State, a.Ended)
	}
}
