package policystate

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// change is a version of the policy's settings without a verdict.
type change struct {
	version uint64
	sentAt  scheduler.Time // of the round that sent it to the policy; 0: not sent
}

// Changes are the versions of the policy's settings without a verdict, in order. The zero value is
// empty. Not safe for concurrent use.
type Changes struct{ list []change }

// late reports whether the policy should have answered it.
func (c change) late(s *step.Step) bool {
	return c.sentAt != 0 && s.Now >= c.sentAt.Add(s.Set.SettingsTimeout)
}

// ChangeSettings sends the policy a version of its settings, or reports that no policy is
// running. A verdict is due Settings.SettingsTimeout after the round that sent it.
func (x *Session) ChangeSettings(s *step.Step, m *wire.SettingsChange) {
	if x.current == nil {
		noVerdict(s, m.GetVersion(), step.VerdictNotAsked, "no policy is running")
		return
	}
	var message schedwire.Config
	if err := proto.Unmarshal(m.GetConfig(), &message); err != nil {
		noVerdict(s, m.GetVersion(), step.VerdictAnswered, "the settings' message can't be read: "+err.Error())
		return
	}
	config, err := message.Decode()
	if err != nil {
		noVerdict(s, m.GetVersion(), step.VerdictAnswered, "the settings' message can't be read: "+err.Error())
		return
	}
	s.SetTimer(s.Set.SettingsTimeout, step.TimerSettings, m.GetVersion())
	x.Changes.dropLate(s)
	x.Changes.list = append(x.Changes.list, change{version: m.GetVersion()})
	x.Notify(scheduler.SettingChanged{At: s.Now, Version: m.GetVersion(), Config: config})
}

// dropLate ends the wait for late verdicts: a newer version counts.
func (v *Changes) dropLate(s *step.Step) {
	v.list = slices.DeleteFunc(v.list, func(c change) bool {
		if c.late(s) {
			unanswered(s, c.version)
		}
		return c.late(s)
	})
}

// markSent records that a round sends the policy all versions.
func (v *Changes) markSent(now scheduler.Time) {
	for i := range v.list {
		if c := &v.list[i]; c.sentAt == 0 {
			c.sentAt = now
		}
	}
}

// Verdict handles a policy's verdict on a version of its settings, which may change its abilities.
// It reports whether they changed. A late verdict counts.
func (x *Session) Verdict(s *step.Step, v scheduler.SettingsVerdict) (changed bool) {
	at := x.Changes.awaited(v.Version)
	if at < 0 {
		return false
	}
	x.Changes.list = slices.Delete(x.Changes.list, at, at+1)
	a := step.SettingsVerdict{Version: v.Version, Problems: v.Problems}
	if g := x.current; g != nil && len(v.Problems) == 0 {
		a.Generation, a.Abilities, a.ProgressEvery = g.Number, v.Abilities, v.ProgressEvery
		if changed = v.Abilities != 0; changed {
			x.enable(v.Abilities, v.ProgressEvery)
		}
	}
	s.Emit(a)
	return changed
}

func (v *Changes) awaited(version uint64) int {
	return slices.IndexFunc(v.list, func(c change) bool { return c.version == version })
}

// Expire reports that a verdict has not come in time. It continues to wait when the verdict is not
// late yet: the round may have left a while after the version came.
func (v *Changes) Expire(s *step.Step, version uint64) {
	at := v.awaited(version)
	if at < 0 {
		return
	}
	switch c := v.list[at]; {
	case c.late(s):
		unanswered(s, version)
	case c.sentAt == 0:
		s.SetTimer(s.Set.SettingsTimeout, step.TimerSettings, version)
	default:
		s.SetTimer(c.sentAt.Add(s.Set.SettingsTimeout).Sub(s.Now), step.TimerSettings, version)
	}
}

// Fail ends all versions without a verdict, when the policy has failed: one of them may be the
// cause.
func (v *Changes) Fail(s *step.Step, why string) {
	for _, c := range v.list {
		word := step.VerdictTimedOut
		if c.sentAt == 0 {
			word = step.VerdictNotAsked
		}
		noVerdict(s, c.version, word, "the policy failed before it answered: "+why)
	}
	v.list = nil
}

// Pass ends them when another policy has taken over, which may be asked instead.
func (v *Changes) Pass(s *step.Step) {
	for _, c := range v.list {
		noVerdict(s, c.version, step.VerdictNotAsked, "another policy took over before it answered")
	}
	v.list = nil
}

func unanswered(s *step.Step, version uint64) {
	noVerdict(s, version, step.VerdictTimedOut, fmt.Sprintf("the policy did not say within %v whether it takes them over", s.Set.SettingsTimeout))
}

func noVerdict(s *step.Step, version uint64, word step.VerdictSource, why string) {
	s.Emit(step.SettingsVerdict{Version: version, Source: word, Problems: scheduler.Problems{{Message: why}}})
}
