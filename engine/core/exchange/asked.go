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

// change is a version of the policy's settings without a verdict.
type change struct {
	version uint64
	told    scheduler.Time // of the round that told the policy; 0: none did
}

// late says whether the policy should have answered it.
func (c change) late(s *step.Step) bool {
	return c.told != 0 && s.Now >= c.told.Add(s.Set.SettingsTimeout)
}

// ChangeSettings has the policy told of a version of its settings, or says that none
// decides. A verdict is awaited for Settings.SettingsTimeout from when it was told.
func (x *Exchange) ChangeSettings(s *step.Step, m *wire.SettingsChange) {
	if x.current == nil {
		noVerdict(s, m.GetVersion(), step.Untold, "no policy is running")
		return
	}
	var message schedwire.Config
	if err := proto.Unmarshal(m.GetConfig(), &message); err != nil {
		noVerdict(s, m.GetVersion(), step.Judged, "the settings' message can't be read: "+err.Error())
		return
	}
	config, err := message.Decode()
	if err != nil {
		noVerdict(s, m.GetVersion(), step.Judged, "the settings' message can't be read: "+err.Error())
		return
	}
	s.After(s.Set.SettingsTimeout, step.TimerSettings, m.GetVersion())
	x.dropLate(s)
	x.settings = append(x.settings, change{version: m.GetVersion()})
	x.Tell(scheduler.SettingChanged{At: s.Now, Version: m.GetVersion(), Config: config})
}

// dropLate waits no longer for what should have been answered: a newer version counts.
func (x *Exchange) dropLate(s *step.Step) {
	x.settings = slices.DeleteFunc(x.settings, func(c change) bool {
		if c.late(s) {
			unanswered(s, c.version)
		}
		return c.late(s)
	})
}

// toldSettings notes that a round tells the policy of all versions there are.
func (x *Exchange) toldSettings(now scheduler.Time) {
	for i := range x.settings {
		if c := &x.settings[i]; c.told == 0 {
			c.told = now
		}
	}
}

// Verdict takes what a policy says of a version of its settings, which may change what it
// can do. It says whether that changed. One that comes late counts.
func (x *Exchange) Verdict(s *step.Step, v scheduler.SettingsVerdict) (changed bool) {
	at := x.awaited(v.Version)
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

func (x *Exchange) awaited(version uint64) int {
	return slices.IndexFunc(x.settings, func(c change) bool { return c.version == version })
}

// ExpireSettings says that a verdict has not come in time, or goes on waiting when it is
// not late yet: the policy may have been told a while after it was to be.
func (x *Exchange) ExpireSettings(s *step.Step, version uint64) {
	at := x.awaited(version)
	if at < 0 {
		return
	}
	switch c := x.settings[at]; {
	case c.late(s):
		unanswered(s, version)
	case c.told == 0:
		s.After(s.Set.SettingsTimeout, step.TimerSettings, version)
	default:
		s.After(c.told.Add(s.Set.SettingsTimeout).Sub(s.Now), step.TimerSettings, version)
	}
}

// FailSettings ends all versions that have no verdict, when the policy has failed: it may
// have been one that it was told of.
func (x *Exchange) FailSettings(s *step.Step, why string) {
	for _, c := range x.settings {
		word := step.Unanswered
		if c.told == 0 {
			word = step.Untold
		}
		noVerdict(s, c.version, word, "the policy failed before it answered: "+why)
	}
	x.settings = nil
}

// PassSettings ends them when another policy has taken over, which may be asked.
func (x *Exchange) PassSettings(s *step.Step) {
	for _, c := range x.settings {
		noVerdict(s, c.version, step.Untold, "another policy took over before it answered")
	}
	x.settings = nil
}

func unanswered(s *step.Step, version uint64) {
	noVerdict(s, version, step.Unanswered, fmt.Sprintf("the policy did not say within %v whether it takes them over", s.Set.SettingsTimeout))
}

func noVerdict(s *step.Step, version uint64, word step.Word, why string) {
	s.Act(step.SettingsVerdict{Version: version, Word: word, Problems: scheduler.Problems{{Message: why}}})
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
