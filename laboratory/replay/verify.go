package replay

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// DefaultDifferences is how many differences are described in words.
const DefaultDifferences = 10

// Started is a start of a policy, as recorded in the log.
type Started struct {
	Generation uint64
	Policy     string // name in the configuration
	Fallback   bool   // it was the fallback for one that failed, in the manager's own process
	// Settings are its settings at the start, where Known says that the log has them.
	Settings scheduler.Config
	Known    bool
}

// VerifyOptions control Verify. Host is required.
type VerifyOptions struct {
	// Host starts the policy that is asked in the place of a recorded generation, and returns its
	// settings. Verify closes it. An error ends Verify.
	Host func(ctx context.Context, of Started) (policy.Host, scheduler.Config, error)
	// Differences is how many differences are described in words, default DefaultDifferences;
	// negative is none.
	Differences int
	// Progress receives the progress; may be nil.
	Progress Progress
}

// Verify sends the rounds of a log to policies, and compares their answers with the log's. Each
// generation of the policy gets its recorded input: settings, snapshot, and all events, in the same
// rounds. The environment says that it is replayed. The error is of an unreadable log, or the
// context's; a failing policy is a difference.
func Verify(ctx context.Context, r *Recording, o VerifyOptions) (*Verification, error) {
	if o.Differences == 0 {
		o.Differences = DefaultDifferences
	}
	v := &verifier{ctx: ctx, options: o, found: &Verification{Left: r.Left}, lives: map[uint64]*life{}}
	defer v.endAll()
	extent, err := r.play(ctx, v, o.Progress)
	if err != nil {
		return nil, err
	}
	v.unanswered()
	v.found.Extent = *extent
	return v.found, nil
}

// verifier compares the recorded answers with new ones.
type verifier struct {
	ctx     context.Context
	options VerifyOptions
	found   *Verification
	lives   map[uint64]*life
	asked   *core.AskPolicy // without an answer; nil: none
}

// life is a generation of the policy, with the policy asked in its place.
type life struct {
	started Started
	begins  *core.StartPolicy // until it has started
	host    policy.Host       // nil: it is not asked
	found   *Life
}

// restored implements listener.
func (v *verifier) restored(*core.Core) {
	v.unanswered()
	v.endAll()
}

// before implements listener.
func (v *verifier) before(b *wire.Batch) error {
	for _, in := range b.GetInputs() {
		switch w := in.GetWhat().(type) {
		case *wire.Input_ManagerStart:
			v.found.Managers++
			v.unanswered()
			v.endAll()
		case *wire.Input_PolicyStart:
			if err := v.announced(w.PolicyStart); err != nil {
				return fmt.Errorf("at %s: %w", when(scheduler.Time(b.GetAt())), err)
			}
		case *wire.Input_PolicyStarted:
			if l := v.lives[w.PolicyStarted.GetGeneration()]; l != nil && l.begins != nil {
				if err := v.start(l, w.PolicyStarted); err != nil {
					return err
				}
			}
		case *wire.Input_PolicyAnswer:
			v.answered(w.PolicyAnswer)
		case *wire.Input_PolicyFailed:
			v.failed(w.PolicyFailed.GetGeneration())
		}
	}
	return v.ctx.Err()
}

// after implements listener.
func (v *verifier) after(_ *wire.Batch, actions []core.Action) error {
	for _, action := range actions {
		switch a := action.(type) {
		case core.StartPolicy:
			if l := v.lives[a.Generation]; l != nil {
				l.begins = &a
			}
		case core.AskPolicy:
			v.unanswered()
			v.asked = &a
		case core.PolicyGone:
			v.failed(a.Generation)
		}
	}
	return nil
}

// announced records that a generation is to start.
func (v *verifier) announced(m *wire.PolicyStart) error {
	config, known, err := m.Settings()
	if err != nil {
		return fmt.Errorf("the settings of generation %d of policy %s can't be read: %w", m.GetGeneration(), m.GetPolicy(), err)
	}
	v.end(v.lives[m.GetGeneration()])
	v.lives[m.GetGeneration()] = &life{started: Started{m.GetGeneration(), m.GetPolicy(), m.GetFallback(), config, known}}
	return nil
}

