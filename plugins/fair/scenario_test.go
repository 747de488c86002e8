package fair

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/fair/allocation"
	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/plugins/internal/vectors"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	sdkshares "github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
)

type clusterOf struct{ Racks, NodesPerRack, MapSlotsPerNode, ReduceSlotsPerNode int }

type configOf struct {
	AssignMultiple, Preemption, PreemptionOnlyLog, SizeBasedWeight bool
	LocalityDelayNodeMs, LocalityDelayRackMs, PreemptionIntervalMs int
	AllowUndeclared                                                *bool `json:"mapred.fairscheduler.allow.undeclared.pools"`
}

type allocationsOf struct {
	Pools map[string]struct {
		MinMaps, MinReduces, MaxMaps, MaxReduces, MaxRunningJobs int
		Weight                                                   float64
		SchedulingMode                                           string
		MinSharePreemptionTimeout                                int
	}
	Users                      map[string]struct{ MaxRunningJobs int }
	UserMaxJobsDefault         int
	FairSharePreemptionTimeout int
	DefaultPoolSchedulingMode  string
}

type task struct {
	Job  scheduler.JobID
	Type string
	Task int
}

type step struct {
	Op                                        string
	Job                                       scheduler.JobID
	Maps, Reduces                             int
	Pool, ExplicitPool, User, Priority, State string
	Pools                                     []string
	MapInputHosts                             [][]string
	Ms                                        int
	Node                                      string
	Task                                      task
	Expect                                    []task
	Path                                      string
	Value                                     json.RawMessage
	Tolerance                                 float64
}

// xml writes the allocations as Hadoop's file, which the policy then reads.
func (a allocationsOf) xml() []byte {
	var s strings.Builder
	put := func(name string, n int) {
		if n != 0 {
			fmt.Fprintf(&s, "<%s>%d</%s>\n", name, n, name)
		}
	}
	s.WriteString("<allocations>\n")
	for name, p := range a.Pools {
		fmt.Fprintf(&s, "<pool name=%q>\n", name)
		put("minMaps", p.MinMaps)
		put("minReduces", p.MinReduces)
		put("maxMaps", p.MaxMaps)
		put("maxReduces", p.MaxReduces)
		put("maxRunningJobs", p.MaxRunningJobs)
		put("minSharePreemptionTimeout", p.MinSharePreemptionTimeout)
		if p.Weight != 0 {
			fmt.Fprintf(&s, "<weight>%v</weight>\n", p.Weight)
		}
		if p.SchedulingMode != "" {
			fmt.Fprintf(&s, "<schedulingMode>%s</schedulingMode>\n", p.SchedulingMode)
		}
		s.WriteString("</pool>\n")
	}
	for name, u := range a.Users {
		fmt.Fprintf(&s, "<user name=%q><maxRunningJobs>%d</maxRunningJobs></user>\n", name, u.MaxRunningJobs)
	}
	put("userMaxJobsDefault", a.UserMaxJobsDefault)
	put("fairSharePreemptionTimeout", a.FairSharePreemptionTimeout)
	if a.DefaultPoolSchedulingMode != "" {
		fmt.Fprintf(&s, "<defaultPoolSchedulingMode>%s</defaultPoolSchedulingMode>\n", a.DefaultPoolSchedulingMode)
	}
	s.WriteString("</allocations>\n")
	return []byte(s.String())
}

// site plays JobTracker and TaskTrackers: a heartbeat is a few rounds in which one
// launcher alone has something free, and of which one launch each is accepted.
// Shares are computed when a step says so.
type site struct {
	t        *testing.T
	v        vector
	p        *Policy
	number   uint64
	now      scheduler.Time
	nodes    map[string]scheduler.LauncherID
	free     map[scheduler.LauncherID]map[string]int
	running  map[task]scheduler.AttemptID
	attempts scheduler.AttemptID
	jobs     map[scheduler.JobID]scheduler.Job
	offered  scheduler.LauncherID
	checked  scheduler.Time // when preemption was
}

const tasksMax = 1000 // of a job and type

func (k task) bundle() scheduler.BundleID {
	n := scheduler.BundleID(k.Job)*2*tasksMax + scheduler.BundleID(k.Task) //nolint:gosec // small
	if k.Type == "reduce" {
		n += tasksMax
	}
	return n
}

func taskOf(b scheduler.BundleID) task {
	k := task{Job: scheduler.JobID(b / (2 * tasksMax)), Type: "map", Task: int(b % tasksMax)}
	if b%(2*tasksMax) >= tasksMax {
		k.Type = "reduce"
	}
	return k
}

