package hfsp

import (
	"fmt"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// load is a cluster in steady state: every slot is taken, and each job that has ended is followed by a new
// one, so that there are always as many.
type load struct {
	b       testing.TB
	p       *Policy
	now     scheduler.Time
	number  uint64
	job     scheduler.JobID
	bundle  scheduler.BundleID
	attempt scheduler.AttemptID
	left    map[scheduler.JobID]int // tasks that have not ended
	running []run                   // in order of launch
	offered map[scheduler.LauncherID]bool
	pending []scheduler.Event
	events  int
}

type run struct {
	attempt scheduler.AttemptID
	job     scheduler.JobID
	on      scheduler.LauncherID
}

const (
	benchLaunchers = 1000
	benchSlots     = 4
	benchTasks     = 100
)

func newLoad(b testing.TB, jobs int, settings string) *load {
	l := &load{b: b, p: &Policy{}, now: 1e9, left: map[scheduler.JobID]int{}, offered: map[scheduler.LauncherID]bool{}}
	e := policytest.Environment()
	if _, err := l.p.Start(scheduler.Config{Text: []byte(settings)}, scheduler.Snapshot{Now: 1}, e); err != nil {
		b.Fatal(err)
	}
	var offers []scheduler.Offer
	for i := scheduler.LauncherID(1); i <= benchLaunchers; i++ {
		slots := []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: benchSlots}}
		l.pending = append(l.pending, scheduler.LauncherJoined{At: l.now, Launcher: i, Host: fmt.Sprint("h", i), Slots: slots, Memory: 1 << 40})
		offers = append(offers, scheduler.Offer{Launcher: i, Free: slots, Memory: 1 << 40})
		l.offered[i] = true
	}
	for range jobs {
		l.submit()
	}
	l.round(offers)
	return l
}

// submit adds a job, all of it ready.
func (l *load) submit() {
	l.job++
	l.left[l.job] = benchTasks
	l.pending = append(l.pending, scheduler.JobSubmitted{At: l.now, Job: scheduler.Job{
		ID: l.job, Submitted: l.now, Stages: []scheduler.Stage{{Name: "map", Groups: benchTasks, Kind: scheduler.DefaultKind, Slots: 1}},
	}})
	for range benchTasks {
		l.bundle++
		l.pending = append(l.pending, scheduler.BundleReady{
			At: l.now, Job: l.job, Bundle: l.bundle, Groups: []scheduler.Group{{Kind: scheduler.DefaultKind, Slots: 1, Memory: 1 << 20}},
		})
	}
}

// round plays one round, and notes that its launches are taken and start.
func (l *load) round(offers []scheduler.Offer) (spent time.Duration) {
	l.number++
	l.now += 1e7
	events := l.pending
	l.events += len(events)
	l.pending = nil
	free := 0
	for _, o := range offers {
		for _, f := range o.Free {
			free += f.Count
		}
	}
	began := time.Now()
	d, err := l.p.AssignTasks(scheduler.Round{Number: l.number, Now: l.now, Events: events, Offers: offers})
	spent = time.Since(began)
	if err != nil {
		l.b.Fatal(err)
	}
	if len(l.left) >= benchLaunchers && len(d.Launch) != free {
		l.b.Fatalf("%d launches on %d slots", len(d.Launch), free)
	}
	for i, x := range d.Launch {
		l.attempt++
		j, on := l.p.view.Bundle(x.Bundle).Job.ID(), x.Launchers[0]
		l.pending = append(l.pending,
			scheduler.Outcome{At: l.now, Kind: scheduler.DecisionLaunch, Index: i, Accepted: true, Attempts: []scheduler.AttemptID{l.attempt}, Launch: x},
			scheduler.AttemptStarted{At: l.now, Attempt: l.attempt, Job: j, Bundle: x.Bundle, Launcher: on})
		l.running = append(l.running, run{l.attempt, j, on})
	}
	return spent
}

// ends finishes the n oldest attempts, and offers what that leaves.
func (l *load) ends(n int) (offers []scheduler.Offer) {
	free := map[scheduler.LauncherID]int{}
	for id := range l.offered {
		free[id] = 0
	}
	clear(l.offered)
	for _, r := range l.running[:n] {
		l.pending = append(l.pending, scheduler.AttemptEnded{At: l.now, Attempt: r.attempt, Outcome: scheduler.Finished})
		free[r.on]++
		l.offered[r.on] = true
		if l.left[r.job]--; l.left[r.job] == 0 {
			delete(l.left, r.job)
			l.pending = append(l.pending, scheduler.JobFinished{At: l.now, Job: r.job, Outcome: scheduler.JobSucceeded})
			l.submit()
		}
	}
	l.running = l.running[n:]
	for id, n := range free {
		o := scheduler.Offer{Launcher: id, Memory: 1 << 40}
		if n > 0 {
			o.Free = []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: n}}
		}
		offers = append(offers, o)
	}
	return offers
}

// TestRoundsLookAtFew: a round looks at those that it serves and those that something happened to, however many wait.
func TestRoundsLookAtFew(t *testing.T) {
	l := newLoad(t, 3000, "")
	for range 3 {
		l.round(l.ends(10))
	}
	if n := len(l.p.last.begun); n > benchLaunchers*benchSlots/benchTasks+500 {
		t.Errorf("a round looked at %d stages of %d", n, len(l.left))
	}
}

// BenchmarkEvent is what the policy itself costs an event, of jobs of 100 tasks on 1,000 launchers of four slots, by how
// many jobs there are and how many attempts end in a round.
func BenchmarkEvent(b *testing.B) {
	for _, jobs := range []int{100, 1000, 10_000} {
		for _, ends := range []int{1, 10, 100, 1000} {
			b.Run(fmt.Sprintf("%d-jobs/ends=%d", jobs, ends), func(b *testing.B) {
				l := newLoad(b, jobs, "")
				for range 20 {
					l.round(l.ends(ends))
				}
				l.events = 0
				spent, done := time.Duration(0), 0
				for b.Loop() {
					spent += l.round(l.ends(ends))
					done += ends
				}
				b.ReportMetric(float64(spent.Microseconds())/float64(l.events), "µs/event")
				b.ReportMetric(float64(done)/spent.Seconds(), "assignments/s")
			})
		}
	}
}
