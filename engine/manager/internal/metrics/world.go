package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// scrapeTimeout bounds the wait for the cluster's numbers when metrics are read.
const scrapeTimeout = 2 * time.Second

// Cluster is the cluster's numbers: the core's counts, whether a policy runs, live jobs, and
// launchers.
type Cluster struct {
	Stats core.Stats
	Jobs  []*wire.JobSummary
	// Fitting are the jobs with a ready bundle for which one launcher has room, Unfitting all other
	// jobs with a ready bundle.
	Fitting, Unfitting int
	Launchers          []*wire.LauncherStatus
}

// World reads the cluster's state at a scrape.
type World struct {
	Cluster func(context.Context) (Cluster, error)
	Policy  func() (state string, memory int64, runs bool)
	States  []string    // possible states of a policy
	Wrong   func() bool // the configuration can't be taken
	Stalled func() bool // the event log's disk is full
	Before  core.Stats  // counted before this life
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("hamadryad_"+name, help, labels, nil)
}

var (
	slotsDesc         = describe("slots", "Slots of launchers that are up, by kind.", "kind")
	freeDesc          = describe("slots_free", "Free slots of launchers that are up, by kind.", "kind")
	resourcesDesc     = describe("resources", "Countable resources of launchers that are up, by kind.", "kind")
	resourcesFreeDesc = describe("resources_free", "Countable resources of launchers that are up that are neither held nor reserved, by kind.", "kind")
	launchersDesc     = describe("launchers", "Launchers, by state.", "state")
	jobsDesc          = describe("jobs", "Jobs that have not ended.")
	waitingDesc       = describe("jobs_waiting", "Jobs of which something is ready and does not run, by whether launchers have room for what waits longest: yes, or no.", "fits")
	pendingDesc       = describe("groups_pending", "Groups of live jobs that neither run nor have finished.")
	runningDesc       = describe("groups_running", "Groups that run.")
	policyDesc        = describe("policy_state", "1 for the state that the policy is in: starting, running, fallback (the FIFO in the manager decides) or failed.", "state")
	policyMemory      = describe("policy_memory_bytes", "Memory of the policy plug-in's processes.")
	configDesc        = describe("config_wrong", "1 while the configuration file has mistakes, or the policy refuses it, and what was accepted before stays in force.")
	stalledDesc       = describe("log_stalled", "1 while the event log's disk takes nothing, and the manager no new work.")
	localDesc         = describe("input_attempts_total", "Finished attempts that read stored files, by how near most of it was; from the start of this manager.", "locality")
	readDesc          = describe("read_bytes_total", "Bytes that finished attempts read from stored files and channels, by locality; from the start of this manager.", "locality")
	attemptsDesc      = describe("attempts_total", "Attempts that ended, by outcome.", "outcome")
	jobsEndedDesc     = describe("jobs_ended_total", "Jobs that ended, by outcome.", "outcome")
	acceptedDesc      = describe("decisions_accepted_total", "Decisions of the policy that the manager carried out, by kind.", "kind")
	refusedDesc       = describe("decisions_refused_total", "Decisions of the policy that the manager refused, by reason.", "reason")
	suspendedDesc     = describe("attempts_suspended", "Attempts that are suspended: they hold memory and no slots.")
	suspensionDesc    = describe("suspension_seconds", "For how long attempts were suspended, of suspensions that are over; from the start of this manager.")
	countsOfEvents    = []struct {
		desc *prometheus.Desc
		of   func(core.Stats) uint64
	}{
		{describe("launchers_lost_total", "Launchers that were lost: they were not heard of for manager.launcherLostAfter, or began anew."), func(s core.Stats) uint64 { return s.LaunchersLost }},
		{describe("launchers_left_total", "Launchers that were stopped by people, and said so."), func(s core.Stats) uint64 { return s.LaunchersLeft }},
		{describe("outputs_lost_total", "Stored outputs that were lost."), func(s core.Stats) uint64 { return s.OutputsLost }},
		{describe("bundles_rerun_total", "Bundles that ran again because their output was lost."), func(s core.Stats) uint64 { return s.Rerun }},
		{describe("bundles_preempted_total", "Bundle attempts that a policy took off their slots."), func(s core.Stats) uint64 { return s.Preempted }},
		{describe("bundles_taken_back_total", "Early readers that were stopped for work they wait for."), func(s core.Stats) uint64 { return s.Reclaimed }},
		{describe("attempts_speculative_total", "Second attempts of stragglers."), func(s core.Stats) uint64 { return s.Speculative }},
		{describe("attempts_ahead_total", "Attempts that were launched ahead, to be held by their launcher until an attempt of their stage ends."), func(s core.Stats) uint64 { return s.Ahead }},
		{describe("attempts_ahead_withdrawn_total", "Of them, those that were withdrawn."), func(s core.Stats) uint64 { return s.AheadWithdrawn }},
		{describe("commits_late_total", "Commits that were refused because another attempt had committed, or theirs was given up."), func(s core.Stats) uint64 { return s.LateCommits }},
		{describe("reports_stale_total", "Reports of attempts or launchers that were given up."), func(s core.Stats) uint64 { return s.StaleReports }},
		{describe("commands_total", "Commands to launchers."), func(s core.Stats) uint64 { return s.Commands }},
		{describe("commands_resent_total", "Commands that were sent again because none confirmed them."), func(s core.Stats) uint64 { return s.Resent }},
		{describe("attempts_resumed_total", "Attempts that were suspended and went on."), func(s core.Stats) uint64 { return s.Resumed }},
		{describe("resumes_refused_total", "Suspended attempts that their launcher could not have go on."), func(s core.Stats) uint64 { return s.ResumesRefused }},
		{describe("launchers_excluded_total", "Launchers that were excluded for a while, because attempts of several jobs failed there."), func(s core.Stats) uint64 { return s.Excluded }},
	}
)

