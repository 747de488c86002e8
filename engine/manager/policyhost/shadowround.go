package policyhost

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// shadowRounds makes a shadow's rounds of those of the deciding policy: one of several that are
// joined. Events keep their order, and offers are those after the last event. Not safe for
// concurrent use.
type shadowRounds struct {
	pending   int    // events that the next round begins with, and that the snapshot includes
	last      uint64 // round of the deciding policy that was joined last, or that the snapshot includes
	number    uint64 // of the shadow's last round: its numbers count up by one
	abilities scheduler.Ability
	events    []scheduler.Event // for the next round: first the outcomes of the shadow's last decisions
	offers    []scheduler.Offer // for the next round, in order of time, then ascending by launcher
	now       scheduler.Time    // of the last joined round
	wakeAt    scheduler.Time    // that the shadow asked for; 0: none
	woken     bool              // one of the events says that this time has passed
}

func newShadowRounds(start *core.ShadowStart, a scheduler.Ability) *shadowRounds {
	return &shadowRounds{pending: start.Pending, last: start.Round, number: start.Round, abilities: a, offers: slices.Clone(start.Offers)}
}

// join adds a round of the deciding policy to the shadow's next one. It returns the events that the
// shadow did not know. The given round is not changed. False: a round is missing.
func (x *shadowRounds) join(r *scheduler.Round) (fresh []scheduler.Event, whole bool) {
	if r.Number != x.last+1 {
		return nil, false
	}
	fresh = r.Events[min(x.pending, len(r.Events)):]
	x.pending, x.last, x.now = 0, r.Number, r.Now
	for _, e := range fresh {
		if t, is := x.translated(e); is {
			x.events = append(x.events, t)
		}
		switch e := e.(type) {
		case scheduler.TimePassed:
			x.woken = x.woken || e.At >= x.wakeAt
		case scheduler.LauncherLost: // it offers nothing, and no later offer says so
			x.offers = slices.DeleteFunc(x.offers, func(o scheduler.Offer) bool { return o.Launcher == e.Launcher })
		}
	}
	x.offers = append(x.offers, r.Offers...)
	return fresh, true
}

// next returns the shadow's round: all that was joined since the one before.
func (x *shadowRounds) next() *scheduler.Round {
	if x.wakeAt != 0 && x.wakeAt <= x.now && !x.woken {
		x.events = append(x.events, scheduler.TimePassed{At: x.now})
	}
	x.number++
	own := &scheduler.Round{Number: x.number, Now: x.now, Events: x.events, Offers: lastOffers(x.offers)}
	x.events, x.offers, x.woken = nil, nil, false
	return own
}

// translated returns an event as the shadow gets it; false: it does not get it. What the deciding
// policy carried out is a fact, as in a snapshot. What it was refused, asked or sent is its own
// matter.
func (x *shadowRounds) translated(e scheduler.Event) (scheduler.Event, bool) {
	switch e := e.(type) {
	case scheduler.Outcome:
		e.Round, e.Index = 0, 0
		return e, e.Accepted && e.Kind >= scheduler.DecisionPreempt
	case scheduler.SettingChanged, scheduler.AdmissionAsked, scheduler.Requested, scheduler.Noted:
		return nil, false
	case scheduler.AttemptProgress:
		return e, x.abilities.Has(scheduler.AbilityProgress)
	case scheduler.LauncherLoad:
		return e, x.abilities.Has(scheduler.AbilityLoad)
	}
	return e, true
}

// decided takes the shadow's decisions in a round of next: each is refused in the next one.
func (x *shadowRounds) decided(r *scheduler.Round, d *scheduler.Decisions) {
	refuse := func(o scheduler.Outcome) {
		o.At, o.Round, o.Reason, o.Detail = r.Now, r.Number, scheduler.Shadowed, "the policy is a shadow"
		x.events = append(x.events, o)
	}
	for i, j := range d.Refuse {
		refuse(scheduler.Outcome{Kind: scheduler.DecisionRefuse, Index: i, Refuse: j})
	}
	for i, j := range d.Admit {
		refuse(scheduler.Outcome{Kind: scheduler.DecisionAdmit, Index: i, Admit: j})
	}
	for i, p := range d.Preempt {
		refuse(scheduler.Outcome{Kind: scheduler.DecisionPreempt, Index: i, Preempt: p})
	}
	for i, r := range d.Resume {
		refuse(scheduler.Outcome{Kind: scheduler.DecisionResume, Index: i, Resume: r})
	}
	for i, l := range d.Launch {
		refuse(scheduler.Outcome{Kind: scheduler.DecisionLaunch, Index: i, Launch: l})
	}
	for i, r := range d.Reserve {
		refuse(scheduler.Outcome{Kind: scheduler.DecisionReserve, Index: i, Reserve: r})
	}
	for i, s := range d.Speculate {
		refuse(scheduler.Outcome{Kind: scheduler.DecisionSpeculate, Index: i, Speculate: s})
	}
	x.wakeAt = d.WakeAt
}

// lastOffers returns the last offer of each launcher, ascending by launcher, of offers in order of
// time. It changes the list.
func lastOffers(all []scheduler.Offer) []scheduler.Offer {
	slices.SortStableFunc(all, func(a, b scheduler.Offer) int { return cmp.Compare(a.Launcher, b.Launcher) })
	last := all[:0]
	for i, o := range all {
		if i+1 == len(all) || all[i+1].Launcher != o.Launcher {
			last = append(last, o)
		}
	}
	return last
}
