// Package faultypolicies holds bad policies as Go values. The kit's tests prove that it catches
// each; the manager's tests prove that it survives each.
package faultypolicies

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hamadryad/hamadryad/policytest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// FaultyPolicy is one bad policy.
type FaultyPolicy struct {
	Name string
	// New returns a policy. Policies of one FaultyPolicy share the state that makes them differ
	// from each other, where that is the fault.
	New func() scheduler.TaskScheduler
	// Caught is part of the conformance kit's finding.
	Caught string
	// Ends reports whether jobs still end under a manager that refuses wrong decisions and keeps
	// the policy; otherwise the manager has to replace it.
	Ends bool
}

// All returns all faulty policies. The hanging one ends its calls when it is terminated.
func All() []FaultyPolicy {
	return []FaultyPolicy{
		{"does nothing", func() scheduler.TaskScheduler {
			return tamed(func(_ scheduler.Round, d *scheduler.Decisions) { *d = scheduler.Decisions{} })
		}, "never ended", false},
		{"launches twice", LaunchesTwice, "not ready", true},
		{"launches half a bundle", HalfABundle, "wrong shape", false},
		{"unknown ids", UnknownIDs, "unknown id", true},
		{"beyond the offer", BeyondTheOffer, "no capacity", false},
		{"counts no resources", CountsNoResources, "no capacity", true},
		{"ignores limits of users", IgnoresUserLimits, "user at limit", true},
		{"preempts for ever", PreemptsForEver, "preempt", true},
		{"answers for an old round", OldRound, "not ready", false},
		{"hangs", func() scheduler.TaskScheduler { return HangsAt(5) }, "no answer in time", false},
		{"crashes", func() scheduler.TaskScheduler { return CrashesAt(5) }, "panicked", false},
		{"huge answer", HugeAnswer, "an answer of more than", false},
		{"moody", moody(), "decided", true},
		{"forgetful", Forgetful, "restart after round", true},
		{"nosy", Nosy, "decided", true},
		{"lax settings", LaxSettings, "accepts", true},
		{"wakes for ever", WakesForEver, "nothing was launched and nothing ended", true},
		{"ignores requests", func() scheduler.TaskScheduler {
			return ignores(policies.Pages(), func(d *scheduler.Decisions) { d.Answers = nil })
		}, "was not answered", true},
		{"admits nobody", func() scheduler.TaskScheduler {
			return ignores(policies.Admit(), func(d *scheduler.Decisions) { d.Admit, d.Refuse = nil, nil })
		}, "neither admitted nor refused", false},
		{"explains nothing", ExplainsNothing, "Explain", true},
		{"divides by zero", DividesByZero, "FairShare is NaN", true},
		{"launches late", LaunchesLate, "idled for", true},
		{"launches gangs late", GangsLate, "fits whole", true},
		{"wastes reservations", WastesReservations, "fits whole", true},
		{"waits for locality", WaitsForLocality, "waits for locality for", true},
		{"reserves in vain", ReservesInVain, "nothing ended for", false},
		{"reserves forgetfully", ReservesForgetfully, "restart after round", true},
		{"speculates too soon", SpeculatesTooSoon, "not running", true},
		{"suspends anywhere", SuspendsAnywhere, "can't suspend", true},
	}
}

// creature is a good policy with falsified answers.
type creature struct {
	scheduler.TaskScheduler
	spoil func(scheduler.Round, *scheduler.Decisions)
}

// tamed falsifies the answers of a good policy that launches all that fits.
func tamed(spoil func(scheduler.Round, *scheduler.Decisions)) scheduler.TaskScheduler {
	return creature{policies.Remember(), func(r scheduler.Round, d *scheduler.Decisions) {
		d.Checkpoint = nil
		spoil(r, d)
	}}
}

func ignores(p scheduler.TaskScheduler, spoil func(*scheduler.Decisions)) scheduler.TaskScheduler {
	return creature{p, func(_ scheduler.Round, d *scheduler.Decisions) { spoil(d) }}
}

