package idle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// node is a launcher with one slot, or more, on a host of its own.
type node struct {
	host, rack string
	slots      int
}

// work is a bundle with a group for each list of hosts that hold input of it.
type work [][]string

// story is a case of a policy's launches on an empty cluster.
type story struct {
	nodes []node
	jobs  [][]work
	// nearest and flow are how many groups run where their input lies.
	nearest, flow int
}

// stories are cases in which placing launches together is better than the nearest launcher for one
// bundle after another.
var stories = map[string]story{
	// The first bundle of a job could go to either host, and takes the only one of the second.
	"one job": {
		nodes: []node{{"a", "", 1}, {"b", "", 1}}, jobs: [][]work{{{{"a", "b"}}, {{"a"}}}}, nearest: 1, flow: 2,
	},
	// The same between two jobs: the first job costs the second its place.
	"two jobs": {
		nodes: []node{{"a", "", 1}, {"b", "", 1}}, jobs: [][]work{{{{"a", "b"}}}, {{{"a"}}}}, nearest: 1, flow: 2,
	},
	// The groups of a gang are in each other's way, too.
	"gang": {
		nodes: []node{{"a", "", 1}, {"b", "", 1}, {"c", "", 1}},
		jobs:  [][]work{{{{"a", "b"}, {"b", "c"}, {"a"}}}}, nearest: 2, flow: 3,
	},
	// A gang, and a bundle that takes the only host of a group of it.
	"gang beside another": {
		nodes: []node{{"a", "", 1}, {"b", "", 1}, {"c", "", 1}},
		jobs:  [][]work{{{{"a", "b"}, {"b"}}}, {{{"a", "c"}}}}, nearest: -1, flow: 3,
	},
}

// events are the joins, submissions and bundles of a story.
func (s *story) events(now scheduler.Time) (events []scheduler.Event, offers []scheduler.Offer) {
	for i, n := range s.nodes {
		id, slots := scheduler.LauncherID(i+1), []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: n.slots}}
		events = append(events, scheduler.LauncherJoined{At: now, Launcher: id, Host: n.host, Rack: n.rack, Slots: slots, Memory: 1 << 30})
		offers = append(offers, scheduler.Offer{Launcher: id, Free: slots, Memory: 1 << 30})
	}
	bundle := scheduler.BundleID(0)
	for i, bundles := range s.jobs {
		id, groups := scheduler.JobID(i+1), 0
		for _, w := range bundles {
			groups += len(w)
		}
		name := fmt.Sprint("user-", i)
		events = append(events, scheduler.JobSubmitted{At: now, Job: scheduler.Job{
			ID: id, User: name, Pool: name, Submitted: now, Stages: []scheduler.Stage{{Name: "s", Groups: groups, Kind: scheduler.DefaultKind, Slots: 1}},
		}})
		for _, w := range bundles {
			bundle++
			e := scheduler.BundleReady{At: now, Job: id, Bundle: bundle}
			for _, hosts := range w {
				g := scheduler.Group{Kind: scheduler.DefaultKind, Slots: 1, InputBytes: 1 << 20}
				for _, h := range hosts {
					g.Places = append(g.Places, scheduler.Place{Host: h, Bytes: 1 << 20})
				}
				e.Groups = append(e.Groups, g)
			}
			events = append(events, e)
		}
	}
	return events, offers
}

// near plays a story and counts the groups that run where their input lies, and those that run.
func (s *story) near(t *testing.T, p scheduler.TaskScheduler, settings string) (local, all int) {
	t.Helper()
	e := policytest.Environment()
	e.Simulated = true // without a store of budgets
	now := scheduler.Time(time.Hour)
	if _, err := p.Start(scheduler.Config{Text: []byte(settings)}, scheduler.Snapshot{Now: now}, e); err != nil {
		t.Fatal(err)
	}
	events, offers := s.events(now)
	d, err := p.AssignTasks(scheduler.Round{Number: 1, Now: now, Events: events, Offers: offers})
	if err != nil {
		t.Fatal(err)
	}
	groups := map[scheduler.BundleID][]scheduler.Group{}
	for _, e := range events {
		if e, ok := e.(scheduler.BundleReady); ok {
			groups[e.Bundle] = e.Groups
		}
	}
	for _, l := range d.Launch {
		for i, id := range l.Launchers {
			all++
			if slices.ContainsFunc(groups[l.Bundle][i].Places, func(p scheduler.Place) bool { return p.Host == s.nodes[id-1].host }) {
				local++
			}
		}
	}
	return local, all
}

// flowOf are settings that place launches together, with which no job waits for its input.
func flowOf(policy string) string {
	if policy == "fair" || policy == "hfsp" {
		return "locality: {mode: min-cost-flow, node-delay: 0s, rack-delay: 0s}\n"
	}
	return "locality: {mode: min-cost-flow}\n"
}

