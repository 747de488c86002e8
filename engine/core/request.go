package core

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	schedwire "github.com/hamadryad/hamadryad/sdk/scheduler/wire"
	"google.golang.org/protobuf/proto"
)

// request is one for a policy's own page, under way.
type request struct {
	id     uint64
	client uint64
	event  scheduler.Requested
}

func (c *Core) request(m *wire.PolicyRequest) {
	g := c.policy.current
	switch {
	case g == nil:
		c.reply(m.GetClient(), 0, &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: "no policy is running: try again later"})
		return
	case !g.abilities.Has(scheduler.AbilityPages):
		c.reply(m.GetClient(), 0, invalid(fmt.Sprintf("policy %s has no pages", g.name)))
		return
	case len(c.requests) >= c.set.RequestsMax:
		c.reply(m.GetClient(), 0, &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_RESOURCE, Message: fmt.Sprintf("%d requests to the policy are under way, which is the limit: try again later", len(c.requests))})
		return
	}
	c.ids.request++
	r := request{id: c.ids.request, client: m.GetClient(), event: scheduler.Requested{
		At: c.now, Request: c.ids.request, Method: m.GetMethod(), Path: m.GetPath(), Body: m.GetBody(),
		Principal: scheduler.Principal{Name: m.GetPrincipal().GetName(), Proof: m.GetPrincipal().GetProof()},
	}}
	c.requests = append(c.requests, r)
	c.after(c.set.RequestTimeout, timerRequest, r.id)
	c.tell(g, r.event)
}

// passRequests gives what the last policy did not answer to the one that took
// over.
func (c *Core) passRequests() {
	g := c.policy.current
	for _, r := range slices.Clone(c.requests) {
		if g.abilities.Has(scheduler.AbilityPages) {
			r.event.At = c.now
			c.tell(g, r.event)
		} else {
			c.endRequest(r.id, Reply{Failure: invalid(fmt.Sprintf("policy %s has no pages", g.name))})
		}
	}
}

func (c *Core) answerRequest(a *scheduler.Answer) { c.endRequest(a.Request, Reply{Answer: a}) }

func (c *Core) requestExpired(id uint64) {
	c.endRequest(id, Reply{Failure: &wire.Failure{
		Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: fmt.Sprintf("the policy did not answer within %v: try again later", c.set.RequestTimeout),
	}})
}

func (c *Core) endRequest(id uint64, r Reply) {
	at := slices.IndexFunc(c.requests, func(r request) bool { return r.id == id })
	if at < 0 {
		return // answered, or given up
	}
	r.Client = c.requests[at].client
	c.requests = slices.Delete(c.requests, at, at+1)
	c.act(r)
}

// settingsAsked is a version of the policy's settings without a verdict yet.
type settingsAsked struct{ version uint64 }

func (c *Core) settingsChange(m *wire.SettingsChange) {
	refuse := func(why string) {
		c.act(SettingsVerdict{Version: m.GetVersion(), Problems: scheduler.Problems{{Message: why}}})
	}
	if c.policy.current == nil {
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
	c.settings = append(c.settings, settingsAsked{m.GetVersion()})
	c.after(c.set.SettingsTimeout, timerSettings, m.GetVersion())
	c.tell(c.policy.current, scheduler.SettingChanged{At: c.now, Version: m.GetVersion(), Config: config})
}

func (c *Core) settingsVerdict(v scheduler.SettingsVerdict) {
	at := slices.IndexFunc(c.settings, func(s settingsAsked) bool { return s.version == v.Version })
	if at < 0 {
		return
	}
	c.settings = slices.Delete(c.settings, at, at+1)
	a := SettingsVerdict{Version: v.Version, Problems: v.Problems}
	if g := c.policy.current; g != nil && len(v.Problems) == 0 {
		a.Generation, a.Abilities, a.ProgressEvery = g.number, v.Abilities, v.ProgressEvery
		if v.Abilities != 0 {
			heard := c.policy.wantsLoad()
			g.abilities, g.progressEvery = v.Abilities, max(v.ProgressEvery, progressEveryMin)
			c.able()
			c.limitSuspensions()
			if !heard {
				c.tellLoads(true)
			}
		}
	}
	c.act(a)
}

func (c *Core) settingsExpired(version uint64) {
	c.settingsVerdict(scheduler.SettingsVerdict{Version: version, Problems: []scheduler.Problem{{
		Message: fmt.Sprintf("the policy did not say within %v whether it takes them over", c.set.SettingsTimeout),
	}}})
}

// answerSettings ends all versions that have no verdict.
func (c *Core) answerSettings(why string) {
	for _, s := range slices.Clone(c.settings) {
		c.settingsVerdict(scheduler.SettingsVerdict{Version: s.version, Problems: []scheduler.Problem{{Message: why}}})
	}
}

// note tells a note to the policy. Without one it goes nowhere, and that is said.
func (c *Core) note(n scheduler.Note) {
	g := c.policy.current
	if g == nil || g.notes >= c.set.NotesMax {
		c.log(Warn, "a note was not delivered: no policy runs, or too many wait for it", "note", n.Name)
		return
	}
	g.notes++
	c.tell(g, scheduler.Noted{At: c.now, Note: n})
}