// AssignTasks is the good policy's, spoilt.
func (c creature) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	d, err := c.TaskScheduler.AssignTasks(r)
	c.spoil(r, &d)
	return d, err
}

// LaunchesNothing judges settings and does no more.
func LaunchesNothing() scheduler.TaskScheduler {
	return tamed(func(_ scheduler.Round, d *scheduler.Decisions) { d.Launch = nil })
}

// LaunchesLate launches only at its wake-ups, up to two seconds late.
func LaunchesLate() scheduler.TaskScheduler {
	return creature{policies.Delay(), func(r scheduler.Round, d *scheduler.Decisions) {
		woken := slices.ContainsFunc(r.Events, func(e scheduler.Event) bool { _, is := e.(scheduler.TimePassed); return is })
		if len(d.Launch) > 0 && !woken {
			const late = scheduler.Time(2e9)
			d.Launch, d.WakeAt = nil, (r.Now/late+1)*late
		}
	}}
}

// GangsLate launches gangs only in every fifth second, and meanwhile claims to preempt for them.
func GangsLate() scheduler.TaskScheduler {
	return creature{policies.Delay(), func(r scheduler.Round, d *scheduler.Decisions) {
		const late = scheduler.Time(5e9)
		before := len(d.Launch)
		if r.Now/1e9%5 != 0 {
			d.Launch = slices.DeleteFunc(d.Launch, func(l scheduler.Launch) bool { return len(l.Launchers) > 1 })
		}
		if next := (r.Now/late + 1) * late; len(d.Launch) < before && (d.WakeAt == 0 || d.WakeAt > next) {
			d.WakeAt = next
		}
	}}
}

// WaitsForLocality launches only in every second minute, and claims that jobs wait for locality.
func WaitsForLocality() scheduler.TaskScheduler {
	return creature{policies.Delay(), func(r scheduler.Round, d *scheduler.Decisions) {
		const long = scheduler.Time(60e9)
		d.Waiting = nil
		for _, e := range r.Events {
			if s, is := e.(scheduler.JobSubmitted); is {
				d.Waiting = append(d.Waiting, scheduler.Waiting{Job: s.Job.ID, Reason: scheduler.WaitLocality, Detail: "near its input"})
			}
		}
		if r.Now/long%2 != 0 && len(d.Launch) > 0 {
			d.Launch, d.WakeAt = nil, (r.Now/long+1)*long
		}
	}}
}

// WastesReservations preempts for gangs, and launches nothing on the slots.
func WastesReservations() scheduler.TaskScheduler {
	return odd("", policies.Gang, 0, func(v *view.View, _ scheduler.Round, d *scheduler.Decisions) {
		d.Launch = slices.DeleteFunc(d.Launch, func(l scheduler.Launch) bool { return v.Capacity.Reserved(v.Bundle(l.Bundle).Job.ID()) })
	}).New()
}

// LaunchesTwice decides every launch twice.
func LaunchesTwice() scheduler.TaskScheduler {
	return tamed(func(_ scheduler.Round, d *scheduler.Decisions) { d.Launch = append(d.Launch, d.Launch...) })
}

// HalfABundle forgets the last group of every bundle.
func HalfABundle() scheduler.TaskScheduler {
	return tamed(func(_ scheduler.Round, d *scheduler.Decisions) {
		for i, l := range d.Launch {
			d.Launch[i].Launchers = l.Launchers[:len(l.Launchers)-1]
		}
	})
}

// UnknownIDs also launches, preempts, resumes and admits unknown ids.
func UnknownIDs() scheduler.TaskScheduler {
	const never = 1 << 50
	return tamed(func(_ scheduler.Round, d *scheduler.Decisions) {
		d.Launch = append(d.Launch, scheduler.Launch{Bundle: never, Launchers: []scheduler.LauncherID{never}})
		d.Preempt = append(d.Preempt, scheduler.Preempt{Victims: []scheduler.AttemptID{never}, Mode: scheduler.PreemptKill, For: never})
		d.Resume = append(d.Resume, scheduler.Resume{Attempt: never})
		d.Admit = append(d.Admit, scheduler.Admit{Job: never})
	})
}

