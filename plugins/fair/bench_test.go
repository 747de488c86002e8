package fair

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// load is a cluster in steady state: every slot is taken, every job has work that
// waits, and each end makes room for the next launch.
type load struct {
	b       testing.TB
	p       *Policy
	number  uint64
	now     scheduler.Time
	bundle  scheduler.BundleID
	attempt scheduler.AttemptID
	running []run // in order of launch
	offered []scheduler.LauncherID
	pending []scheduler.Event
	host    func() int // draws a host with input; nil: input lies nowhere

	local, launched int // of launches with located input: the node-local ones, and all
}

type run struct {
	attempt scheduler.AttemptID
	job     scheduler.JobID
	on      scheduler.LauncherID
}

const slotsEach = 4

func newLoad(b testing.TB, launchers, pools, jobs int, settings string) *load {
	return startLoad(&load{b: b, p: &Policy{}, now: 1}, launchers, pools, jobs, settings)
}

// newLocatedLoad is newLoad, with the input of each bundle on three hosts.
func newLocatedLoad(b testing.TB, launchers, pools, jobs int, settings string) *load {
	lots := rand.New(rand.NewPCG(1, 1))
	return startLoad(&load{b: b, p: &Policy{}, now: 1, host: func() int { return 1 + lots.IntN(launchers) }}, launchers, pools, jobs, settings)
}

func startLoad(l *load, launchers, pools, jobs int, settings string) *load {
	b := l.b
	if _, err := l.p.Start(scheduler.Config{Text: []byte(settings)}, scheduler.Snapshot{Now: 1}, scheduler.Environment{}); err != nil {
		b.Fatal(err)
	}
	var offers []scheduler.Offer
	for i := 1; i <= launchers; i++ {
		slots := []scheduler.SlotCount{{Kind: "default", Count: slotsEach}}
		l.pending = append(l.pending, scheduler.LauncherJoined{
			At: 1, Launcher: scheduler.LauncherID(i), Host: fmt.Sprint("h", i), Rack: fmt.Sprint("r", i/40), Slots: slots, Memory: 1 << 40,
		})
		offers = append(offers, scheduler.Offer{Launcher: scheduler.LauncherID(i), Free: slots, Memory: 1 << 40})
		l.offered = append(l.offered, scheduler.LauncherID(i))
	}
	if strings.Contains(settings, "manager: load") { // nine more for each, of which none may take anything
		for i := launchers + 1; i <= 10*launchers; i++ {
			slots := []scheduler.SlotCount{{Kind: "default", Count: slotsEach}}
			l.pending = append(l.pending,
				scheduler.LauncherJoined{At: 1, Launcher: scheduler.LauncherID(i), Host: fmt.Sprint("h", i), Slots: slots, Memory: 1 << 40},
				scheduler.LauncherLoad{At: 1, Launcher: scheduler.LauncherID(i), CPU: 1})
			offers = append(offers, scheduler.Offer{Launcher: scheduler.LauncherID(i), Free: slots, Memory: 1 << 40})
		}
	}
	for i := 1; i <= pools*jobs; i++ {
		l.pending = append(l.pending, scheduler.JobSubmitted{At: 1, Job: scheduler.Job{
			ID: scheduler.JobID(i), Pool: fmt.Sprint("pool", i%pools), Stages: []scheduler.Stage{{Groups: 1 << 30, Kind: "default", Slots: 1}},
		}})
	}
	waiting := max(10_000, pools*jobs)
	for i := range waiting {
		l.ready(scheduler.JobID(i%(pools*jobs) + 1))
	}
	l.round(offers)
	return l
}

func (l *load) ready(j scheduler.JobID) {
	l.bundle++
	g := scheduler.Group{Kind: "default", Slots: 1, Memory: 1 << 20}
	if l.host != nil {
		g.InputBytes = replica
		for range 3 {
			i := l.host()
			g.Places = append(g.Places, scheduler.Place{Host: fmt.Sprint("h", i), Rack: fmt.Sprint("r", i/40), Bytes: replica})
		}
	}
	l.pending = append(l.pending, scheduler.BundleReady{At: l.now, Job: j, Bundle: l.bundle, Groups: []scheduler.Group{g}})
}

// replica is the size of an input.
const replica = 128 << 20

// round plays a round, accepts its launches, and reports them in a second round.
func (l *load) round(offers []scheduler.Offer) int {
	l.number++
	l.now += 1e6
	events := l.pending
	l.pending = nil
	d, err := l.p.AssignTasks(scheduler.Round{Number: l.number, Now: l.now, Events: events, Offers: offers})
	if err != nil {
		l.b.Fatal(err)
	}
	for i, x := range d.Launch {
		l.attempt++
		b := l.p.view.Bundle(x.Bundle)
		j := b.Job.ID()
		if g := &b.Groups[0]; len(g.Places) > 0 {
			l.launched++
			if view.Locality(l.p.view.Launcher(x.Launchers[0]), g) == scheduler.NodeLocal {
				l.local++
			}
		}
		l.pending = append(l.pending,
			scheduler.Outcome{At: l.now, Kind: scheduler.DecisionLaunch, Index: i, Accepted: true, Attempts: []scheduler.AttemptID{l.attempt}, Launch: x})
		l.running = append(l.running, run{l.attempt, j, x.Launchers[0]})
	}
	return len(d.Launch)
}

