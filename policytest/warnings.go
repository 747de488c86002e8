package policytest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// habits are a policy's permitted actions worth a warning, over all games.
type habits struct {
	wakes     int           // rounds that it had asked for, with no other event
	forWork   int           // of those, rounds in which it decided or reported something
	late      int           // requested wake-ups in the past
	pages     int           // answers other than refusals
	idle      time.Duration // the longest time in which nothing ran, work fitted, and it gave no reason
	idleSince scheduler.Time
	skipped   []scheduler.Property // facts of its last Status that tell what its SDK does not know
}

// Bounds from which it warns.
const (
	wakesMin   = 20          // useless wake-ups
	refusedMin = 10          // preemptions refused
	offersMin  = 3           // second attempts not started
	idleWarn   = time.Minute // the default of a site's policyStallAfter
	progressOf = 100 * time.Millisecond
)

// watch handles a round of a game, the answer, and the cluster after it.
func (h *habits) watch(c *cluster.Cluster, r scheduler.Round, d scheduler.Decisions, waiting map[scheduler.JobID]scheduler.WaitReason) {
	if len(r.Events) == 1 && woken(r.Events[0]) {
		h.wakes++
		if len(d.Refuse)+len(d.Admit)+len(d.Preempt)+len(d.Resume)+len(d.Reserve)+len(d.Speculate)+len(d.Launch)+len(d.Waiting)+len(d.Notes) > 0 || d.Checkpoint != nil {
			h.forWork++
		}
	}
	if d.WakeAt != 0 && d.WakeAt <= r.Now {
		h.late++
	}
	for _, a := range d.Answers {
		if a.Status < 400 {
			h.pages++
		}
	}
	if h.idleSince != 0 {
		h.idle = max(h.idle, r.Now.Sub(h.idleSince))
	}
	unsaid := func(j scheduler.JobID) bool { return waiting[j] == scheduler.WaitNone }
	switch {
	case !slices.ContainsFunc(c.Idle(), unsaid):
		h.idleSince = 0
	case h.idleSince == 0:
		h.idleSince = r.Now
	}
}

func woken(e scheduler.Event) bool {
	_, is := e.(scheduler.TimePassed)
	return is
}

// skippedPrefix begins the name of a fact that counts what the policy's SDK does not know and skips.
const skippedPrefix = "skipped"

// status notes what a policy's SDK skips.
func (h *habits) status(s scheduler.Status) {
	h.skipped = nil
	for _, f := range s.Facts {
		if strings.HasPrefix(f.Name, skippedPrefix) {
			h.skipped = append(h.skipped, f)
		}
	}
}

// warnings are likely mistakes of a policy that keeps the rules.
func (h *habits) warnings(d scheduler.Description, t cluster.Tally) (list []string) {
	warn := func(is bool, format string, args ...any) {
		if is {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	warn(t.Preemptions+t.PreemptionsRefused == 0, "it never preempted; if it is meant to, give settings with which it does, or play more games")
	h.ofPreemption(t, warn)
	can := d.Abilities.Has
	warn(can(scheduler.AbilityResume) && t.Suspensions == 0, "it declares AbilityResume, and never suspended anything")
	warn(can(scheduler.AbilityAdmission) && t.Asked > 0 && t.RefusedJobs == 0, "it declares AbilityAdmission, was asked to admit %d jobs, and refused none", t.Asked)
	warn(can(scheduler.AbilityAdmission) && t.Asked > 0 && t.Admitted == 0, "it declares AbilityAdmission, was asked to admit %d jobs, and refused them all", t.Asked)
	warn(can(scheduler.AbilityCheckpoint) && t.Checkpoints == 0, "it declares AbilityCheckpoint, and never gave a checkpoint")
	warn(can(scheduler.AbilityLoggedRequests) && t.Answers > 0 && h.pages == 0, "it declares AbilityLoggedRequests, and answered all of %d requests with an error; the games ask for GET /", t.Answers)
	warn(can(scheduler.AbilityProgress) && d.ProgressEvery < progressOf, "it asks for progress every %s; it is told every %s at most", d.ProgressEvery, progressOf)
	warn(t.Changes > 0 && t.Changed == 0, "it accepted none of %d changes of its settings while it ran, though Check does", t.Changes)
	warn(h.wakes >= wakesMin && h.forWork*wakesMin < h.wakes, "it was woken %d times as it had asked, and did something at %d of them: each wake is a round, and an entry in the manager's log", h.wakes, h.forWork)
	warn(h.late > 0, "it asked %d times to be woken at a time that had passed; times are in nanoseconds, and Round.Now is one", h.late)
	warn(t.SpeculationOffered >= offersMin && t.Seconds == 0, "it never started a second attempt, though %d times a straggler was offered for one (SpeculationOffered)", t.SpeculationOffered)
	for _, f := range h.skipped {
		warn(true, "its SDK, or its stubs, are older than this manager: %s: %s; build it with this version's to get what is missing", f.Name, f.Value)
	}
	warn(h.idle >= idleWarn, "for %s nothing ran and work fitted, and it neither launched it nor said why (Decisions.Waiting); a manager takes that for a broken policy after its policyStallAfter", h.idle.Round(time.Second))
	return list
}

func (h *habits) ofPreemption(t cluster.Tally, warn func(is bool, format string, args ...any)) {
	asked := t.Preemptions + t.PreemptionsRefused
	warn(asked > 0 && t.Preemptions == 0, "none of the %d preemptions that it asked for was accepted: %s", asked, whyRefused(t))
	warn(t.Preemptions > 0 && t.PreemptionsRefused >= refusedMin && t.PreemptionsRefused > t.Preemptions,
		"of %d preemptions that it asked for %d were refused: %s", asked, t.PreemptionsRefused, whyRefused(t))
	warn(t.Reservations > 0 && t.Drawn == 0,
		"it never used a reservation that its preemptions made, of %d: view.View.Fit finds them, for the job or bundle that the preemption named", t.Reservations)
	warn(t.Drawn > 0 && t.Lapsed > t.Drawn,
		"of %d reservations that its preemptions made %d lay unused until they ran out: slots idle meanwhile", t.Reservations, t.Lapsed)
}

func whyRefused(t cluster.Tally) string {
	other := t.PreemptionsRefused - t.Protected - t.NothingGained
	return fmt.Sprintf("%d because a victim was protected (view.Attempt.ProtectedUntil), %d because the beneficiary would not fit, %d for other reasons",
		t.Protected, t.NothingGained, other)
}