// BeyondTheOffer starts each bundle that becomes ready on the first launcher it knows, with or
// without room.
func BeyondTheOffer() scheduler.TaskScheduler {
	var first scheduler.LauncherID
	return tamed(func(r scheduler.Round, d *scheduler.Decisions) {
		d.Launch = nil
		for _, e := range r.Events {
			switch e := e.(type) {
			case scheduler.LauncherJoined:
				first = cmp.Or(first, e.Launcher)
			case scheduler.BundleReady:
				d.Launch = append(d.Launch, scheduler.Launch{Bundle: e.Bundle, Launchers: slices.Repeat([]scheduler.LauncherID{first}, len(e.Groups))})
			}
		}
	})
}

// CountsNoResources places bundles as if none asked for countable resources.
func CountsNoResources() scheduler.TaskScheduler { return uncounting{policies.Remember()} }

type uncounting struct{ scheduler.TaskScheduler }

// Start hides what groups ask for.
func (u uncounting) Start(c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	s.Events = uncounted(s.Events)
	return u.TaskScheduler.Start(c, s, e)
}

// AssignTasks hides what groups ask for.
func (u uncounting) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	r.Events = uncounted(r.Events)
	return u.TaskScheduler.AssignTasks(r)
}

func uncounted(events []scheduler.Event) []scheduler.Event {
	events = slices.Clone(events)
	for i, e := range events {
		if ready, is := e.(scheduler.BundleReady); is {
			ready.Groups = slices.Clone(ready.Groups)
			for g := range ready.Groups {
				ready.Groups[g].Resources = scheduler.Resources{}
			}
			events[i] = ready
		}
	}
	return events
}

// IgnoresUserLimits places bundles as if no user had a limit.
func IgnoresUserLimits() scheduler.TaskScheduler { return unlimited{policies.Remember()} }

type unlimited struct{ scheduler.TaskScheduler }

// Start hides the limits.
func (u unlimited) Start(c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	s.Events = withoutLimits(s.Events)
	return u.TaskScheduler.Start(c, s, e)
}

// AssignTasks hides the limits.
func (u unlimited) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	r.Events = withoutLimits(r.Events)
	return u.TaskScheduler.AssignTasks(r)
}

func withoutLimits(events []scheduler.Event) []scheduler.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e scheduler.Event) bool {
		_, is := e.(scheduler.UserLimitSet)
		return is
	})
}

// PreemptsForEver preempts whatever starts, for the latest job.
func PreemptsForEver() scheduler.TaskScheduler {
	var last scheduler.JobID
	running := map[scheduler.AttemptID]bool{}
	return tamed(func(r scheduler.Round, d *scheduler.Decisions) {
		for _, e := range r.Events {
			switch e := e.(type) {
			case scheduler.JobSubmitted:
				last = e.Job.ID
			case scheduler.AttemptStarted:
				running[e.Attempt] = true
			case scheduler.AttemptEnded:
				delete(running, e.Attempt)
			}
		}
		var victims []scheduler.AttemptID
		for id := range running {
			victims = append(victims, id)
		}
		slices.Sort(victims)
		for _, id := range victims {
			d.Preempt = append(d.Preempt, scheduler.Preempt{Victims: []scheduler.AttemptID{id}, Mode: scheduler.PreemptKill, For: last})
		}
	})
}

// OldRound answers each round with the answer to the previous one.
func OldRound() scheduler.TaskScheduler {
	var before scheduler.Decisions
	return tamed(func(_ scheduler.Round, d *scheduler.Decisions) { *d, before = before, *d })
}

// CrashesAt panics at its nth round.
func CrashesAt(n int) scheduler.TaskScheduler {
	rounds := 0
	return tamed(func(scheduler.Round, *scheduler.Decisions) {
		if rounds++; rounds == n {
			panic(fmt.Sprintf("round %d is one too many", n))
		}
	})
}

