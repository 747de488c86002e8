package preemptivefair

import (
	"fmt"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// BenchmarkRound is rounds of four jobs with 10,000 pending groups with three places each
// and 1,000 launchers: all is one free slot on each, one is one free slot on one.
func BenchmarkRound(b *testing.B) {
	const launchers, groups, jobs = 1000, 10000, 4
	var events []scheduler.Event
	var offers []scheduler.Offer
	for i := 1; i <= launchers; i++ {
		id := scheduler.LauncherID(i)
		events = append(events, scheduler.LauncherJoined{Launcher: id, Host: fmt.Sprint("h", i), Rack: fmt.Sprint("r", i/40), Slots: slotsOf(1), Memory: 1 << 34})
		offers = append(offers, scheduler.Offer{Launcher: id, Free: slotsOf(1), Memory: 1 << 34})
	}
	for id := scheduler.JobID(1); id <= jobs; id++ {
		events = append(events, scheduler.JobSubmitted{Job: scheduler.Job{ID: id, Stages: []scheduler.Stage{{Groups: groups / jobs, Kind: scheduler.DefaultKind, Slots: 1}}}})
	}
	for i := range groups {
		g := scheduler.Group{Kind: scheduler.DefaultKind, Slots: 1, Memory: 1 << 30}
		for k := range 3 {
			n := (i*7+k*331)%launchers + 1
			g.Places = append(g.Places, scheduler.Place{Host: fmt.Sprint("h", n), Rack: fmt.Sprint("r", n/40), Bytes: 1 << 26})
		}
		events = append(events, scheduler.BundleReady{Job: scheduler.JobID(1 + i%jobs), Bundle: scheduler.BundleID(i + 1), Groups: []scheduler.Group{g}})
	}
	for _, c := range []struct {
		name string
		free int
	}{{"all", launchers}, {"one", 1}} {
		b.Run(c.name, func(b *testing.B) {
			p := newTested()
			if _, err := p.Start(scheduler.Config{}, scheduler.Snapshot{Events: events}, scheduler.Environment{}); err != nil {
				b.Fatal(err)
			}
			// None of the launches is accepted: the offers stand for the next round.
			for i := uint64(1); b.Loop(); i++ {
				d, err := p.AssignTasks(scheduler.Round{Number: i, Offers: offers[:c.free]})
				if err != nil || len(d.Launch) != c.free {
					b.Fatalf("%d launches, %v", len(d.Launch), err)
				}
			}
		})
	}
}
