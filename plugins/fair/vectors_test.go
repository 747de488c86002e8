package fair

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/internal/vectors"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// The file of shares is run where they are computed, in sdk/scheduler/algorithms/shares.
func TestVectors(t *testing.T) {
	vectors.Run(t, map[string]func(*testing.T, vector){
		"":                  scenario,
		"fair-comparator":   comparator,
		"fifo-comparator":   comparator,
		"allocations":       allocationFile,
		"allocations-edge":  allocationEdge,
		"pool-admission":    admission,
		"node-load-cap":     loadCap,
		"node-can-assign":   canAssign,
		"size-based-weight": bySize,
		"priority-weight":   byPriority,
		"new-job-boost":     boost,
		"preemption-count":  preemptionCount,
	})
}

// vector is a case of any of the files.
type vector struct {
	ID, Kind, Origin, Source, Note string
	Steps                          []step // of a scenario, with the next three
	Cluster                        clusterOf
	Config                         configOf
	Allocations                    allocationsOf

	TotalSlots    float64
	Schedulables  []schedulableOf
	Expected      json.RawMessage
	ExpectedOrder []string

	XML, ExpectText, Expect json.RawMessage
	Declared                []string
	Cases                   []struct {
		Pool          *string
		Accepted      bool
		ErrorMentions string
	}

	AppliesTo                 []string
	MaxDiff                   float64
	RunnableTasks, NodeSlots  int
	ExpectedCap, NodeRunning  int
	Demand, Running, MinShare int
	FairShare, ExpectedWeight float64
	Priority                  string
	AgeMs                     int64
	BaseWeight                float64
	MsSinceAtMinShare         int64
	MsSinceAtHalfFairShare    int64
	MinShareTimeoutMs         *int64
	FairShareTimeoutMs        *int64
	ExpectedTasksToPreempt    int
	StarvedForMinShare        bool
	StarvedForFairSh          bool `json:"starvedForFairShare"`
}

type schedulableOf struct {
	Name                              string
	Demand, MinShare, Weight, Running float64
	StartTime                         int64
	Priority                          string
}

func loadCap(t *testing.T, v vector) {
	crowd := Crowd{Runnable: v.RunnableTasks, Total: int(v.TotalSlots)}
	if got := levelCap(v.NodeSlots, crowd, v.MaxDiff); got != v.ExpectedCap {
		t.Errorf("cap %d, want %d", got, v.ExpectedCap)
	}
}

func canAssign(t *testing.T, v vector) {
	for _, kind := range v.AppliesTo {
		l := &view.Launcher{Slots: []scheduler.SlotCount{{Kind: kind, Count: v.NodeSlots}}}
		got := v.NodeRunning < levelSlots{v.MaxDiff}.Cap(l, kind, Crowd{Runnable: v.RunnableTasks, Total: int(v.TotalSlots)})
		if want := string(v.Expected) == "true"; got != want {
			t.Errorf("can assign a %s: %t, want %t", kind, got, want)
		}
	}
}

func bySize(t *testing.T, v vector) {
	near(t, "weight", sizeWeight(v.Demand), v.ExpectedWeight, 1e-6)
}

func byPriority(t *testing.T, v vector) {
	near(t, "weight", priorityWeight(vectors.Priority(t, v.Priority)), v.ExpectedWeight, 0)
}