// HangsAt never answers its nth round, until it is terminated.
func HangsAt(n int) scheduler.TaskScheduler {
	rounds, end := 0, make(chan struct{})
	return hanging{tamed(func(scheduler.Round, *scheduler.Decisions) {
		if rounds++; rounds == n {
			<-end
		}
	}), end}
}

type hanging struct {
	scheduler.TaskScheduler
	end chan struct{}
}

// Terminate also ends the hanging call.
func (h hanging) Terminate() { close(h.end) }

// HugeAnswer gives a reason of five million words for a job's wait.
func HugeAnswer() scheduler.TaskScheduler {
	const size = 5 << 20
	return tamed(func(r scheduler.Round, d *scheduler.Decisions) {
		for _, e := range r.Events {
			if s, ok := e.(scheduler.JobSubmitted); ok {
				d.Waiting = append(d.Waiting, scheduler.Waiting{Job: s.Job.ID, Reason: scheduler.WaitTurn, Detail: strings.Repeat("x", size)})
			}
		}
	})
}

// moody policies decide differently the second time: each holds back the launches of another round.
func moody() func() scheduler.TaskScheduler {
	var born atomic.Uint64
	return func() scheduler.TaskScheduler {
		mood := born.Add(1) % 3
		return tamed(func(r scheduler.Round, d *scheduler.Decisions) {
			d.WakeAt = 0
			if r.Number%3 == mood && len(d.Launch) > 0 {
				d.Launch, d.WakeAt = nil, r.Now+1
			}
		})
	}
}

// Forgetful counts the rounds since it was started, and decides by the count.
func Forgetful() scheduler.TaskScheduler {
	rounds := 0
	return tamed(func(r scheduler.Round, d *scheduler.Decisions) {
		if rounds++; rounds%7 == 0 && len(d.Launch) > 0 {
			d.Launch, d.WakeAt = nil, r.Now+1
		}
	})
}

// Nosy decides by the number of calls of its Status.
func Nosy() scheduler.TaskScheduler {
	n := &nosy{}
	n.TaskScheduler = tamed(func(r scheduler.Round, d *scheduler.Decisions) {
		if n.looks%2 == 1 && len(d.Launch) > 0 {
			d.Launch, d.WakeAt = nil, r.Now+1
			n.looks = 0
		}
	})
	return n
}

type nosy struct {
	scheduler.TaskScheduler
	looks int
}

// Status changes something.
func (n *nosy) Status() (scheduler.Status, error) {
	n.looks++
	return n.TaskScheduler.Status()
}

// LaxSettings accepts any settings.
func LaxSettings() scheduler.TaskScheduler { return lax{policies.Remember()} }

type lax struct{ scheduler.TaskScheduler }

// Check accepts anything.
func (l lax) Check(scheduler.Config) error { return nil }

// Start ignores the settings.
func (l lax) Start(_ scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	return l.TaskScheduler.Start(scheduler.Config{}, s, e)
}

// WakesForEver always asks to be woken at once.
func WakesForEver() scheduler.TaskScheduler {
	return tamed(func(r scheduler.Round, d *scheduler.Decisions) { d.WakeAt = r.Now + 1 })
}

// ExplainsNothing knows no job.
func ExplainsNothing() scheduler.TaskScheduler { return mute{policies.Remember()} }

type mute struct{ scheduler.TaskScheduler }

// Explain knows no job.
func (mute) Explain(scheduler.JobID) (scheduler.Explanation, error) {
	return scheduler.Explanation{}, scheduler.ErrUnknownJob
}

// DividesByZero shows a share of nothing, in a pool with a bell character in its name.
func DividesByZero() scheduler.TaskScheduler { return dizzy{policies.Remember()} }

type dizzy struct{ scheduler.TaskScheduler }

// Status shows NaN.
func (dizzy) Status() (scheduler.Status, error) {
	return scheduler.Status{Pools: []scheduler.PoolStatus{{Name: "a\x07", FairShare: math.NaN()}}}, nil
}
