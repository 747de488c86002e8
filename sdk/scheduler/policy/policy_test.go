package policy_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/policy"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

type pass = policy.Pass[policy.None, policy.None]

// near launches jobs in order of submission, near their input.
var near = policy.Policy[policy.None, policy.None]{
	Name: "near", Version: "1",
	Assign: func(p *pass) error {
		for _, j := range p.Jobs() {
			p.LaunchNear(j)
		}
		return nil
	},
}

// plain launches all that fits, second attempts too.
var plain = policy.Policy[policy.None, policy.None]{
	Name: "plain", Version: "1",
	Assign: func(p *pass) error {
		for b := range p.Ready(policy.Filter{}) {
			p.Launch(b)
		}
		for b := range p.Seconds(policy.Filter{}) {
			p.Launch(b)
		}
		return nil
	},
}

// backfilling reserves launchers for the first bundle that fits nowhere, and launches what comes behind it beside them.
var backfilling = policy.Policy[policy.None, policy.None]{
	Name: "backfilling", Version: "1",
	Assign: func(p *pass) error {
		reserved := false
		for _, j := range p.Jobs() {
			p.LaunchNear(j)
			for b := range p.Ready(policy.Filter{Job: j}) {
				reserved = reserved || b.ReservedUntil != 0 || p.Reserve(b, p.Now().Add(2*time.Second))
			}
		}
		return nil
	},
}

type options struct {
	Groups int    `yaml:"groups"`
	Mode   string `yaml:"mode"`
}

type state struct{ Used map[string]time.Duration }

// preempting serves users by what they used, and takes slots back for small jobs.
var preempting = policy.Policy[options, state]{
	Name: "preempting", Version: "1", Options: options{Groups: 4, Mode: "kill"}, Memory: &policy.Memory[state]{},
	Check: func(o *options) error {
		if o.Groups < 0 {
			return policy.WrongSetting("groups", "give 0 or more")
		}
		if modeOf(o.Mode) == 0 {
			return policy.WrongSetting("mode", "give kill, soft or suspend")
		}
		return nil
	},
	Start: func(p *policy.Pass[options, state]) error {
		count(p)
		return nil
	},
	Assign: func(p *policy.Pass[options, state]) error {
		count(p)
		o, jobs := p.Options(), p.Jobs()
		slices.SortStableFunc(jobs, func(a, b *view.Job) int {
			return cmp.Compare(p.State().Used[a.Info.User], p.State().Used[b.Info.User])
		})
		for _, j := range jobs {
			p.LaunchNear(j)
		}
		if !slices.ContainsFunc(p.Events(), func(e scheduler.Event) bool { _, is := e.(scheduler.TimePassed); return is }) {
			p.WakeAt((p.Now()/1e9 + 1) * 1e9)
			return nil
		}
		for _, j := range jobs {
			if groupsOf(j) > o.Groups || p.Coming(j) {
				continue
			}
			for b := range p.Ready(policy.Filter{Job: j}) {
				p.PreemptFew(b, modeOf(o.Mode), larger(p, o)...)
				break
			}
		}
		return nil
	},
}

func modeOf(name string) scheduler.PreemptMode {
	return map[string]scheduler.PreemptMode{"kill": scheduler.PreemptKill, "soft": scheduler.PreemptSoft, "suspend": scheduler.PreemptSuspend}[name]
}

func larger(p *policy.Pass[options, state], o options) (all []*view.Attempt) {
	for _, j := range p.Jobs() {
		if groupsOf(j) > o.Groups {
			all = append(all, p.Victims(j, modeOf(o.Mode))...)
		}
	}
	return all
}

func count(p *policy.Pass[options, state]) {
	used := &p.State().Used
	if *used == nil {
		*used = map[string]time.Duration{}
	}
	for _, e := range p.Ended() {
		(*used)[e.Job().Info.User] += e.Event.Work.Running
	}
}

func groupsOf(j *view.Job) (n int) {
	for _, s := range j.Info.Stages {
		n += s.Groups
	}
	return n
}

// TestConformance plays the kit's games, with restarts at many rounds, changes of settings and launchers that are lost.
func TestConformance(t *testing.T) {
	for name, c := range map[string]struct {
		make     func() scheduler.TaskScheduler
		settings string
	}{
		"near":     {near.New, ""},
		"plain":    {plain.New, ""},
		"reserves": {backfilling.New, ""},
		"kills":    {preempting.New, "groups: 6\n"},
		"soft":     {preempting.New, "groups: 6\nmode: soft\n"},
		"suspends": {preempting.New, "groups: 6\nmode: suspend\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := policytest.Run(t, c.make, policytest.Options{Config: scheduler.Config{Text: []byte(c.settings)}, Seeds: *seeds, First: *from})
			if c.settings != "" && r.Tally.Preemptions == 0 {
				t.Error("got no preemption, want some: the games say nothing of it")
			}
			for _, w := range r.Warnings {
				if !strings.Contains(w, "preempt") {
					t.Log(w)
				}
			}
		})
	}
}