// TestFlowKeepsWorkNearItsInput: in each policy, where the nearest launcher for one bundle after
// the other does not. All slots are used with either. With costs of 0 input counts for nothing.
func TestFlowKeepsWorkNearItsInput(t *testing.T) {
	for policy, fresh := range policies {
		for name, s := range stories {
			t.Run(policy+"/"+name, func(t *testing.T) {
				slots := len(s.nodes)
				nearest, all := s.near(t, fresh(), "locality: {mode: nearest}\n")
				if s.nearest >= 0 && nearest != s.nearest || all != slots {
					t.Errorf("nearest: %d of %d groups are at their input, want %d of %d", nearest, all, s.nearest, slots)
				}
				settings := []string{flowOf(policy)}
				if policy == "fair" || policy == "hfsp" { // that jobs would wait is no reason to
					settings = append(settings, "locality: {mode: min-cost-flow, node-delay: 1h}\n")
				}
				for _, text := range settings {
					if flow, all := s.near(t, fresh(), text); flow != s.flow || all != slots {
						t.Errorf("%s: %d of %d groups are at their input, want %d of %d", text, flow, all, s.flow, slots)
					}
				}
				for _, blind := range []string{"locality: {mode: none}\n", "locality: {mode: min-cost-flow, costs: {node-local: 0, rack-local: 0, remote: 0}}\n"} {
					if _, all := s.near(t, fresh(), blind); all != slots {
						t.Errorf("%s: %d groups run, want %d", blind, all, slots)
					}
				}
			})
		}
	}
}

// TestCostsOfNothing: with costs of 0 it is chance what runs at its input, as with mode none: here
// the launcher with most slots gets all.
func TestCostsOfNothing(t *testing.T) {
	s := story{nodes: []node{{"a", "", 1}, {"b", "", 8}}, jobs: [][]work{{{{"a"}}, {{"a"}}}}}
	for policy, fresh := range policies {
		for settings, want := range map[string]int{
			"locality: {mode: none}\n": 0,
			"locality: {mode: min-cost-flow, costs: {node-local: 0, rack-local: 0, remote: 0}}\n": 0,
			"locality: {mode: nearest}\n": 1,
		} {
			if local, _ := s.near(t, fresh(), settings); local != want {
				t.Errorf("%s with %s: %d groups are at their input, want %d", policy, settings, local, want)
			}
		}
	}
}

// TestOneSetOfLocalitySettings: each policy has the same keys below locality, and says the same of
// what is wrong.
func TestOneSetOfLocalitySettings(t *testing.T) {
	for text, says := range map[string]string{
		"mode: luck": `locality: mode: "luck" is unknown here: use one of `,
		"mode: [a]":  `locality: mode: "" is unknown here`,
		"speed: 3":   `unknown setting "speed" of locality: correct its name or remove it; there are `,
		"mode: min-cost-flow, costs: {node-local: 3, rack-local: 1}": "locality: costs [3 1 2]: each must be between 0 and 1000 and not less than that of the nearer level",
		"mode: min-cost-flow, costs: {remote: 1001}":                 "locality: costs [0 1 1001]: each must be between 0 and 1000",
		"mode: min-cost-flow, costs: {remote: far}":                  `locality: costs: remote: "far" must be a whole number, at least 0`,
		"mode: min-cost-flow, costs: {moon: 3}":                      `unknown setting "moon" of costs`,
		"mode: min-cost-flow, bundles-max: 0":                        `locality: bundles-max: "0" must be a whole number, at least 1`,
		"mode: min-cost-flow, launchers-max: -1":                     "locality: launchers-max: ",
		"mode: min-cost-flow, steps-max: 1.5":                        "locality: steps-max: ",
		"mode: min-cost-flow, neighbour-bytes: -1":                   "locality: neighbour-bytes: ",
		"mode: none, bundles-max: 5":                                 "locality: bundles-max counts for nothing in mode none: remove it, or use mode min-cost-flow",
		"mode: none, mode: nearest":                                  `"mode" stands twice in locality: remove one`,
		"mode: min-cost-flow, node-skips: 1":                         "locality: node-skips counts for nothing",
	} {
		for policy, fresh := range policies {
			c := scheduler.Config{File: "site.yaml", Line: 3, Text: []byte("\nlocality: {" + text + "}\n")}
			var problems scheduler.Problems
			err := fresh().Check(c)
			if !errors.As(err, &problems) || problems[0].Line != 4 || !strings.Contains(err.Error(), says) {
				t.Errorf("%s, {%s}: %v, want line 4 and %q", policy, text, err, says)
			}
		}
	}
	good := "locality: {mode: min-cost-flow, costs: {node-local: 0, rack-local: 5, remote: 9}, neighbour-bytes: 7, bundles-max: 1, launchers-max: 1, steps-max: 1}\n"
	for policy, fresh := range policies {
		if err := fresh().Check(scheduler.Config{Text: []byte(good)}); err != nil {
			t.Errorf("%s: %v", policy, err)
		}
	}
}

// TestBoundsOfFlowAreTold: a round that is over a bound starts all the same, and the status says
// so.
func TestBoundsOfFlowAreTold(t *testing.T) {
	s := stories["two jobs"]
	for policy, fresh := range policies {
		p := fresh()
		settings := strings.Replace(flowOf(policy), "}", ", bundles-max: 1}", 1)
		if local, all := s.near(t, p, settings); local != s.nearest || all != 2 {
			t.Errorf("%s: %d of %d groups are at their input, want %d of 2", policy, local, all, s.nearest)
		}
		status, err := p.Status()
		if err != nil {
			t.Fatal(err)
		}
		x, err := p.Explain(1)
		if err != nil {
			t.Fatal(err)
		}
		const says = "launches went to the nearest launchers, as 2 launches are more than bundles-max (1)"
		if !slices.ContainsFunc(status.Facts, func(f scheduler.Property) bool { return f.Name == "locality" && strings.Contains(f.Value, says) }) || !strings.Contains(x.Detail, says) {
			t.Errorf("%s says %v, and %q", policy, status.Facts, x.Detail)
		}
	}
}
