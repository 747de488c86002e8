package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/plugins/drf"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority"
	"github.com/hamadryad/hamadryad/plugins/fair"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/plugins/hfsp"
	"github.com/hamadryad/hamadryad/plugins/preemptivefair"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// An assignment is the way from the end of an attempt to an accepted launch in its slot: the end
// goes to the core, the core asks the policy, the policy answers, the core checks the answer and
// starts the attempt, and every batch of the core goes to the event log with a real sync. A start
// command leaves when its record is on the disk, so an attempt ends only after that. Launchers,
// connections and the gap between rounds are left out.

const (
	assignPending   = 10_000 // the least number of waiting groups, all the time
	assignSlots     = 4      // of each launcher
	assignmentsGoal = 50_000 // a second
	assignGoalFrom  = 100    // the ends in a round from which the goal holds
)

// assignWarm are the rounds before the measurement, so that both processes have all their memory:
// the steady state is measured.
var assignWarm = struct{ ends, rounds int }{1000, 40}

// assignEnds are numbers of ends in one round, and of measured rounds.
var assignEnds = []struct{ ends, rounds int }{{1, 400}, {10, 300}, {100, 200}, {1000, 20}}

// inside makes the policies that can be measured in process.
var inside = map[string]func() scheduler.TaskScheduler{
	"fair": fair.New, "fifo": fifo.New, "preemptive-fair": preemptivefair.New, "hfsp": hfsp.New, dynamicPriority: dynamicpriority.New, "drf": drf.New,
}

// assignShape is a cluster and its load.
type assignShape struct{ launchers, pools, jobs int } // jobs of all pools together

func (s assignShape) String() string { return fmt.Sprintf("%d-%dx%d", s.launchers, s.pools, s.jobs) }

// assignments measures all shapes with each policy.
func assignments(ctx context.Context, b *bench) error {
	for _, name := range strings.Split(b.policies, ",") {
		if inside[name] == nil {
			return fmt.Errorf("there is no policy %q to measure: use some of %s", name, strings.Join(policyNames(), ","))
		}
		for _, launchers := range []int{500, 1000, 2000, 5000} {
			for _, s := range []assignShape{{launchers, 2, 2}, {launchers, 100, 1000}} {
				if err := b.assignRows(ctx, name, s); err != nil {
					return fmt.Errorf("%s, %v: %w", name, s, err)
				}
			}
		}
		if err := b.idleRow(ctx, name); err != nil {
			return fmt.Errorf("%s, idle jobs: %w", name, err)
		}
	}
	return nil
}

func poolName(i int) string { return fmt.Sprintf("pool-%03d", i) }

