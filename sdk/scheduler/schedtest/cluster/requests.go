package cluster

import (
	"bytes"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// setting is a version the policy has yet to judge.
type setting struct {
	version uint64
	config  scheduler.Config
	want    Verdict
	change  bool // other than what was in force
}

// Verdict is what is expected of a policy that is told of settings.
type Verdict uint8

// The verdicts.
const (
	MayJudge   Verdict = iota // it may accept them or not, and has to say
	MustAccept                // they are right
	MustReject                // they are wrong
)

// Request asks for one of the policy's pages, when it serves any.
func (c *Cluster) Request(method, path string, body []byte) {
	if !c.Abilities.Has(scheduler.AbilityPages) {
		return
	}
	c.requests++
	id := c.requests
	c.requested = append(c.requested, c.tell(scheduler.Requested{
		At: c.now, Request: id, Principal: scheduler.Principal{Name: "reader", Proof: scheduler.Unproven},
		Method: method, Path: path, Body: body,
	}))
	c.After(answerMax, func() {
		if c.takeRequest(id) {
			c.fault("request %d for %s was not answered within %s", id, path, answerMax)
		}
	})
}

func (c *Cluster) takeRequest(id uint64) bool {
	i := slices.IndexFunc(c.requested, func(t telling) bool { return t.event.(scheduler.Requested).Request == id })
	if i >= 0 {
		c.requested = slices.Delete(c.requested, i, i+1)
	}
	return i >= 0
}

// Note delivers a note, as a plug-in's shell posts it.
func (c *Cluster) Note(n scheduler.Note) { c.tell(scheduler.Noted{At: c.now, Note: n}) }

// Settings announces a version of the settings, and says what the policy is to make of it.
func (c *Cluster) Settings(config scheduler.Config, want Verdict) {
	c.versions++
	v := &setting{c.versions, config, want, want == MayJudge && !bytes.Equal(config.Text, c.Config.Text)}
	if v.change {
		c.Tally.Changes++
	}
	c.settings = append(c.settings, v)
	c.tell(scheduler.SettingChanged{At: c.now, Version: v.version, Config: config})
	c.After(answerMax, func() {
		if slices.Contains(c.settings, v) {
			c.fault("settings version %d was neither accepted nor rejected within %s", v.version, answerMax)
		}
	})
}

// answers takes what needs no outcome.
func (c *Cluster) answers(d scheduler.Decisions) {
	for _, a := range d.Answers {
		if !c.takeRequest(a.Request) {
			c.fault("an answer to request %d, which nobody waits for", a.Request)
		}
		if a.Status < 100 || a.Status > 599 {
			c.fault("request %d was answered with status %d: it is an HTTP status", a.Request, a.Status)
		}
		c.Tally.Answers++
	}
	for _, s := range d.Settings {
		i := slices.IndexFunc(c.settings, func(x *setting) bool { return x.version == s.Version })
		if i < 0 {
			c.fault("a verdict on settings version %d, which was not asked for", s.Version)
			continue
		}
		v := c.settings[i]
		c.settings = slices.Delete(c.settings, i, i+1)
		if accepted := len(s.Problems) == 0; accepted && v.want == MustReject || !accepted && v.want == MustAccept {
			c.fault("settings version %d: accepted %t, want %t (%v)", s.Version, accepted, !accepted, s.Problems)
		}
		if len(s.Problems) > 0 {
			continue
		}
		c.Config = v.config
		if v.change {
			c.Tally.Changed++
		}
		if s.Abilities != 0 {
			c.able(s.Abilities)
		}
	}
	for _, w := range d.Waiting {
		if c.job(w.Job) == nil && !c.racy {
			c.fault("a reason for waiting of %s, which is not live", w.Job)
		}
	}
	for _, n := range d.Notes {
		c.Tally.Notes++
		c.Note(n)
	}
	if d.Checkpoint != nil {
		c.Tally.Checkpoints++
		if !c.Abilities.Has(scheduler.AbilityCheckpoint) {
			c.fault("a checkpoint without the ability")
		}
	}
}
