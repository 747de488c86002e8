package core

import (
	"fmt"
	"testing"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// All names of a launcher's host lead to the launcher, also in a core restored from a checkpoint.
func TestPlacesByFurtherNames(t *testing.T) {
	b := benchCluster(t, 0, 0)
	join := func(name, host string, names ...string) {
		b.step(wire.NewInput(&wire.LauncherJoin{Join: &wire.Join{
			Name: name, Incarnation: 1, Host: host, Names: names, Memory: 1 << 40, Slots: []*wire.Slots{{Kind: "default", Count: 1}},
		}}))
	}
	join("a", "one", "10.0.0.1", "one.example", "two")
	join("b", "two", "10.0.0.2", "one.example")
	restored, err := Restore(b.c.Checkpoint())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"one": "one", "10.0.0.1": "one", "10.0.0.2": "two",
		"two":         "two", // a host's own name wins over another launcher's further name
		"one.example": "one", // the first launcher with the name wins
		"elsewhere":   "elsewhere", "": "",
	} {
		for i, c := range []*Core{b.c, restored} {
			if got := (state.Hosts{Cluster: c.state.Cluster}.HostOf(name)); got != want {
				t.Errorf("core %d takes %q for host %q, want %q", i, name, got, want)
			}
		}
	}
	join("c", "three", "elsewhere")
	if got := (state.Hosts{Cluster: b.c.state.Cluster}.HostOf("elsewhere")); got != "three" {
		t.Errorf("after its launcher joined, elsewhere is %q", got)
	}
}

// Input at two names of one host is at that host.
func TestPlacesOfOneHostAreOne(t *testing.T) {
	b := benchCluster(t, 0, 0)
	b.step(wire.NewInput(&wire.LauncherJoin{Join: &wire.Join{
		Name: "a", Incarnation: 1, Host: "one", Names: []string{"h0", "h1"}, Memory: 1 << 40, Slots: []*wire.Slots{{Kind: "default", Count: 1}},
	}}))
	b.submit(t, 1)
	places := b.c.outbound.Events.GroupsFor(b.c.state.Cluster.Bundles.Get(b.last), true)[0].Places
	if got := fmt.Sprint(places); got != fmt.Sprintf("[{one  %d} {h2  %d}]", 2<<20, 1<<20) {
		t.Errorf("places %s", got)
	}
}

// An attempt counts for the locality of most of its bytes. An attempt that reads no files does not
// count, but its bytes do.
func TestAttemptsByLocality(t *testing.T) {
	b := benchCluster(t, 4, 4)
	b.submit(t, 3)
	b.launchSome(3)
	reads := [][]int64{{5, 1, 0}, {1, 0, 5}, {5, 5, 0}} // at a tie the nearer level counts
	for i, l := range b.lives {
		for _, r := range []*wire.Report{
			{Incarnation: 1, What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: l.Command.GetStart().Attempt}}},
			{Incarnation: 1, What: &wire.Report_Ended{Ended: &wire.AttemptEnded{
				Attempt: l.Command.GetStart().Attempt, End: wire.End_END_FINISHED, Work: &wire.Work{Read: reads[i]},
			}}},
		} {
			b.step(wire.NewReport(uint64(l.Launcher), r))
		}
	}
	s := b.c.Stats()
	if got := fmt.Sprint(s.Local, s.Read); got != "[2 0 1] [11 6 5]" {
		t.Errorf("attempts and bytes by locality: %s", got)
	}
}