// ends finishes the n oldest attempts, adds as much new work to their jobs, and offers the free
// slots.
func (l *load) ends(n int) []scheduler.Offer {
	free := map[scheduler.LauncherID]int{}
	for _, id := range l.offered {
		free[id] = 0
	}
	l.offered = l.offered[:0]
	for _, r := range l.running[:n] {
		l.pending = append(l.pending, scheduler.AttemptEnded{At: l.now, Attempt: r.attempt, Outcome: scheduler.Finished})
		l.ready(r.job)
		free[r.on]++
	}
	l.running = l.running[n:]
	var offers []scheduler.Offer
	for id := range free {
		offers = append(offers, scheduler.Offer{Launcher: id, Free: []scheduler.SlotCount{{Kind: "default", Count: free[id]}}, Memory: 1 << 40})
		if free[id] > 0 {
			l.offered = append(l.offered, id)
		}
	}
	return offers
}

// BenchmarkAssign measures the policy's own cost of an assignment, its share of the way from an
// event to an accepted launch.
func BenchmarkAssign(b *testing.B) {
	for _, s := range []struct {
		name                   string
		launchers, pools, jobs int
		settings               string
		load                   func(testing.TB, int, int, int, string) *load // nil: newLoad
	}{
		{"500-launchers-2x2", 500, 2, 2, "", nil},
		{"5000-launchers-2x2", 5000, 2, 2, "", nil},
		{"1000-launchers-100x10", 1000, 100, 10, "", nil},
		{"1000-launchers-100x100", 1000, 100, 100, "", nil},
		{"1000-launchers-100x1000", 1000, 100, 1000, "", nil},
		{"1000-launchers-100x100-preempt", 1000, 100, 100, "allocations: {min-share-timeout: 1s, fair-share-timeout: 1s}", nil},
		{"1000-launchers-100x100-deficit", 1000, 100, 100, "allocations: {order: deficit}", nil},
		{"1000-launchers-100x100-disco", 1000, 100, 100, "allocations: {order: disco-fair}", nil},
		{"1000-launchers-100x100-level", 1000, 100, 100, "load: {manager: level-slots}", nil},
		{"500-launchers-2x2-and-4500-refused", 500, 2, 2, "load: {manager: load}", nil},
		{"1000-launchers-100x100-flow", 1000, 100, 100, "locality: {mode: min-cost-flow}", nil},
		{"1000-launchers-100x10-located", 1000, 100, 10, "", newLocatedLoad},
		{"1000-launchers-100x10-located-flow", 1000, 100, 10, "locality: {mode: min-cost-flow}", newLocatedLoad},
		{"5000-launchers-100x10-located", 5000, 100, 10, "", newLocatedLoad},
		{"5000-launchers-100x10-located-flow", 5000, 100, 10, "locality: {mode: min-cost-flow}", newLocatedLoad},
	} {
		for _, ends := range []int{1, 10, 100, 1000} {
			b.Run(fmt.Sprintf("%s/ends=%d", s.name, ends), func(b *testing.B) {
				start := newLoad
				if s.load != nil {
					start = s.load
				}
				l := start(b, s.launchers, s.pools, s.jobs, s.settings)
				for range 3 { // the first rounds fill the cluster
					l.round(l.ends(ends))
				}
				done, spent := 0, time.Duration(0)
				for b.Loop() {
					offers := l.ends(ends)
					before := time.Now()
					done += l.round(offers)
					spent += time.Since(before)
				}
				b.ReportMetric(float64(done)/spent.Seconds(), "assignments/s")
				b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "ns/round")
				if l.launched > 0 {
					b.ReportMetric(100*float64(l.local)/float64(l.launched), "%local")
				}
			})
		}
	}
}

// TestIdleJobsCostNothing: a round in which ten attempts end allocates as much with
// a hundred times the jobs that wait, and with ten times the launchers that are
// full. (How long it takes is a row of the benchmarks.)
func TestIdleJobsCostNothing(t *testing.T) {
	cost := func(launchers, jobs int) float64 {
		l := newLoad(t, launchers, 10, jobs, "allocations: {fair-share-timeout: 1h}\nupdate-interval: 1h")
		for range 3 {
			l.round(l.ends(10))
		}
		return testing.AllocsPerRun(200, func() { l.round(l.ends(10)) })
	}
	small := cost(20, 10)
	for name, got := range map[string]float64{"jobs": cost(20, 1000), "launchers": cost(200, 10)} {
		if got > 1.2*small {
			t.Errorf("a round allocates %v times with many %s, and %v with few", got, name, small)
		}
	}
}

// BenchmarkStatus measures a view of pools and queue, which delays rounds once a second at most.
func BenchmarkStatus(b *testing.B) {
	for _, jobs := range []int{2, 10, 100, 1000} {
		b.Run(fmt.Sprintf("1000-launchers-100x%d", jobs), func(b *testing.B) {
			l := newLoad(b, 1000, 100, jobs, "")
			for range 3 {
				l.round(l.ends(10))
			}
			for b.Loop() {
				if s, err := l.p.Status(); err != nil || len(s.Queue) == 0 {
					b.Fatal(err)
				}
			}
		})
	}
}
