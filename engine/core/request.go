package core

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// request has the policy asked for a page of its own.
func (c *Core) request(m *wire.PolicyRequest) {
	g := c.policy.Current()
	switch {
	case g == nil:
		c.step.Reply(m.GetClient(), 0, &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: "no policy is running: try again later"})
		return
	case !g.Abilities.Has(scheduler.AbilityPages):
		c.step.Reply(m.GetClient(), 0, step.Invalid(fmt.Sprintf("policy %s has no pages", g.Name)))
		return
	case len(c.policy.Requests()) >= c.step.Set.RequestsMax:
		c.step.Reply(m.GetClient(), 0, &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_RESOURCE, Message: fmt.Sprintf("%d requests to the policy are under way, which is the limit: try again later", c.step.Set.RequestsMax)})
		return
	}
	c.ids.Request++
	c.step.After(c.step.Set.RequestTimeout, timerRequest, c.ids.Request)
	c.policy.Request(m.GetClient(), scheduler.Requested{
		At: c.step.Now, Request: c.ids.Request, Method: m.GetMethod(), Path: m.GetPath(), Body: m.GetBody(),
		Principal: scheduler.Principal{Name: m.GetPrincipal().GetName(), Proof: m.GetPrincipal().GetProof()},
	})
}

// passRequests gives what the last policy did not answer to the one that took
// over.
func (c *Core) passRequests() {
	for _, r := range c.policy.Requests() {
		if c.policy.Has(scheduler.AbilityPages) {
			r.Event.At = c.step.Now
			c.policy.Tell(r.Event)
		} else {
			c.endRequest(r.ID, Reply{Failure: step.Invalid(fmt.Sprintf("policy %s has no pages", c.policy.Current().Name))})
		}
	}
}

func (c *Core) answerRequest(a *scheduler.Answer) { c.endRequest(a.Request, Reply{Answer: a}) }

func (c *Core) requestExpired(id uint64) {
	c.endRequest(id, Reply{Failure: &wire.Failure{
		Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: fmt.Sprintf("the policy did not answer within %v: try again later", c.step.Set.RequestTimeout),
	}})
}

func (c *Core) endRequest(id uint64, r Reply) {
	if client, waits := c.policy.EndRequest(id); waits {
		r.Client = client
		c.step.Act(r)
	}
}

func (c *Core) settingsChange(m *wire.SettingsChange) {
	refuse := func(why string) {
		c.step.Act(SettingsVerdict{Version: m.GetVersion(), Problems: scheduler.Problems{{Message: why}}})
	}
	if c.policy.Current() == nil {
		refuse("no policy is running: the settings are taken over when it starts")
		return
	}
	var message schedwire.Config
	if err := proto.Unmarshal(m.GetConfig(), &message); err != nil {
		refuse("the settings' message can't be read: " + err.Error())
		return
	}
	config, err := message.Decode()
	if err != nil {
		refuse("the settings' message can't be read: " + err.Error())
		return
	}
	c.step.After(c.step.Set.SettingsTimeout, timerSettings, m.GetVersion())
	c.policy.AskSettings(scheduler.SettingChanged{At: c.step.Now, Version: m.GetVersion(), Config: config})
}

func (c *Core) settingsVerdict(v scheduler.SettingsVerdict) {
	if !c.policy.EndSettings(v.Version) {
		return
	}
	a := SettingsVerdict{Version: v.Version, Problems: v.Problems}
	if g := c.policy.Current(); g != nil && len(v.Problems) == 0 {
		a.Generation, a.Abilities, a.ProgressEvery = g.Number, v.Abilities, v.ProgressEvery
		if v.Abilities != 0 {
			heard := c.policy.Has(scheduler.AbilityLoad)
			c.policy.Enable(v.Abilities, v.ProgressEvery)
			c.limitSuspensions()
			if !heard {
				c.tellLoads(true)
			}
		}
	}
	c.step.Act(a)
}

func (c *Core) settingsExpired(version uint64) {
	c.settingsVerdict(scheduler.SettingsVerdict{Version: version, Problems: []scheduler.Problem{{
		Message: fmt.Sprintf("the policy did not say within %v whether it takes them over", c.step.Set.SettingsTimeout),
	}}})
}

// answerSettings ends all versions that have no verdict.
func (c *Core) answerSettings(why string) {
	for _, version := range c.policy.Settings() {
		c.settingsVerdict(scheduler.SettingsVerdict{Version: version, Problems: []scheduler.Problem{{Message: why}}})
	}
}

// note tells a note to the policy. Without one it goes nowhere, and that is said.
func (c *Core) note(n scheduler.Note) {
	if !c.policy.Note(scheduler.Noted{At: c.step.Now, Note: n}, c.step.Set.NotesMax) {
		c.step.Log(Warn, "a note was not delivered: no policy runs, or too many wait for it", "note", n.Name)
	}
}