func newSite(t *testing.T, v vector) *site {
	mode := allocation.PreemptOff
	if v.Config.Preemption {
		mode = allocation.PreemptKill
	}
	text := fmt.Sprintf(`
allocation-file: fair.xml
placement: {rules: [explicit, property, default], property: pool}
locality: {node-delay: %dms, rack-delay: %dms}
preemption: {mode: %q, dry-run: %t}
weights: {size-based: %t}
load: {manager: level-slots, max-difference: 0}
`, v.Config.LocalityDelayNodeMs, v.Config.LocalityDelayRackMs, mode, v.Config.PreemptionOnlyLog, v.Config.SizeBasedWeight)
	s := &site{
		t: t, v: v, p: &Policy{}, nodes: map[string]scheduler.LauncherID{}, free: map[scheduler.LauncherID]map[string]int{},
		running: map[task]scheduler.AttemptID{}, jobs: map[scheduler.JobID]scheduler.Job{},
	}
	c := scheduler.Config{Text: []byte(text), Files: []scheduler.ConfigFile{{Name: "fair.xml", Data: v.Allocations.xml()}}}
	if _, err := s.p.Start(c, scheduler.Snapshot{}, scheduler.Environment{}); err != nil {
		t.Fatal(err)
	}
	var events []scheduler.Event
	for r := range v.Cluster.Racks {
		for n := range v.Cluster.NodesPerRack {
			id := scheduler.LauncherID(len(s.nodes) + 1)
			s.nodes[fmt.Sprint("tt", id)] = id
			s.free[id] = map[string]int{"map": v.Cluster.MapSlotsPerNode, "reduce": v.Cluster.ReduceSlotsPerNode}
			events = append(events, scheduler.LauncherJoined{
				Launcher: id, Host: fmt.Sprintf("rack%d.node%d", r+1, n+1), Rack: fmt.Sprintf("rack%d", r+1),
				Slots: []scheduler.SlotCount{{Kind: "map", Count: v.Cluster.MapSlotsPerNode}, {Kind: "reduce", Count: v.Cluster.ReduceSlotsPerNode}},
			})
		}
	}
	s.emit(events...)
	return s
}

// round numbers a round.
func (s *site) round(r scheduler.Round) scheduler.Round {
	s.number++
	r.Number, r.Now = s.number, s.now
	return r
}

// emit sends the policy events, without a decision.
func (s *site) emit(events ...scheduler.Event) {
	s.t.Helper()
	s.take(scheduler.Round{Events: events})
}

func (s *site) take(r scheduler.Round) (d scheduler.Decisions) {
	s.t.Helper()
	if err := s.p.take(s.round(r), &d); err != nil {
		s.t.Fatal(err)
	}
	return d
}

func scenario(t *testing.T, v vector) {
	s := newSite(t, v)
	for i, x := range v.Steps {
		s.step(x)
		if t.Failed() {
			t.Fatalf("at step %d: %+v", i, x)
		}
	}
}

func (s *site) step(x step) {
	s.t.Helper()
	switch x.Op {
	case "submit":
		s.submit(x)
		s.p.preemption.Update()
	case "advance", "tick", "update":
		s.now = s.now.Add(time.Duration(x.Ms) * time.Millisecond)
		s.emit()
		if x.Op != "tick" {
			s.p.preemption.Update()
		}
	case "heartbeat":
		got := s.heartbeat(x.Node)
		if !slices.Equal(got, x.Expect) {
			s.t.Errorf("heartbeat of %s gave %v, want %v", x.Node, got, x.Expect)
		}
	case "finish":
		s.end(x.Task, scheduler.Finished)
	case "preemption-check":
		s.preempt()
		s.p.preemption.Update()
	case "set-priority", "move-job":
		j := s.jobs[x.Job]
		if x.Op == "move-job" {
			j.Pool = x.Pool
		} else {
			j.Priority = vectors.Priority(s.t, x.Priority)
		}
		s.jobs[x.Job] = j
		s.emit(scheduler.JobUpdated{At: s.now, Job: j.ID, Pool: j.Pool, Priority: j.Priority, Properties: j.Properties})
	case "set-state": // jobs are live, or unknown
	case "touch-pools": // a pool that has no job has no state to have
	case "expect":
		s.expect(x)
	default:
		s.t.Fatalf("unknown step %q: teach this test, or list the case in testdata/excluded.json", x.Op)
	}
}

