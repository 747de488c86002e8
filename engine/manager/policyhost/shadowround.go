package policyhost

import (
	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// shadowRounds makes a shadow's rounds of those of the deciding policy. Not safe for concurrent use.
type shadowRounds struct {
	start     *core.ShadowStart // nil after the first round
	last      uint64            // round that the shadow had, or that the snapshot includes
	abilities scheduler.Ability
	refusals  []scheduler.Event // outcomes of the shadow's last decisions
	wakeAt    scheduler.Time    // that the shadow asked for; 0: none
}

func newShadowRounds(start *core.ShadowStart, a scheduler.Ability) *shadowRounds {
	return &shadowRounds{start: start, last: start.Round, abilities: a}
}

// next returns the shadow's round for one of the deciding policy, and the events of that round that
// the shadow did not know. The given round is not changed. False: a round is missing.
func (x *shadowRounds) next(r *scheduler.Round) (own *scheduler.Round, fresh []scheduler.Event, whole bool) {
	if r.Number != x.last+1 {
		return nil, nil, false
	}
	fresh = r.Events
	own = &scheduler.Round{Number: r.Number, Now: r.Now, Offers: r.Offers}
	if x.start != nil {
		fresh = fresh[min(x.start.Pending, len(fresh)):]
		own.Offers = mergedOffers(x.start.Offers, r.Offers)
		x.start = nil
	}
	x.last = r.Number
	own.Events = x.refusals
	woken := false
	for _, e := range fresh {
		if t, is := x.translated(e); is {
			own.Events = append(own.Events, t)
			_, time := t.(scheduler.TimePassed)
			woken = woken || time
		}
	}
	if x.wakeAt != 0 && x.wakeAt <= r.Now {
		x.wakeAt = 0
		if !woken {
			own.Events = append(own.Events, scheduler.TimePassed{At: r.Now})
		}
	}
	x.refusals = nil
	return own, fresh, true
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

// decided notes the shadow's decisions: each is refused in its next round.
func (x *shadowRounds) decided(r *scheduler.Round, d *scheduler.Decisions) {
	refuse := func(o scheduler.Outcome) {
		o.At, o.Round, o.Reason, o.Detail = r.Now, r.Number, scheduler.Shadowed, "the policy is a shadow"
		x.refusals = append(x.refusals, o)
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

// mergedOffers are all offers with those that changed; both lists are ascending by launcher.
func mergedOffers(all, changed []scheduler.Offer) []scheduler.Offer {
	list := make([]scheduler.Offer, 0, len(all)+len(changed))
	for _, o := range changed {
		for len(all) > 0 && all[0].Launcher < o.Launcher {
			list, all = append(list, all[0]), all[1:]
		}
		if len(all) > 0 && all[0].Launcher == o.Launcher {
			all = all[1:]
		}
		list = append(list, o)
	}
	return append(list, all...)
}
