package cluster

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Bounds beyond which a policy fails.
const (
	faultsMax    = 20               // listed faults; one is enough to fail
	answerMax    = 10 * time.Second // for an admission, a request, or settings
	vainMax      = 200              // consecutive refused preemptions
	preemptedMax = 25               // losses of slots by one bundle in one game
)

// exchange is the traffic between the cluster and the policy apart from decisions with outcomes,
// with counts of these.
type exchange struct {
	number    uint64 // of the last round
	answered  bool   // it was answered
	refuses   bool   // the answer refuses jobs
	racy      bool   // events happened while the policy thought about it
	wasRacy   bool   // the same of the previous round, whose outcomes are in the last one
	asked     map[scheduler.JobID]scheduler.AdmissionAsked
	requested map[uint64]scheduler.Requested
	versions  uint64     // of the settings
	settings  []*setting // those without a verdict yet
	vain      int        // preemptions refused in a row
	preempted map[scheduler.BundleID]int
}

// setting is a version that the policy has yet to judge.
type setting struct {
	version uint64
	config  scheduler.Config
	want    Verdict
	change  bool // it differs from the settings in force
}

// Verdict is the expected verdict of a policy on settings.
type Verdict uint8

// The verdicts.
const (
	MayJudge   Verdict = iota // it may accept them or not, and must answer
	MustAccept                // they are right
	MustReject                // they are wrong
)

func newExchange() exchange {
	return exchange{asked: map[scheduler.JobID]scheduler.AdmissionAsked{}, requested: map[uint64]scheduler.Requested{}, preempted: map[scheduler.BundleID]int{}, answered: true}
}

// round begins a round. Until the world moves, there is no race.
func (x *exchange) round(number uint64) { x.number, x.answered, x.racy = number, false, false }

// awaits reports whether a round is the one that awaits an answer.
func (x *exchange) awaits(round uint64) bool { return round == x.number && !x.answered }

// fault records a mistake that no race excuses.
func (c *Cluster) fault(format string, args ...any) {
	if len(c.Faults) < faultsMax {
		c.Faults = append(c.Faults, fmt.Sprintf("round %d: ", c.exchange.number)+fmt.Sprintf(format, args...))
	}
}

// Request requests one of the policy's pages, when it serves any.
func (c *Cluster) Request(method, path string, body []byte) {
	c.Ask(scheduler.Requested{Principal: scheduler.Principal{Name: "reader", Proof: scheduler.Unproven}, Method: method, Path: path, Body: body})
}

// Ask sends a request to the policy, when it answers any. Its number and time are the cluster's.
func (c *Cluster) Ask(r scheduler.Requested) {
	if c.Has(scheduler.AbilityLoggedRequests) {
		c.loop.Push(wire.NewInput(&wire.PolicyRequest{
			Principal: &wire.Principal{Name: r.Principal.Name, Proof: r.Principal.Proof, Role: r.Principal.Role},
			Method:    r.Method, Path: r.Path, Query: r.Query, Accept: r.Accept, Body: r.Body,
		}))
	}
}

// Note delivers a note, as a plug-in's shell posts it.
func (c *Cluster) Note(n scheduler.Note) {
	c.loop.Push(wire.NewInput(&wire.Note{Name: n.Name, Body: n.Body}))
}

// Settings announces a version of the settings, with the verdict expected of the policy.
func (c *Cluster) Settings(config scheduler.Config, want Verdict) {
	x := &c.exchange
	x.versions++
	v := &setting{x.versions, config, want, want == MayJudge && !bytes.Equal(config.Text, c.Config.Text)}
	if v.change {
		c.Tally.Changes++
	}
	x.settings = append(x.settings, v)
	m, err := schedwire.NewConfig(config)
	if err != nil {
		panic("cluster: settings: " + err.Error())
	}
	data, err := proto.Marshal(m)
	if err != nil {
		panic("cluster: settings: " + err.Error())
	}
	c.loop.Push(wire.NewInput(&wire.SettingsChange{Version: v.version, Config: data}))
	c.After(answerMax, func() {
		if slices.Contains(x.settings, v) {
			c.fault("settings version %d was neither accepted nor rejected within %s", v.version, answerMax)
		}
	})
}

// admissionAsked and requestAsked have the policy answer in time.
func (c *Cluster) admissionAsked(e scheduler.AdmissionAsked) {
	c.Tally.Asked++
	c.exchange.asked[e.Job.ID] = e
	c.After(answerMax, func() {
		if _, waits := c.exchange.asked[e.Job.ID]; waits {
			c.fault("%s was neither admitted nor refused within %s", e.Job.ID, answerMax)
		}
	})
}

func (c *Cluster) requestAsked(e scheduler.Requested) {
	c.exchange.requested[e.Request] = e
	c.After(answerMax, func() {
		if _, waits := c.exchange.requested[e.Request]; waits {
			c.fault("request %d for %.200s was not answered within %s", e.Request, e.Path, answerMax)
		}
	})
}