func (s *site) submit(x step) {
	job := scheduler.Job{ID: x.Job, User: x.User, Pool: x.ExplicitPool, Priority: vectors.Priority(s.t, x.Priority), Submitted: s.now}
	if x.Pool != "" {
		job.Properties = []scheduler.Property{{Name: "pool", Value: x.Pool}}
	}
	job.Stages = []scheduler.Stage{{ID: 0, Groups: x.Maps, Kind: "map", Slots: 1}, {ID: 1, Groups: x.Reduces, Kind: "reduce", Slots: 1}}
	s.jobs[x.Job] = job
	events := []scheduler.Event{scheduler.JobSubmitted{At: s.now, Job: job}}
	if slices.Contains([]string{"SUCCEEDED", "FAILED", "KILLED"}, x.State) {
		s.emit(append(events, scheduler.JobFinished{At: s.now, Job: x.Job})...)
		return
	}
	for i := range x.Maps {
		g := scheduler.Group{Stage: 0, Kind: "map", Slots: 1}
		if x.MapInputHosts != nil {
			for _, h := range x.MapInputHosts[i] {
				g.Places = append(g.Places, scheduler.Place{Host: h, Rack: h[:strings.Index(h, ".")], Bytes: 1})
			}
		}
		events = append(events, scheduler.BundleReady{At: s.now, Job: x.Job, Bundle: task{x.Job, "map", i}.bundle(), Groups: []scheduler.Group{g}})
	}
	for i := range x.Reduces {
		g := scheduler.Group{Stage: 1, Kind: "reduce", Slots: 1}
		events = append(events, scheduler.BundleReady{At: s.now, Job: x.Job, Bundle: task{x.Job, "reduce", i}.bundle(), Groups: []scheduler.Group{g}})
	}
	s.emit(events...)
}

// heartbeat hands out tasks one at a time, of the type of which the node runs
// less, one or until nothing more is given: the JobTracker's part.
func (s *site) heartbeat(node string) []task {
	id := s.nodes[node]
	rejected := map[string]bool{}
	given := []task{}
	for len(rejected) < 2 && (s.v.Config.AssignMultiple || len(given) == 0) {
		kind := "map"
		if s.busy(id, "map") > s.busy(id, "reduce") {
			kind = "reduce"
		}
		if rejected[kind] {
			kind = map[string]string{"map": "reduce", "reduce": "map"}[kind]
		}
		k, ok := s.offer(id, kind)
		if !ok {
			rejected[kind] = true
			continue
		}
		given = append(given, k)
	}
	return given
}

func (s *site) busy(id scheduler.LauncherID, kind string) int {
	total := s.v.Cluster.MapSlotsPerNode
	if kind == "reduce" {
		total = s.v.Cluster.ReduceSlotsPerNode
	}
	return total - s.free[id][kind]
}

// offer makes a round with what one node has free of one kind, and accepts the
// first launch.
func (s *site) offer(id scheduler.LauncherID, kind string) (task, bool) {
	k := s.p.shares.World.Kind(kind)
	if s.free[id][kind] == 0 || s.p.shares.Tree.Root().Of(k).Demand() == s.p.shares.Tree.Root().Of(k).Running {
		return task{}, false
	}
	var r scheduler.Round
	if s.offered != 0 && s.offered != id {
		r.Offers = append(r.Offers, scheduler.Offer{Launcher: s.offered})
	}
	r.Offers = append(r.Offers, scheduler.Offer{Launcher: id, Free: []scheduler.SlotCount{{Kind: kind, Count: s.free[id][kind]}}})
	slices.SortFunc(r.Offers, func(a, b scheduler.Offer) int { return int(a.Launcher) - int(b.Launcher) })
	s.offered = id
	d := s.take(r)
	d.Launch, _ = s.p.placement.Assign(false)
	if len(d.Launch) == 0 {
		return task{}, false
	}
	var outcomes []scheduler.Event
	for i, l := range d.Launch {
		o := scheduler.Outcome{At: s.now, Round: s.number, Kind: scheduler.DecisionLaunch, Index: i, Launch: l, Reason: scheduler.NoCapacity}
		if i == 0 {
			s.attempts++
			o.Accepted, o.Reason, o.Attempts = true, scheduler.NotRefused, []scheduler.AttemptID{s.attempts}
		}
		outcomes = append(outcomes, o)
	}
	got := taskOf(d.Launch[0].Bundle)
	s.running[got] = s.attempts
	s.free[id][kind]--
	stage := scheduler.StageID(b2i(kind == "reduce"))
	s.take(scheduler.Round{
		Events: append(outcomes, scheduler.AttemptStarted{
			At: s.now, Attempt: s.attempts, Job: got.Job, Bundle: d.Launch[0].Bundle, Stage: stage, Launcher: id,
		}),
		Offers: []scheduler.Offer{{Launcher: id, Free: []scheduler.SlotCount{{Kind: kind, Count: s.free[id][kind]}}}},
	})
	return got, true
}

