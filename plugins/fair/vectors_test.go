package fair

import (
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/plugins/internal/vectors"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares"
)

// Cases that concern one package alone are run there; those of shares in
// sdk/scheduler/algorithms/shares.
func TestVectors(t *testing.T) {
	vectors.Run(t, map[string]func(*testing.T, vector){
		"":                scenario,
		"fair-comparator": comparator,
		"fifo-comparator": comparator,
		"pool-admission":  admission,
	})
}

// vector is a case of any of the files.
type vector struct {
	ID, Kind, Origin, Source, Note string
	Steps                          []step // of a scenario, with the next three
	Cluster                        clusterOf
	Config                         configOf
	Allocations                    allocationsOf

	Schedulables  []schedulableOf
	ExpectedOrder []string

	Declared []string
	Cases    []struct {
		Pool          *string
		Accepted      bool
		ErrorMentions string
	}
}

type schedulableOf struct {
	Name                              string
	Demand, MinShare, Weight, Running float64
	StartTime                         int64
	Priority                          string
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
	var all []shares.Rank
	for _, s := range v.Schedulables {
		all = append(all, shares.Rank{
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
