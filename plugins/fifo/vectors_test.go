package fifo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

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

// TestVectors takes every case of every file. A case is run, or listed by id with
// a reason in testdata/excluded.json; anything else fails.
func TestVectors(t *testing.T) {
	excluded := map[string]string{}
	read(t, filepath.Join("testdata", "excluded.json"), &excluded)
	files, err := filepath.Glob(filepath.Join("testdata", "vectors", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for _, file := range files {
		var content struct {
			Format  string
			Vectors []json.RawMessage
		}
		read(t, file, &content)
		for i, raw := range content.Vectors {
			var name struct{ ID, Kind string }
			if err := json.Unmarshal(raw, &name); err != nil {
				t.Fatalf("%s, case %d: %v", file, i, err)
			}
			t.Run(name.ID, func(t *testing.T) {
				if reason, out := excluded[name.ID]; out {
					if reason == "" {
						t.Errorf("%s is excluded without a reason", name.ID)
					}
					delete(excluded, name.ID)
					return
				}
				run(t, name.Kind, raw)
			})
		}
	}
	for id := range excluded {
		t.Errorf("testdata/excluded.json lists %s, which no file has", id)
	}
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func run(t *testing.T, kind string, raw []byte) {
	var v vector
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("kind %s: %v: teach this test the field, or list the case in testdata/excluded.json", kind, err)
	}
	switch kind {
	case "fifo-order":
		order(t, v)
	case "fifo-heartbeats":
		heartbeats(t, v)
	default:
		t.Fatalf("unknown kind %q: implement it, or list the case in testdata/excluded.json with the reason", kind)
	}
}

func priority(t *testing.T, name string) scheduler.Priority {
	t.Helper()
	if name == "" {
		return scheduler.Normal
	}
	p, err := scheduler.ParsePriority(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// order submits the jobs with their priorities, and once more all alike with the
// priorities changed afterwards: both give the expected order.
func order(t *testing.T, v vector) {
	for _, later := range []bool{false, true} {
		s := start(t, "")
		var updates []scheduler.Event
		for _, j := range v.Jobs {
			e := s.submit(j.Job, priority(t, j.Priority)).(scheduler.JobSubmitted)
			e.Job.Submitted = j.Start
			if later {
				e.Job.Priority = scheduler.Normal
				updates = append(updates, scheduler.JobUpdated{At: s.now, Job: j.Job, Priority: priority(t, j.Priority)})
			}
			s.events(e)
		}
		s.events(updates...)
		var got []scheduler.JobID
		for _, j := range s.policy.queue {
			got = append(got, j.ID())
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
		e := s.submit(j.Job, priority(t, j.Priority)).(scheduler.JobSubmitted)
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