func (s *site) end(k task, outcome scheduler.AttemptOutcome) {
	a := s.p.view.Attempt(s.running[k])
	if a == nil {
		s.t.Fatalf("%v does not run", k)
	}
	s.free[a.Launcher][k.Type]++
	delete(s.running, k)
	groups := a.Bundle.Groups
	s.emit(scheduler.AttemptEnded{At: s.now, Attempt: a.ID, Outcome: outcome})
	if outcome == scheduler.Preempted {
		s.emit(scheduler.BundleReady{At: s.now, Job: k.Job, Bundle: k.bundle(), Groups: groups})
	}
}

// preempt accepts every set.
func (s *site) preempt() {
	if !s.v.Config.Preemption || s.now.Sub(s.checked) < time.Duration(s.v.Config.PreemptionIntervalMs)*time.Millisecond {
		return
	}
	s.checked = s.now
	var d scheduler.Decisions
	s.p.preempt(&d)
	for i, x := range d.Preempt {
		s.emit(scheduler.Outcome{At: s.now, Round: s.number, Kind: scheduler.DecisionPreempt, Index: i, Accepted: true, Preempt: x})
	}
	for _, x := range d.Preempt {
		for _, id := range x.Victims {
			s.end(taskOf(s.p.view.Attempt(id).Bundle.ID), scheduler.Preempted)
		}
	}
}

var levels = map[string]scheduler.Locality{"NODE": scheduler.NodeLocal, "RACK": scheduler.RackLocal, "ANY": scheduler.Remote}

func (s *site) expect(x step) {
	s.t.Helper()
	var want float64
	if json.Unmarshal(x.Value, &want) != nil {
		var word string
		var flag bool
		switch {
		case json.Unmarshal(x.Value, &flag) == nil:
			want = float64(b2i(flag))
		case json.Unmarshal(x.Value, &word) == nil && x.Path[strings.Index(x.Path, "."):] == ".pool":
			if got := s.p.shares.Jobs[jobIn(s.t, x.Path)].Pool.Spec.Path; got != word {
				s.t.Errorf("%s is %s, want %s", x.Path, got, word)
			}
			return
		default:
			want = float64(levels[word])
		}
	}
	near(s.t, x.Path, s.value(x.Path), want, x.Tolerance)
}

func jobIn(t *testing.T, path string) (id scheduler.JobID) {
	t.Helper()
	if _, err := fmt.Sscanf(path, "job%d.", &id); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return id
}

func (s *site) value(path string) float64 {
	s.t.Helper()
	parts := strings.Split(path, ".")
	if name, ok := strings.CutPrefix(parts[0], "pool:"); ok {
		x, k := s.p.shares.Pools[name], s.p.shares.World.Kind(parts[1])
		if x == nil {
			return 0 // a pool without jobs
		}
		switch parts[2] {
		case "running":
			return float64(x.Node.Of(k).Running)
		case "demand":
			return float64(x.Node.Of(k).Demand())
		case "fairShare":
			return x.Node.Of(k).Share
		case "tasksToPreempt":
			return float64(s.p.preemption.Due(x, k))
		}
	}
	j := s.p.shares.Jobs[jobIn(s.t, path)]
	switch parts[1] {
	case "initialized":
		return float64(b2i(j.Runnable))
	case "lastMapLocality":
		return float64(j.Wait.Level)
	case "waitedMs":
		return float64(j.Wait.Total(s.now).Milliseconds())
	case "skipped":
		return float64(b2i(j.Wait.Skipped))
	}
	k := s.p.shares.World.Kind(parts[1])
	switch parts[2] {
	case "running":
		return float64(j.Node.Of(k).Running)
	case "demand":
		return float64(j.Node.Of(k).Demand())
	case "fairShare":
		return s.jobShare(j, k)
	}
	s.t.Fatalf("unknown path %s", path)
	return 0
}

// jobShare divides a pool's share among its jobs.
func (s *site) jobShare(j *shares.Job, k pooltree.Kind) float64 {
	var sharers []sdkshares.Sharer
	at := 0
	for _, v := range s.p.view.Jobs() {
		other := s.p.shares.Jobs[v.ID()]
		if other.Pool != j.Pool {
			continue
		}
		if other == j {
			at = len(sharers)
		}
		sharers = append(sharers, other.Node.Of(k).Sharer())
	}
	return sdkshares.Divide(j.Pool.Node.Of(k).Share, sharers)[at]
}