func boost(t *testing.T, v vector) {
	now := scheduler.Time(0).Add(time.Duration(v.AgeMs) * time.Millisecond)
	got, _ := newJobBoost{3, 5 * time.Minute}.Adjust(&scheduler.Job{}, v.BaseWeight, now)
	near(t, "weight", got, v.ExpectedWeight, 0)
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if got < want-tolerance || got > want+tolerance {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func comparator(t *testing.T, v vector) {
	compare := shares.CompareFair
	if v.Kind == "fifo-comparator" {
		compare = shares.CompareFIFO
	}
	var all []shares.Standing
	for _, s := range v.Schedulables {
		all = append(all, shares.Standing{
			Running: s.Running, Demand: s.Demand, Min: s.MinShare, Weight: s.Weight,
			Priority: int32(vectors.Priority(t, s.Priority)), Start: s.StartTime, Name: s.Name,
		})
	}
	slices.SortFunc(all, compare)
	for i, s := range all {
		if s.Name != v.ExpectedOrder[i] {
			t.Errorf("at %d is %s, want the order %v", i, s.Name, v.ExpectedOrder)
		}
	}
}

func xmlText(t *testing.T, v vector) []byte {
	t.Helper()
	var text string
	if err := json.Unmarshal(v.XML, &text); err != nil {
		t.Fatal(err)
	}
	return []byte(text)
}

func allocationFile(t *testing.T, v vector) {
	a, err := readAllocations(scheduler.ConfigFile{Name: "fair.xml", Data: xmlText(t, v)})
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		PoolCount                    int
		MinShare                     map[string][2]int
		MaxRunningJobs, UserMaxJobs  map[string]int
		MinSharePreemptionTimeoutMs  map[string]int64
		FairSharePreemptionTimeoutMs int64
	}
	if err := json.Unmarshal(v.Expect, &want); err != nil {
		t.Fatal(err)
	}
	if len(a.pools) != want.PoolCount {
		t.Errorf("%d pools, want %d", len(a.pools), want.PoolCount)
	}
	for path, n := range want.MinShare {
		p := a.pools[path]
		least, fair := a.timeouts(p)
		if p.minShare["map"] != n[0] || p.minShare["reduce"] != n[1] || a.jobsMax(p) != want.MaxRunningJobs[path] ||
			least.Milliseconds() != want.MinSharePreemptionTimeoutMs[path] || fair.Milliseconds() != want.FairSharePreemptionTimeoutMs {
			t.Errorf("pool %s is %+v, timeouts %s and %s", path, p, least, fair)
		}
	}
	for user, n := range want.UserMaxJobs {
		if got := a.userMax(user); got != n {
			t.Errorf("user %s may run %d jobs, want %d", user, got, n)
		}
	}
}

// allocationEdge reads what is expected from the first word: an error, or a value.
func allocationEdge(t *testing.T, v vector) {
	var want string
	if err := json.Unmarshal(v.ExpectText, &want); err != nil {
		t.Fatal(err)
	}
	a, err := readAllocations(scheduler.ConfigFile{Name: "fair.xml", Data: xmlText(t, v)})
	if failed := strings.HasPrefix(want, "error"); failed != (err != nil) {
		t.Fatalf("error %v, want: %s", err, want)
	}
	switch {
	case strings.HasPrefix(want, "mode of a = fifo") && a.pools["a"].order != "fifo",
		strings.HasPrefix(want, "minMaps of a = 7") && a.pools["a"].minShare["map"] != 7:
		t.Errorf("%+v, want: %s", a.pools["a"], want)
	}
}

func admission(t *testing.T, v vector) {
	text := "placement: {rules: [explicit, default], undeclared: refuse}\nallocations: {pools: {"
	for _, name := range v.Declared {
		text += name + ": {}, "
	}
	p := &Policy{}
	if _, err := p.Start(scheduler.Config{Text: []byte(text + "}}\n")}, scheduler.Snapshot{}, scheduler.Environment{}); err != nil {
		t.Fatal(err)
	}
	for i, c := range v.Cases {
		job := scheduler.Job{ID: scheduler.JobID(i + 1)}
		if c.Pool != nil {
			job.Pool = *c.Pool
		}
		d, err := p.AssignTasks(scheduler.Round{Number: uint64(i + 1), Events: []scheduler.Event{scheduler.AdmissionAsked{Job: job}}})
		if err != nil || len(d.Admit) != b2i(c.Accepted) || len(d.Refuse) != b2i(!c.Accepted) {
			t.Fatalf("pool %q: %+v, %v", job.Pool, d, err)
		}
		if !c.Accepted && !strings.Contains(d.Refuse[0].Reason, c.ErrorMentions) {
			t.Errorf("pool %q: %q does not mention %q", job.Pool, d.Refuse[0].Reason, c.ErrorMentions)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// preemptionCount makes one pool of the given standing and asks what it is due.
func preemptionCount(t *testing.T, v vector) {
	const now = scheduler.Time(time.Hour)
	ago := func(ms int64) scheduler.Time { return now - scheduler.Time(ms)*scheduler.Time(time.Millisecond) }
	p := &Policy{}
	if _, err := p.Start(scheduler.Config{}, scheduler.Snapshot{Now: now}, scheduler.Environment{}); err != nil {
		t.Fatal(err)
	}
	timeout := func(ms *int64) time.Duration {
		if ms == nil {
			return never
		}
		return time.Duration(*ms) * time.Millisecond
	}
	spec := newPoolSpec("p", "")
	spec.minShare["map"] = v.MinShare
	spec.minShareTimeout, spec.fairShareTimeout = timeout(v.MinShareTimeoutMs), timeout(v.FairShareTimeoutMs)
	x := p.addPool(spec)
	k := p.world.kind("map")
	job := p.tree.AddJob(x.node, jobOf(1))
	job.Of(k).Set(v.Running, v.Demand-v.Running)
	s := x.node.Of(k)
	s.Share = v.FairShare
	if belowMin(s) {
		x.starved[k] = starvation{Min: ago(v.MsSinceAtMinShare)}
	}
	if belowFair(s, 0.5) {
		x.starved[k] = starvation{Min: x.starved[k].Min, Fair: ago(v.MsSinceAtHalfFairShare)}
	}
	if got := p.due(x, k); got != v.ExpectedTasksToPreempt {
		t.Errorf("%d slots are due, want %d", got, v.ExpectedTasksToPreempt)
	}
	if belowMin(s) != v.StarvedForMinShare || belowFair(s, 0.5) != v.StarvedForFairSh {
		t.Errorf("below its minimum %t, below half its share %t", belowMin(s), belowFair(s, 0.5))
	}
}
