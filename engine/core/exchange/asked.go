package exchange

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// request is one for a policy's own page, under way.
type request struct {
	id     uint64
	client uint64 // who waits for the answer
	event  scheduler.Requested
}

// Request has the policy asked for a page of its own, under the id behind the last one
// given, or refuses it. It is given up after Settings.RequestTimeout.
func (x *Exchange) Request(s *step.Step, last *uint64, m *wire.PolicyRequest) {
	g := x.current
	switch {
	case g == nil:
		s.Reply(m.GetClient(), 0, &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: "no policy is running: try again later"})
		return
	case !g.Abilities.Has(scheduler.AbilityPages):
		s.Reply(m.GetClient(), 0, g.noPages())
		return
	case len(x.requests) >= s.Set.RequestsMax:
		s.Reply(m.GetClient(), 0, &wire.Failure{
			Kind:    wire.ErrorKind_ERROR_KIND_RESOURCE,
			Message: fmt.Sprintf("%d requests to the policy are under way, which is the limit: try again later", s.Set.RequestsMax),
		})
		return
	}
	*last++
	s.After(s.Set.RequestTimeout, step.TimerRequest, *last)
	e := scheduler.Requested{
		At: s.Now, Request: *last, Method: m.GetMethod(), Path: m.GetPath(), Body: m.GetBody(),
		Principal: scheduler.Principal{Name: m.GetPrincipal().GetName(), Proof: m.GetPrincipal().GetProof()},
	}
	x.requests = append(x.requests, request{e.Request, m.GetClient(), e})
	x.Tell(e)
}

func (g *Generation) noPages() *wire.Failure {
	return step.Invalid(fmt.Sprintf("policy %s has no pages", g.Name))
}

// PassRequests gives what the last policy did not answer to the one that took over.
func (x *Exchange) PassRequests(s *step.Step) {
	for _, r := range slices.Clone(x.requests) {
		if x.Has(scheduler.AbilityPages) {
			r.event.At = s.Now
			x.Tell(r.event)
		} else {
			x.endRequest(s, r.id, step.Reply{Failure: x.current.noPages()})
		}
	}
}

// Answer gives a policy's answer to whom it is for.
func (x *Exchange) Answer(s *step.Step, a *scheduler.Answer) {
	x.endRequest(s, a.Request, step.Reply{Answer: a})
}

// ExpireRequest gives up a request that was not answered.
func (x *Exchange) ExpireRequest(s *step.Step, id uint64) {
	x.endRequest(s, id, step.Reply{Failure: &wire.Failure{
		Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: fmt.Sprintf("the policy did not answer within %v: try again later", s.Set.RequestTimeout),
	}})
}

// endRequest ends a request, unless it was answered or given up before.
func (x *Exchange) endRequest(s *step.Step, id uint64, r step.Reply) {
	at := slices.IndexFunc(x.requests, func(r request) bool { return r.id == id })
	if at < 0 {
		return
	}
	r.Client = x.requests[at].client
	x.requests = slices.Delete(x.requests, at, at+1)
	s.Act(r)
}

// ChangeSettings has the policy told of a version of its settings, or says that none takes
// it over. A verdict is awaited for Settings.SettingsTimeout.
func (x *Exchange) ChangeSettings(s *step.Step, m *wire.SettingsChange) {
	refuse := func(why string) {
		s.Act(step.SettingsVerdict{Version: m.GetVersion(), Problems: scheduler.Problems{{Message: why}}})
	}
	if x.current == nil {
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
	s.After(s.Set.SettingsTimeout, step.TimerSettings, m.GetVersion())
	x.settings = append(x.settings, m.GetVersion())
	x.Tell(scheduler.SettingChanged{At: s.Now, Version: m.GetVersion(), Config: config})
}

// Verdict takes what a policy says of a version of its settings, which may change what it
// can do. It says whether that changed.
func (x *Exchange) Verdict(s *step.Step, v scheduler.SettingsVerdict) (changed bool) {
	at := slices.Index(x.settings, v.Version)
	if at < 0 {
		return false
	}
	x.settings = slices.Delete(x.settings, at, at+1)
	a := step.SettingsVerdict{Version: v.Version, Problems: v.Problems}
	if g := x.current; g != nil && len(v.Problems) == 0 {
		a.Generation, a.Abilities, a.ProgressEvery = g.Number, v.Abilities, v.ProgressEvery
		if changed = v.Abilities != 0; changed {
			x.enable(v.Abilities, v.ProgressEvery)
		}
	}
	s.Act(a)
	return changed
}

// ExpireSettings gives up waiting for a verdict.
func (x *Exchange) ExpireSettings(s *step.Step, version uint64) {
	x.failSettings(s, version, fmt.Sprintf("the policy did not say within %v whether it takes them over", s.Set.SettingsTimeout))
}

// FailSettings ends all versions that have no verdict.
func (x *Exchange) FailSettings(s *step.Step, why string) {
	for _, version := range slices.Clone(x.settings) {
		x.failSettings(s, version, why)
	}
}

func (x *Exchange) failSettings(s *step.Step, version uint64, why string) {
	x.Verdict(s, scheduler.SettingsVerdict{Version: version, Problems: []scheduler.Problem{{Message: why}}})
}

// Note tells a note to the policy. Without one, or when Settings.NotesMax wait for it, it
// goes nowhere, and that is said.
func (x *Exchange) Note(s *step.Step, n scheduler.Note) {
	g := x.current
	if g == nil || g.notes >= s.Set.NotesMax {
		s.Log(step.Warn, "a note was not delivered: no policy runs, or too many wait for it", "note", n.Name)
		return
	}
	g.notes++
	g.tell(scheduler.Noted{At: s.Now, Note: n})
}
