package fifo

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/hamadryad/hamadryad/plugins/internal/vectors"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// vector is one case of a file in testdata/vectors. Fields of kinds that are left
// out on purpose are not listed: see excluded.json.
type vector struct {
	ID, Kind, Origin, Source, Note string
	Jobs                           []struct {
		Job      scheduler.JobID
		Priority string
		Start    scheduler.Time
		Tasks    int
	}
	ExpectedOrder []scheduler.JobID
	Heartbeats    []struct {
		Node   string
		Expect map[string]int // tasks given, by job
	}
}

func TestVectors(t *testing.T) {
	vectors.Run(t, map[string]func(*testing.T, vector){"fifo-order": order, "fifo-heartbeats": heartbeats})
}

// order submits the jobs with their priorities, and once more all alike with the
// priorities changed afterwards: both give the expected order.
func order(t *testing.T, v vector) {
	for _, later := range []bool{false, true} {
		s := start(t, "")
		var updates []scheduler.Event
		for _, j := range v.Jobs {
			e := s.submit(j.Job, vectors.Priority(t, j.Priority)).(scheduler.JobSubmitted)
			e.Job.Submitted = j.Start
			if later {
				e.Job.Priority = scheduler.Normal
				updates = append(updates, scheduler.JobUpdated{At: s.now, Job: j.Job, Priority: vectors.Priority(t, j.Priority)})
			}
			s.events(e)
		}
		s.events(updates...)
		got := make([]scheduler.JobID, len(v.Jobs))
		for _, j := range v.Jobs {
			x, err := s.policy.Explain(j.Job)
			if err != nil {
				t.Fatal(err)
			}
			got[x.Place-1] = j.Job
		}
		if !reflect.DeepEqual(got, v.ExpectedOrder) {
			t.Errorf("priorities changed later %t: order %v, want %v", later, got, v.ExpectedOrder)
		}
	}
}

// heartbeats offers one slot of one node at a time.
func heartbeats(t *testing.T, v vector) {
	s := start(t, "")
	ids := map[string]scheduler.LauncherID{}
	bundle, owner := scheduler.BundleID(0), map[scheduler.BundleID]string{}
	for _, j := range v.Jobs {
		e := s.submit(j.Job, vectors.Priority(t, j.Priority)).(scheduler.JobSubmitted)
		e.Job.Submitted = j.Start
		s.events(e)
		for range j.Tasks {
			bundle++
			owner[bundle] = fmt.Sprint(j.Job)
			s.events(s.ready(j.Job, bundle, 1))
		}
	}
	slot := []scheduler.SlotCount{{Kind: "default", Count: 1}}
	attempt := scheduler.AttemptID(0)
	for i, h := range v.Heartbeats {
		id, known := ids[h.Node]
		var events []scheduler.Event
		if !known {
			id = scheduler.LauncherID(len(ids) + 1)
			ids[h.Node] = id
			events = append(events, scheduler.LauncherJoined{At: s.now, Launcher: id, Host: h.Node, Slots: slot})
		}
		d := s.round(scheduler.Round{Events: events, Offers: []scheduler.Offer{{Launcher: id, Free: slot}}})
		got := map[string]int{}
		var outcomes []scheduler.Event
		for _, l := range d.Launch {
			attempt++
			got[owner[l.Bundle]]++
			outcomes = append(outcomes, accepted(l, attempt))
		}
		if len(got)+len(h.Expect) > 0 && !reflect.DeepEqual(got, h.Expect) {
			t.Errorf("heartbeat %d of %s gave %v, want %v", i, h.Node, got, h.Expect)
		}
		s.round(scheduler.Round{Events: outcomes, Offers: []scheduler.Offer{{Launcher: id}}})
	}
}