func policyNames() []string {
	var names []string
	for n := range inside {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// assignRun is the result of one run of one shape, by index of assignEnds. It has the speed, and
// the 99th percentile of single rounds, in ms: until the launch was accepted, and until its command
// may leave.
type assignRun struct {
	paces              []pace
	accepted, mayLeave float64
}

// pace is how fast assignments are made.
type pace struct {
	perSecond float64
	cpu       float64 // µs of an assignment, of the manager's side and the plug-in
}

// assignRows measures one shape through the plug-in and in process, in turn.
func (b *bench) assignRows(ctx context.Context, name string, s assignShape) error {
	row := fmt.Sprintf("assign-%s-%v", name, s)
	if !wanted(row, b.names) {
		return nil
	}
	var plugin, here []assignRun
	for range b.runs {
		for _, side := range []struct {
			plugin bool
			runs   *[]assignRun
		}{{true, &plugin}, {false, &here}} {
			r, err := b.assignRun(ctx, name, s, side.plugin)
			if err != nil {
				return err
			}
			*side.runs = append(*side.runs, r)
		}
	}
	for i, e := range assignEnds {
		rate := func(r assignRun) float64 { return r.paces[i].perSecond }
		p, h := pick(plugin, rate), pick(here, rate)
		cpu := func(r assignRun) float64 { return r.paces[i].cpu }
		used := func() error {
			return b.out.add(fmt.Sprintf("%s-%d-cpu", row, e.ends), "µs", pick(plugin, cpu), pick(here, cpu), "in process; processor time of both processes")
		}
		if e.ends < assignGoalFrom {
			if err := errors.Join(b.out.add(fmt.Sprintf("%s-%d", row, e.ends), "1/s", p, h, "in process"), used()); err != nil {
				return err
			}
			continue
		}
		goal := []float64{assignmentsGoal}
		err := errors.Join(
			b.out.add(fmt.Sprintf("%s-%d", row, e.ends), "1/s", p, goal, "stated, at least"),
			b.out.add(fmt.Sprintf("%s-%d-inside", row, e.ends), "1/s", h, goal, "stated, at least; in process"),
			used())
		if err != nil {
			return err
		}
	}
	accepted := func(r assignRun) float64 { return r.accepted }
	leave := func(r assignRun) float64 { return r.mayLeave }
	return errors.Join(
		b.out.add(row+"-p99", "ms", pick(plugin, accepted), pick(here, accepted), "in process; one end to its launch, 99 %"),
		b.out.add(row+"-p99-durable", "ms", pick(plugin, leave), pick(here, leave), "in process; the same and on the disk"))
}

func pick[T any](runs []T, get func(T) float64) []float64 {
	var values []float64
	for _, r := range runs {
		values = append(values, get(r))
	}
	return values
}

// assignRun fills a cluster and measures it with each number of ends per round.
func (b *bench) assignRun(ctx context.Context, name string, s assignShape, plugin bool) (assignRun, error) {
	var run assignRun
	a, err := b.newAssigner(ctx, name, plugin, surroundings(name, plugin))
	if err != nil {
		return run, err
	}
	defer a.close()
	todo := s.launchers*assignSlots + assignPending + assignWarm.ends*assignWarm.rounds + assignEnds[0].rounds // of slowest
	for _, e := range assignEnds {
		todo += e.ends * e.rounds
	}
	if err := a.fill(s, todo); err != nil {
		return run, err
	}
	runtime.GC() // garbage of filling the cluster is memory to work with
	if _, err := a.pace(assignWarm.ends, assignWarm.rounds); err != nil {
		return run, fmt.Errorf("warming up: %w", err)
	}
	for _, e := range assignEnds {
		p, err := a.pace(e.ends, e.rounds)
		if err != nil {
			return run, fmt.Errorf("%d ends a round: %w", e.ends, err)
		}
		run.paces = append(run.paces, p)
	}
	run.accepted, run.mayLeave, err = a.slowest(assignEnds[0].rounds)
	return run, err
}

// newAssigner starts a policy on an empty cluster.
func (b *bench) newAssigner(ctx context.Context, name string, plugin bool, around around) (*assigner, error) {
	if err := os.MkdirAll(b.data, 0o755); err != nil {
		return nil, err
	}
	dir := filepath.Join(os.TempDir(), "hamadryad-bench-policy") // a socket's path must be short
	h, err := b.policyHost(ctx, name, plugin, dir)
	if err != nil {
		return nil, err
	}
	return newAssigner(ctx, h, b.data, around)
}

// fill joins launchers, submits the jobs, with groups in all, and lets the policy fill all slots.
func (a *assigner) fill(s assignShape, groups int) error {
	if err := a.join(s.launchers, assignSlots); err != nil {
		return err
	}
	for i := range s.jobs {
		if err := a.submit(poolName(i%s.pools), (groups+s.jobs-1)/s.jobs); err != nil {
			return err
		}
	}
	if err := a.settle(); err != nil {
		return err
	}
	if n := len(a.live); n != s.launchers*assignSlots {
		return fmt.Errorf("the policy filled %d of %d slots", n, s.launchers*assignSlots)
	}
	return nil
}

// pace measures assignments in the steady state.
func (a *assigner) pace(ends, rounds int) (pace, error) {
	before := len(a.live)
	a.prepare(ends * rounds)
	start, used := time.Now(), a.cpu()
	for range rounds {
		if err := a.turn(ends); err != nil {
			return pace{}, err
		}
	}
	if err := a.settle(); err != nil {
		return pace{}, err
	}
	took := time.Since(start)
	used = a.cpu() - used
	if len(a.live) != before {
		return pace{}, fmt.Errorf("%d slots stayed empty", before-len(a.live))
	}
	n := float64(ends * rounds)
	return pace{perSecond: n / took.Seconds(), cpu: float64(used.Microseconds()) / n}, nil
}

// cpu is the processor time of this process and the plug-in's.
func (a *assigner) cpu() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(unix.TimevalToNsec(u.Utime)+unix.TimevalToNsec(u.Stime)) + processTime(a.host.PID())
}

// slowest measures rounds of one end each: from the end to the accepted launch, and to its record
// on the disk. It returns the 99th percentile, in ms.
func (a *assigner) slowest(rounds int) (accepted, durable float64, err error) {
	var first, second []float64
	for range rounds {
		inputs, err := a.ended(nil, 1)
		if err != nil {
			return 0, 0, err
		}
		start := time.Now()
		if err := a.step(inputs...); err != nil {
			return 0, 0, err
		}
		if err := a.decided(); err != nil {
			return 0, 0, err
		}
		first = append(first, float64(time.Since(start).Microseconds())/1000)
		if len(a.fresh) != 1 {
			return 0, 0, fmt.Errorf("one attempt ended and %d were launched", len(a.fresh))
		}
		if err := a.awaitDurable(a.fresh[0].record); err != nil {
			return 0, 0, err
		}
		second = append(second, float64(time.Since(start).Microseconds())/1000)
		if err := a.settle(); err != nil {
			return 0, 0, err
		}
	}
	return percentile(first, 99), percentile(second, 99), nil
}

func percentile(values []float64, p int) float64 {
	s := slices.Sorted(slices.Values(values))
	return s[(len(s)-1)*p/100]
}

// idleRow shows that jobs without launchable work cost a round nothing: it compares rounds with ten
// times as many such jobs.
func (b *bench) idleRow(ctx context.Context, name string) error {
	row := fmt.Sprintf("assign-%s-idle", name)
	if !wanted(row, b.names) {
		return nil
	}
	var many, few []float64
	for range b.runs {
		m, err := b.idleRun(ctx, name, 10_000)
		if err != nil {
			return err
		}
		f, err := b.idleRun(ctx, name, 1000)
		if err != nil {
			return err
		}
		many, few = append(many, m), append(few, f)
	}
	return b.out.add(row, "ms/round", many, few, "a tenth of the idle jobs; at most 1.2")
}

// idleRun returns the time of a round with ten ends, in ms, with further idle jobs: one long
// attempt of each runs, and nothing waits.
func (b *bench) idleRun(ctx context.Context, name string, idle int) (float64, error) {
	const launchers, pools, busy, ends, rounds = 5000, 100, 100, 10, 300
	a, err := b.newAssigner(ctx, name, true, surroundings(name, true))
	if err != nil {
		return 0, err
	}
	defer a.close()
	if err := a.join(launchers, assignSlots); err != nil {
		return 0, err
	}
	for i := range idle {
		if err := a.submit(poolName(i%pools), 1); err != nil {
			return 0, err
		}
	}
	if err := a.settle(); err != nil {
		return 0, err
	}
	if len(a.live) != idle {
		return 0, fmt.Errorf("%d of %d idle jobs run", len(a.live), idle)
	}
	a.live = nil // they never end
	for i := range busy {
		if err := a.submit(poolName(i%pools), (launchers*assignSlots+assignPending+2*ends*rounds)/busy); err != nil {
			return 0, err
		}
	}
	if err := a.settle(); err != nil {
		return 0, err
	}
	if _, err := a.pace(ends, rounds/3); err != nil { // warm
		return 0, err
	}
	p, err := a.pace(ends, rounds)
	return 1000 * ends / p.perSecond, err
}
