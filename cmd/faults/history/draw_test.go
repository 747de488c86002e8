package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// history is all that a seed decides.
type history struct {
	seed      uint64
	policy    string
	launchers int
	slots     int           // of each launcher
	lease     time.Duration // launchers are lost after twice as long
	logFile   string        // size at which a new file of the event log begins
	speculate bool
	jobs      []jobPlan
	faults    []fault
}

// jobPlan is a job and when it is submitted.
type jobPlan struct {
	at   time.Duration
	kind string
	size int           // lines of input, or tasks
	pace time.Duration // pause for each line or task
}

// fault is a fault with its time, duration and target. Target is the index of a launcher or job;
// amount is a further parameter of some kinds.
type fault struct {
	at, lasts time.Duration
	kind      string
	target    int
	amount    int
	// amidst has the fault wait until its launcher is in the middle of a shuffle.
	amidst bool
}

// policies are the policies that a history begins with or changes to.
var policies = []string{"fifo", "fair", "preemptive-fair", "hfsp", paid}

// Jobs come, and faults begin, within these times.
const (
	jobsWithin   = 2500 * time.Millisecond
	faultsWithin = 4 * time.Second
	faultsMax    = 8
	jobsMax      = 7
)

// draw draws the history of a seed.
func draw(seed uint64) history {
	r := rand.New(rand.NewPCG(seed, 0x6861_6d61_6472_7961))
	h := history{
		seed: seed, policy: pick(r, policies), launchers: 3, slots: 2 + r.IntN(2),
		lease:   pick(r, []time.Duration{time.Second, 1500 * time.Millisecond, 2500 * time.Millisecond}),
		logFile: pick(r, []string{"64KiB", "64MiB"}), speculate: r.IntN(2) == 0,
	}
	for range 3 + r.IntN(jobsMax-2) {
		h.jobs = append(h.jobs, drawJob(r))
	}
	slices.SortStableFunc(h.jobs, func(a, b jobPlan) int { return int(a.at - b.at) })
	for range 2 + r.IntN(faultsMax-1) {
		if f := h.drawFault(r); !slices.ContainsFunc(h.faults, f.meets) {
			h.faults = append(h.faults, f)
		}
	}
	slices.SortStableFunc(h.faults, func(a, b fault) int { return int(a.at - b.at) })
	return h
}

func drawJob(r *rand.Rand) jobPlan {
	kinds := make([]string, 0, len(jobKinds))
	for _, k := range jobKinds {
		kinds = append(kinds, k.name)
	}
	return jobPlan{
		at: millis(r, jobsWithin), kind: pick(r, kinds), size: 20 + r.IntN(180),
		pace: pick(r, []time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond}),
	}
}

func (h *history) drawFault(r *rand.Rand) fault {
	k := pick(r, faultKinds())
	f := fault{at: 200*time.Millisecond + millis(r, faultsWithin), kind: k.name, amount: r.IntN(1 << 20)}
	switch k.on {
	case onLauncher:
		f.target = r.IntN(h.launchers)
	case onJob:
		f.target = r.IntN(len(h.jobs))
	}
	if k.lasts {
		f.lasts = 100*time.Millisecond + millis(r, h.lease*5/2) // shorter and longer than lease and loss
	}
	return f
}

// between is the time from the end of a fault to the beginning of the next of the
// same place that would wait for it.
const between = 200 * time.Millisecond

// meets reports whether two faults would affect one thing at one time.
func (f fault) meets(g fault) bool {
	one, other := kindOf(f), kindOf(g)
	same := one.on == other.on && f.target == g.target && one.to == other.to
	return same && f.at < g.at+g.lasts+between && g.at < f.at+f.lasts+between
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// millis draws whole milliseconds below a bound.
func millis(r *rand.Rand, below time.Duration) time.Duration {
	return time.Duration(r.Int64N(below.Milliseconds())) * time.Millisecond
}

// String describes the history, one job or fault a line.
func (h history) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d launchers of %d slots, policy %s, lease %v, event log files of %s, speculation %v\n",
		h.seed, h.launchers, h.slots, h.policy, h.lease, h.logFile, h.speculate)
	for i, j := range h.jobs {
		fmt.Fprintf(&b, "  %6v job %d: %s of %d, pace %v\n", j.at, i, j.kind, j.size, j.pace)
	}
	for _, f := range h.faults {
		fmt.Fprintf(&b, "  %6v %s\n", f.at, f)
	}
	return b.String()
}

// String describes a fault.
func (f fault) String() string {
	text := f.kind
	switch kindOf(f).on {
	case onLauncher:
		text += " of launcher" + fmt.Sprint(f.target)
	case onJob:
		text += " of job " + fmt.Sprint(f.target)
	}
	if f.lasts > 0 {
		text += " for " + f.lasts.String()
	}
	return fmt.Sprintf("%s (%d)", text, f.amount)
}
