package fair

import (
	"cmp"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedtest/cluster"
)

// play is a policy on the kit's small manager, in virtual time.
type play struct {
	t      *testing.T
	c      *cluster.Cluster
	p      *Policy
	begin  scheduler.Time
	rounds []scheduler.Decisions
	events []scheduler.Event
	look   func(d scheduler.Decisions) // after each answer
}

func environment() scheduler.Environment {
	return scheduler.Environment{
		Heartbeat: time.Second, Kinds: []scheduler.SlotKind{scheduler.DefaultKind}, Simulated: true,
		Limits: scheduler.Limits{GraceMax: time.Minute, CheckpointBytes: 1 << 20},
	}
}

func newPlay(t *testing.T, settings string) *play {
	t.Helper()
	w := &play{t: t, c: cluster.New(1), p: &Policy{}}
	w.begin = w.c.Now()
	d, err := w.p.Start(scheduler.Config{Text: []byte(settings)}, w.c.Snapshot(nil, 0), environment())
	if err != nil {
		t.Fatal(err)
	}
	w.c.Abilities = d.Abilities
	return w
}

// restart goes on with a policy that knows what a snapshot and the last checkpoint
// tell.
func (w *play) restart(settings string) {
	w.t.Helper()
	var checkpoint *scheduler.Checkpoint
	for _, d := range w.rounds {
		checkpoint = cmp.Or(d.Checkpoint, checkpoint)
	}
	w.p = &Policy{}
	s := w.c.SnapshotAsOf(w.c.Snapshot(nil, 0), checkpoint)
	if _, err := w.p.Start(scheduler.Config{Text: []byte(settings)}, s, environment()); err != nil {
		w.t.Fatal(err)
	}
}

// launchers joins n launchers of one rack each.
func (w *play) launchers(n, slots int) {
	for id := scheduler.LauncherID(1); int(id) <= n; id++ {
		w.c.Join(id, cluster.Rack(id), 1<<40, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: slots})
	}
}

// job submits single-slot tasks that run about so long.
func (w *play) job(pool string, tasks int, run time.Duration) scheduler.JobID {
	return w.c.Submit(cluster.Spec{
		Name: pool, User: "user-" + pool, Pool: pool,
		Layers: []cluster.Layer{{Bundles: tasks, Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}}, Run: run}},
	})
}

// gang submits one bundle of several single-slot groups.
func (w *play) gang(pool string, groups int, run time.Duration) scheduler.JobID {
	l := cluster.Layer{Bundles: 1, Run: run}
	for range groups {
		l.Groups = append(l.Groups, cluster.GroupSpec{Kind: scheduler.DefaultKind, Slots: 1})
	}
	return w.c.Submit(cluster.Spec{Name: pool, User: "user-" + pool, Pool: pool, Layers: []cluster.Layer{l}})
}

// until plays rounds up to a time from the beginning, or to the end of all.
func (w *play) until(d time.Duration) {
	w.t.Helper()
	passed := false
	w.c.After(w.begin.Add(d).Sub(w.c.Now()), func() { passed = true; w.c.Note(scheduler.Note{Name: "time"}) })
	for !passed && w.c.Step() {
		w.round()
	}
}

func (w *play) round() scheduler.Decisions {
	w.t.Helper()
	r := w.c.Round()
	d, err := w.p.AssignTasks(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.events = append(w.events, r.Events...)
	w.rounds = append(w.rounds, d)
	if w.look != nil {
		w.look(d)
	}
	w.c.Apply(r.Number, d)
	for _, f := range w.c.Faults {
		w.t.Fatal(f)
	}
	return d
}

// holds lists how many slots pools hold.
func (w *play) holds(pools ...string) []int {
	n := make([]int, len(pools))
	for i, path := range pools {
		if x := w.p.sharing.Pools[path]; x != nil {
			n[i] = x.Node.Of(w.p.sharing.World.Kind(scheduler.DefaultKind)).Running
		}
	}
	return n
}
