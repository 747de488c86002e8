package cluster

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// faultsMax bounds the list of faults; one is enough to fail.
const faultsMax = 20

// exchange is the room of what passes between the cluster and the policy beside the
// decisions that have outcomes: rounds and their numbers, pages that were asked for,
// settings, notes, and what the policy did wrong.
type exchange struct {
	number    uint64     // of the last round
	racy      bool       // the world moved while the policy thought about it
	requests  uint64     // that were made
	requested []emission // of these: that wait for their answer
	versions  uint64     // of the settings
	settings  []*setting // of these: that wait for their verdict

	time      *timeline
	config    *scheduler.Config
	abilities *scheduler.Ability
	faults    *[]string
	tally     *Tally
}

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

func newExchange(time *timeline, config *scheduler.Config, abilities *scheduler.Ability, faults *[]string, tally *Tally) exchange {
	return exchange{time: time, config: config, abilities: abilities, faults: faults, tally: tally}
}

// fault notes what no race excuses.
func (x *exchange) fault(format string, args ...any) {
	if len(*x.faults) < faultsMax {
		*x.faults = append(*x.faults, fmt.Sprintf("round %d: ", x.number)+fmt.Sprintf(format, args...))
	}
}

// begin begins a round and returns its number. Until the world moves, there is no race.
func (x *exchange) begin() uint64 {
	x.number++
	x.tally.Rounds++
	x.racy = false
	return x.number
}

// last returns the number of the last round.
func (x *exchange) last() uint64 { return x.number }

// awaits says whether a round is the one that waits for an answer.
func (x *exchange) awaits(round uint64) bool { return round == x.number }

// raced notes whether the world moved while the policy thinks.
func (x *exchange) raced(moved bool) {
	x.tally.Races++
	x.racy = moved
}

// excused says whether a mistake may come of a race.
func (x *exchange) excused() bool { return x.racy }

// Request asks for one of the policy's pages, when it serves any.
func (x *exchange) Request(method, path string, body []byte) {
	x.Ask(scheduler.Requested{
		At: x.time.Now(), Principal: scheduler.Principal{Name: "reader", Proof: scheduler.Unproven}, Method: method, Path: path, Body: body,
	})
}

// Ask has a request answered, when the policy answers any. Its number is the cluster's.
func (x *exchange) Ask(r scheduler.Requested) {
	if !x.abilities.Has(scheduler.AbilityLoggedRequests) {
		return
	}
	x.requests++
	id := x.requests
	r.At, r.Request = x.time.Now(), id
	x.requested = append(x.requested, x.time.emit(r))
	x.time.After(answerMax, func() {
		if x.takeRequest(id) {
			x.fault("request %d for %.200s was not answered within %s", id, r.Path, answerMax)
		}
	})
}

func (x *exchange) takeRequest(id uint64) bool {
	i := slices.IndexFunc(x.requested, func(t emission) bool { return t.event.(scheduler.Requested).Request == id })
	if i >= 0 {
		x.requested = slices.Delete(x.requested, i, i+1)
	}
	return i >= 0
}

// open tells of the requests that wait for an answer.
func (x *exchange) open() []emission { return x.requested }

// Note delivers a note, as a plug-in's shell posts it.
func (x *exchange) Note(n scheduler.Note) { x.time.emit(scheduler.Noted{At: x.time.Now(), Note: n}) }

// Settings announces a version of the settings, and says what the policy is to make of it.
func (x *exchange) Settings(config scheduler.Config, want Verdict) {
	x.versions++
	v := &setting{x.versions, config, want, want == MayJudge && !bytes.Equal(config.Text, x.config.Text)}
	if v.change {
		x.tally.Changes++
	}
	x.settings = append(x.settings, v)
	x.time.emit(scheduler.SettingChanged{At: x.time.Now(), Version: v.version, Config: config})
	x.time.After(answerMax, func() {
		if slices.Contains(x.settings, v) {
			x.fault("settings version %d was neither accepted nor rejected within %s", v.version, answerMax)
		}
	})
}

// judged takes a verdict, and says whether the settings are in force now.
func (x *exchange) judged(s scheduler.SettingsVerdict) bool {
	i := slices.IndexFunc(x.settings, func(v *setting) bool { return v.version == s.Version })
	if i < 0 {
		x.fault("a verdict on settings version %d, which was not asked for", s.Version)
		return false
	}
	v := x.settings[i]
	x.settings = slices.Delete(x.settings, i, i+1)
	accepted := len(s.Problems) == 0
	if accepted && v.want == MustReject || !accepted && v.want == MustAccept {
		x.fault("settings version %d: accepted %t, want %t (%v)", s.Version, accepted, !accepted, s.Problems)
	}
	if !accepted {
		return false
	}
	*x.config = v.config
	if v.change {
		x.tally.Changed++
	}
	return true
}

// answered takes the answer to a request.
func (x *exchange) answered(a scheduler.Answer) {
	if !x.takeRequest(a.Request) {
		x.fault("an answer to request %d, which nobody waits for", a.Request)
	}
	if a.Status < 100 || a.Status > 599 {
		x.fault("request %d was answered with status %d: it is an HTTP status", a.Request, a.Status)
	}
	x.tally.Answers++
}

// posted takes notes and a checkpoint.
func (x *exchange) posted(notes []scheduler.Note, checkpoint *scheduler.Checkpoint) {
	for _, n := range notes {
		x.tally.Notes++
		x.Note(n)
	}
	if checkpoint != nil {
		x.tally.Checkpoints++
		if !x.abilities.Has(scheduler.AbilityCheckpoint) {
			x.fault("a checkpoint without the ability")
		}
	}
}