// Describe implements prometheus.Collector.
func (w World) Describe(c chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		slotsDesc, freeDesc, resourcesDesc, resourcesFreeDesc, launchersDesc, jobsDesc, waitingDesc, pendingDesc, runningDesc, policyDesc, policyMemory, configDesc, stalledDesc,
		localDesc, readDesc, attemptsDesc, jobsEndedDesc, acceptedDesc, refusedDesc,
		suspendedDesc, suspensionDesc,
	} {
		c <- d
	}
	for _, x := range countsOfEvents {
		c <- x.desc
	}
}

// metric hands out numbers.
type metric chan<- prometheus.Metric

func (m metric) gauge(d *prometheus.Desc, v float64, labels ...string) {
	m <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (m metric) count(d *prometheus.Desc, n uint64, labels ...string) {
	m <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Collect implements prometheus.Collector. The cluster's numbers are left out when they take too
// long to get; the manager's own state never is.
func (w World) Collect(out chan<- prometheus.Metric) {
	to := metric(out)
	w.own(to)
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	c, err := w.Cluster(ctx)
	if err != nil {
		return
	}
	counts(to, c.Stats, w.Before)
	machines(to, c.Launchers)
	var pending, running float64
	for _, j := range c.Jobs {
		running += float64(j.GroupsRunning)
		pending += max(0, float64(j.Groups)-float64(j.GroupsFinished)-float64(j.GroupsRunning))
	}
	to.gauge(jobsDesc, float64(len(c.Jobs)))
	to.gauge(waitingDesc, float64(c.Fitting), "yes")
	to.gauge(waitingDesc, float64(c.Unfitting), "no")
	to.gauge(pendingDesc, pending)
	to.gauge(runningDesc, running)
}

// own are metrics of the manager itself.
func (w World) own(to metric) {
	state, memory, runs := w.Policy()
	for _, s := range w.States {
		to.gauge(policyDesc, flag(s == state), s)
	}
	if runs {
		to.gauge(policyMemory, float64(memory))
	}
	to.gauge(configDesc, flag(w.Wrong()))
	to.gauge(stalledDesc, flag(w.Stalled()))
}

// counts are of the events since this manager began. Earlier counts come from the event log; the
// manager that wrote it reported them.
func counts(to metric, now, before core.Stats) {
	for i, n := range now.Local {
		to.count(localDesc, n-before.Local[i], scheduler.Locality(i).String())
		to.count(readDesc, now.Read[i]-before.Read[i], scheduler.Locality(i).String())
	}
	for i, n := range now.Outcomes {
		if o := scheduler.AttemptOutcome(i); o != 0 {
			to.count(attemptsDesc, n-before.Outcomes[i], o.String())
		}
	}
	for i, n := range now.Jobs {
		if o := scheduler.JobOutcome(i); o != 0 {
			to.count(jobsEndedDesc, n-before.Jobs[i], o.String())
		}
	}
	for i, n := range now.Accepted {
		if k := scheduler.DecisionKind(i); k != 0 {
			to.count(acceptedDesc, n-before.Accepted[i], k.String())
		}
	}
	for i, n := range now.Refused {
		if r := scheduler.RefusalReason(i); r != scheduler.NotRefused {
			to.count(refusedDesc, n-before.Refused[i], r.String())
		}
	}
	for _, x := range countsOfEvents {
		to.count(x.desc, x.of(now)-x.of(before))
	}
	suspensions(to, now, before)
}

// suspensions are the lengths of the finished ones.
func suspensions(to metric, now, before core.Stats) {
	within := map[float64]uint64{}
	all := uint64(0)
	for i, n := range now.Suspensions {
		all += n - before.Suspensions[i]
		if i < len(core.SuspensionBounds) {
			within[core.SuspensionBounds[i].Seconds()] = all
		}
	}
	to <- prometheus.MustNewConstHistogram(suspensionDesc, all, (now.SuspendedFor - before.SuspendedFor).Seconds(), within)
}

// countable are metrics of the launchers' countable resources.
func countable(to metric, launchers []*wire.LauncherStatus) {
	var all, free scheduler.Resources
	for _, l := range launchers {
		if l.State != "lost" {
			all, free = all.Plus(wire.ResourcesOf(l.Resources)), free.Plus(wire.ResourcesOf(l.ResourcesFree))
		}
	}
	for _, c := range all.Counts() {
		to.gauge(resourcesDesc, float64(c.Count), c.Kind)
		to.gauge(resourcesFreeDesc, float64(free.Of(c.Kind)), c.Kind)
	}
}

// machines are metrics of the launchers.
func machines(to metric, launchers []*wire.LauncherStatus) {
	slots, free, states := map[string]float64{}, map[string]float64{}, map[string]float64{}
	suspended := 0.0
	for _, l := range launchers {
		states[l.State]++
		if l.State == "lost" {
			continue
		}
		suspended += float64(l.Suspended)
		for _, s := range l.Slots {
			slots[s.Kind] += float64(s.Count)
		}
		for _, s := range l.Free {
			free[s.Kind] += float64(s.Count)
		}
	}
	countable(to, launchers)
	to.gauge(suspendedDesc, suspended)
	for kind, n := range slots {
		to.gauge(slotsDesc, n, kind)
		to.gauge(freeDesc, free[kind], kind)
	}
	for state, n := range states {
		to.gauge(launchersDesc, n, state)
	}
}