// start starts the policy asked in the place of a generation that has now started.
func (v *verifier) start(l *life, m *wire.PolicyStarted) error {
	begins := l.begins
	l.begins = nil
	l.found = &Life{Generation: m.GetGeneration(), Policy: l.started.Policy, Said: said(m.GetName(), m.GetVersion()), SettingsKnown: l.started.Known, Fallback: l.started.Fallback}
	v.found.Lives = append(v.found.Lives, l.found)
	host, config, err := v.options.Host(v.ctx, l.started)
	if err != nil {
		return fmt.Errorf("generation %d of policy %s: %w", m.GetGeneration(), l.started.Policy, err)
	}
	env := begins.Environment
	env.Store, env.Trace, env.Replayed = "", "", true
	d, err := host.Start(v.ctx, config, begins.Snapshot(), env)
	if err != nil {
		host.Close()
		v.broke(l, "it does not start: "+err.Error())
		return v.ctx.Err()
	}
	l.host, l.found.Asked = host, said(d.Name, d.Version)
	return nil
}

// answered compares the new answer with the recorded one.
func (v *verifier) answered(m *wire.PolicyAnswer) {
	if v.asked == nil || v.asked.Generation != m.GetGeneration() || v.asked.Round.Number != m.GetRound() {
		return // the core drops it
	}
	l, round := v.lives[m.GetGeneration()], v.asked.Round
	v.asked = nil
	switch {
	case l == nil || l.found == nil:
		v.found.Unknown++
		return
	case l.host == nil:
		l.found.NotAsked++
		return
	}
	recorded, err := schedwire.DecodeDecisions(m.GetDecisions())
	if err != nil {
		l.found.Unanswered++ // it broke the contract, which ends it
		return
	}
	answer, err := l.host.AssignTasks(v.ctx, round)
	switch {
	case v.ctx.Err() != nil:
		return
	case err != nil:
		v.broke(l, fmt.Sprintf("in round %d of %s it fails: %v", round.Number, when(round.Now), err))
		l.found.NotAsked++
		return
	}
	l.found.Rounds++
	if bytes.Equal(answer.Bytes, m.GetDecisions()) || reflect.DeepEqual(recorded, answer.Decisions) {
		return
	}
	l.found.Different++
	if len(v.found.Differences) < v.options.Differences {
		v.found.Differences = append(v.found.Differences, Difference{
			Policy: l.started.Policy, Generation: m.GetGeneration(), Round: round.Number, At: round.Now,
			Events: describeEvents(round.Events), Words: differences(&recorded, &answer.Decisions),
		})
	}
}

// broke records that the asked policy can't be asked any more.
func (v *verifier) broke(l *life, why string) {
	if l.host != nil {
		l.host.Close()
		l.host = nil
	}
	l.found.Broke = why
}

// unanswered ends the wait for an answer that never came.
func (v *verifier) unanswered() {
	if v.asked == nil {
		return
	}
	if l := v.lives[v.asked.Generation]; l != nil && l.found != nil {
		l.found.Unanswered++
	} else {
		v.found.Unknown++
	}
	v.asked = nil
}

// failed records that a generation is gone.
func (v *verifier) failed(generation uint64) {
	if v.asked != nil && v.asked.Generation == generation {
		v.unanswered()
	}
	v.end(v.lives[generation])
}

func (v *verifier) end(l *life) {
	if l == nil {
		return
	}
	if l.host != nil {
		l.host.Close()
	}
	delete(v.lives, l.started.Generation)
}

func (v *verifier) endAll() {
	for _, id := range slices.Sorted(maps.Keys(v.lives)) {
		v.end(v.lives[id])
	}
}

func said(name, version string) string {
	if version == "" {
		return name
	}
	return name + " " + version
}