// InForce returns the first events of a policy that starts now: the last sent loads, and requests
// that the previous policy has not answered.
func (c *Cluster) InForce() (all []scheduler.Event) {
	if c.Has(scheduler.AbilityLoad) {
		for _, l := range c.mirror.Launchers() {
			if l.LoadKnown() {
				all = append(all, scheduler.LauncherLoad{At: c.Now(), Launcher: l.ID, CPU: l.CPULoad, Memory: l.MemoryLoad})
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.exchange.asked)) {
		all = append(all, c.exchange.asked[id])
	}
	for _, id := range slices.Sorted(maps.Keys(c.exchange.requested)) {
		all = append(all, c.exchange.requested[id])
	}
	return all
}

// answered checks the parts of an answer without outcomes, and unneeded ones.
func (c *Cluster) answered(d scheduler.Decisions) {
	x := &c.exchange
	x.answered, x.wasRacy, x.refuses = true, x.racy, len(d.Refuse) > 0
	for _, r := range d.Refuse {
		if _, asked := x.asked[r.Job]; asked && r.Reason == "" {
			c.fault("%s was refused without a reason", r.Job)
		}
		delete(x.asked, r.Job)
	}
	for _, a := range d.Admit {
		delete(x.asked, a.Job)
	}
	for _, a := range d.Answers {
		if _, waits := x.requested[a.Request]; !waits {
			c.fault("an answer to request %d, which nobody waits for", a.Request)
		}
		delete(x.requested, a.Request)
		if a.Status < 100 || a.Status > 599 {
			c.fault("request %d was answered with status %d: it is an HTTP status", a.Request, a.Status)
		}
		c.Tally.Answers++
	}
	for _, v := range d.Settings {
		if c.judged(v) && v.Abilities != 0 {
			c.abilities = v.Abilities
		}
	}
	for _, w := range d.Waiting {
		if c.mirror.Job(w.Job) == nil && !x.racy {
			c.fault("a reason for waiting of %s, which is not live", w.Job)
		}
	}
	c.Tally.Notes += len(d.Notes)
	if d.Checkpoint != nil {
		c.Tally.Checkpoints++
		if !c.Has(scheduler.AbilityCheckpoint) {
			c.fault("a checkpoint without the ability")
		}
	}
}

// judged handles a verdict, and reports whether the settings are in force now.
func (c *Cluster) judged(s scheduler.SettingsVerdict) bool {
	x := &c.exchange
	i := slices.IndexFunc(x.settings, func(v *setting) bool { return v.version == s.Version })
	if i < 0 {
		c.fault("a verdict on settings version %d, which was not asked for", s.Version)
		return false
	}
	v := x.settings[i]
	x.settings = slices.Delete(x.settings, i, i+1)
	accepted := len(s.Problems) == 0
	if accepted && v.want == MustReject || !accepted && v.want == MustAccept {
		c.fault("settings version %d: accepted %t, want %t (%v)", s.Version, accepted, !accepted, s.Problems)
	}
	if !accepted {
		return false
	}
	c.Config = v.config
	if v.change {
		c.Tally.Changed++
	}
	return true
}

// outcome counts a refusal that no race excuses as a fault. A policy can't know whether a victim is protected, or
// whether a preemption gains room, so it may try. Likewise it can't know that an attempt commits, or waits for lost
// input, when it asks for a second one.
func (c *Cluster) outcome(o scheduler.Outcome) {
	x := &c.exchange
	switch {
	case o.Accepted && o.Kind == scheduler.DecisionPreempt:
		x.vain = 0
	case o.Accepted:
	case o.Kind == scheduler.DecisionPreempt && (o.Reason == scheduler.Protected || o.Reason == scheduler.NothingGained):
		if x.vain++; x.vain == vainMax {
			c.fault("%d preemptions in a row were refused, the last because %s", vainMax, o.Reason)
		}
	case x.wasRacy, c.isKilled(o), c.mayAsk(o):
		c.Tally.StaleRefusals++
	default:
		c.fault("%s %d of round %d was refused: %s%s", o.Kind, o.Index, o.Round, o.Reason, decided(o))
	}
}

// mayAsk reports whether the refused decision asks for a second attempt, and the policy could not know better.
func (c *Cluster) mayAsk(o scheduler.Outcome) bool {
	if o.Kind != scheduler.DecisionSpeculate || o.Reason != scheduler.Protected && o.Reason != scheduler.NothingGained {
		return false
	}
	b := c.mirror.Bundle(o.Speculate.Bundle)
	return b == nil || !slices.ContainsFunc(b.Attempts(), func(a *view.Attempt) bool { return a.Stopping })
}

// isKilled reports whether the refused decision is on the admission of a job that a user killed:
// policies do not learn of a kill before they have admitted the job.
func (c *Cluster) isKilled(o scheduler.Outcome) bool {
	return o.Kind == scheduler.DecisionAdmit && c.killed(o.Admit.Job) || o.Kind == scheduler.DecisionRefuse && c.killed(o.Refuse.Job)
}

// decided describes a refused decision.
func decided(o scheduler.Outcome) string {
	switch o.Kind {
	case scheduler.DecisionLaunch:
		return fmt.Sprintf(" (%v on launchers %d: %s)", o.Launch.Bundle, o.Launch.Launchers, o.Detail)
	case scheduler.DecisionPreempt:
		return fmt.Sprintf(" (%s of attempts %d for %s: %s)", o.Preempt.Mode, o.Preempt.Victims, o.Preempt.For, o.Detail)
	case scheduler.DecisionReserve:
		return fmt.Sprintf(" (%v on launchers %d until %d: %s)", o.Reserve.Bundle, o.Reserve.Launchers, o.Reserve.Until, o.Detail)
	case scheduler.DecisionSpeculate:
		return fmt.Sprintf(" (%v: %s)", o.Speculate.Bundle, o.Detail)
	case scheduler.DecisionResume:
		return fmt.Sprintf(" (attempt %d: %s)", o.Resume.Attempt, o.Detail)
	case scheduler.DecisionAdmit:
		return fmt.Sprintf(" (%s to pool %q: %s)", o.Admit.Job, o.Admit.Pool, o.Detail)
	}
	return fmt.Sprintf(" (%s: %s)", o.Refuse.Job, o.Detail)
}
