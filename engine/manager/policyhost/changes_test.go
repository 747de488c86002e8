package policyhost

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// playMax bounds the wait for something to come about.
const playMax = time.Minute

// problemOf is the text of a problem that stands.
func problemOf(r *wire.PolicyReply, what string) string {
	for _, p := range r.GetProblems() {
		if p.What == what {
			return p.Text
		}
	}
	return ""
}

// theatre is a supervisor and a core, between which a test carries the messages. Plug-ins are
// actors in this process.
type theatre struct {
	*Supervisor
	t      *testing.T
	core   *core.Core
	actors atomic.Int32
	play   func(*actor, scheduler.Round) error // what an actor does in a round, beside the good
	asked  []string                            // settings that were sent to the core
}

// actor is a policy that takes over all settings but "deadly" ones, which kill it.
type actor struct {
	plugintest.Policy
	theatre *theatre
	number  int // of those that were started, from 1
}

var errDeadly = errors.New("died of its settings")

func (a *actor) Start(c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	if string(c.Text) == "deadly" {
		return scheduler.Description{}, errDeadly
	}
	return a.Policy.Start(c, s, e)
}

func (a *actor) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	d, err := a.Policy.AssignTasks(r)
	for _, e := range r.Events {
		if x, ok := e.(scheduler.SettingChanged); ok {
			if string(x.Config.Text) == "deadly" {
				return d, errDeadly
			}
			d.Settings = append(d.Settings, scheduler.SettingsVerdict{Version: x.Version})
		}
	}
	return d, errors.Join(err, a.theatre.play(a, r))
}

func newTheatre(t *testing.T, failuresMax int, play func(*actor, scheduler.Round) error) *theatre {
	ctx, cancel := context.WithCancel(context.Background())
	th := &theatre{t: t, core: core.New(core.DefaultSettings()), play: play}
	th.Supervisor = New(ctx, Needs{
		Inbox: inbox.New(), Data: t.TempDir(),
		Plugin: func(context.Context, policy.Options) (policy.Host, error) {
			return policy.InProcess(&actor{theatre: th, number: int(th.actors.Add(1))}), nil
		},
		Fallback: func() scheduler.TaskScheduler { return &plugintest.Policy{} },
		Term:     1, Log: slog.New(slog.DiscardHandler), Stats: metrics.New(), Conditions: &Conditions{}, Fatal: func(err error) { t.Error(err) },
	})
	t.Cleanup(func() { cancel(); th.Close() })
	th.BeginWith(th.policy("old", failuresMax))
	th.until("it runs", func() bool { return th.decides("old") })
	return th
}

func (th *theatre) policy(settings string, failuresMax int) Policy {
	p := Policy{Name: "p", Path: "p", Config: scheduler.Config{Text: []byte(settings)}, FailuresMax: failuresMax}
	p.Fill()
	return p
}

// until carries inputs to the core and actions back until something holds.
func (th *theatre) until(what string, holds func() bool) {
	th.t.Helper()
	late := time.After(playMax)
	for !holds() {
		batch := &wire.Batch{}
		select {
		case e := <-th.needs.Inbox.Next():
			th.needs.Inbox.Taken([]inbox.Entry{e})
			batch.Inputs = e.Inputs
		case <-time.After(time.Millisecond): // the core may want to be woken, or the test have waited for something else
			batch.Inputs = []*wire.Input{wire.Tick()}
		case <-late:
			th.t.Fatalf("never: %s; %v", what, th.Reply(th.ctx, true))
		}
		batch.At = time.Now().UnixNano()
		for _, in := range batch.Inputs {
			if x := in.GetSettings(); x != nil {
				th.asked = append(th.asked, th.textOf(x.Version))
			}
		}
		for _, a := range th.core.Step(batch) {
			switch a := a.(type) {
			case core.AskPolicy:
				th.Ask(a)
			case core.StartPolicy:
				th.Start(a)
			case core.PolicyGone:
				th.Gone(a)
			case core.SettingsVerdict:
				th.Settled(a)
			}
		}
	}
}

func (th *theatre) textOf(version uint64) string {
	th.mu.Lock()
	defer th.mu.Unlock()
	return string(th.changes.asked[version].spec.Config.Text)
}

// decides says whether a policy with such settings decides, in the core's eyes too.
func (th *theatre) decides(settings string) bool {
	th.mu.Lock()
	defer th.mu.Unlock()
	return th.state == Running && string(th.current.spec.Config.Text) == settings && th.incoming == nil &&
		th.core.PolicyState().Generation == th.current.generation && !th.changes.pending()
}

// falls says whether the fallback decides and nothing else is tried.
func (th *theatre) falls() bool {
	th.mu.Lock()
	defer th.mu.Unlock()
	return th.state == Fallback && th.incoming == nil && th.current.known && !th.changes.pending()
}

func (th *theatre) sent(settings ...string) func() bool {
	return func() bool { return strings.Join(th.asked, " ") == strings.Join(settings, " ") }
}

// held has the first actor's first round last until it is let go, with an error or none.
func held(then error) (play func(*actor, scheduler.Round) error, let func()) {
	gate := make(chan struct{})
	let = sync.OnceFunc(func() { close(gate) })
	return func(a *actor, r scheduler.Round) error {
		if a.number > 1 || r.Number > 1 {
			return nil
		}
		<-gate
		return then
	}, let
}

var errOther = errors.New("died of something else")

// A policy that dies before it got its new settings has not judged them: the next one is asked.
func TestSettingsOutliveAPolicyThatWasNotTold(t *testing.T) {
	play, let := held(errOther)
	defer let()
	th := newTheatre(t, 5, play)
	th.Update(th.policy("good", 5))
	th.until("they are sent", th.sent("good"))
	let()
	th.until("they are in force", func() bool { return th.decides("good") })
	if r := th.Reply(th.ctx, true); r.Restarts != 1 || problemOf(r, ConditionSettings) != "" || !th.sent("good", "good")() {
		t.Errorf("%v, sent %q", r, th.asked)
	}
}

// Settings without a rejection repair a policy that failed too often, whether it got them or not.
func TestSettingsMendAPolicyThatFailedTooOften(t *testing.T) {
	t.Run("not told", func(t *testing.T) {
		play, let := held(errOther)
		defer let()
		th := newTheatre(t, 1, play)
		th.Update(th.policy("good", 1))
		th.until("they are sent", th.sent("good"))
		let()
		th.until("they are in force", func() bool { return th.decides("good") })
		if !th.sent("good")() {
			t.Errorf("sent %q", th.asked)
		}
	})
	t.Run("told", func(t *testing.T) {
		th := newTheatre(t, 1, func(a *actor, r scheduler.Round) error {
			for _, e := range r.Events {
				if _, ok := e.(scheduler.SettingChanged); ok && a.number == 1 {
					return errOther
				}
			}
			return nil
		})
		th.Update(th.policy("good", 1))
		th.until("they are in force", func() bool { return th.decides("good") })
		if r := th.Reply(th.ctx, true); len(r.Problems) != 0 {
			t.Errorf("%v", r)
		}
	})
}

// Settings that kill a policy leave the old ones in force, and are asked about again only on
// request.
func TestDeadlySettings(t *testing.T) {
	good := func(*actor, scheduler.Round) error { return nil }
	th := newTheatre(t, 5, good)
	th.Update(th.policy("deadly", 5))
	old := func() bool {
		return th.current != nil && string(th.current.spec.Config.Text) == "old" && th.current.known
	}
	stands := func() bool {
		th.mu.Lock()
		defer th.mu.Unlock()
		return th.restarts == 1 && old() && th.changes.open != nil && th.changes.open.failed
	}
	th.until("the old ones stand", stands)
	r := th.Reply(th.ctx, true)
	if text := problemOf(r, ConditionSettings); !strings.Contains(text, errDeadly.Error()) || !strings.Contains(text, "hamadryad policy reload") {
		t.Errorf("%v", r)
	}
	outcome := make(chan error, 1)
	go func() { outcome <- th.Reload(th.ctx) }()
	th.until("the old one goes on", func() bool { return len(outcome) > 0 && th.decides("old") })
	if err := <-outcome; err == nil || !strings.Contains(err.Error(), errDeadly.Error()) || !th.sent("deadly")() {
		t.Errorf("%v, sent %q", err, th.asked)
	}

	th = newTheatre(t, 1, good)
	th.Update(th.policy("deadly", 1))
	th.until("the fallback goes on", func() bool { return th.actors.Load() == 2 && th.falls() })
	if r := th.Reply(th.ctx, true); !strings.Contains(problemOf(r, ConditionChange), errDeadly.Error()) || !th.sent("deadly")() {
		t.Errorf("%v, sent %q", r, th.asked)
	}
}

// The file's last content is in force in the end, also if it went back to what was in force while
// the policy was asked about something else.
func TestTheFileGoesBack(t *testing.T) {
	play, let := held(nil)
	defer let()
	th := newTheatre(t, 5, play)
	th.Update(th.policy("good", 5))
	th.until("they are sent", th.sent("good"))
	th.Update(th.policy("old", 5))
	th.until("they are sent", th.sent("good", "old"))
	let()
	th.until("they are in force", func() bool { return th.decides("old") })
}

// While one policy is asked, another takes over: then the new one is asked.
func TestSettingsPassToWhoTakesOver(t *testing.T) {
	play, let := held(nil)
	defer let()
	th := newTheatre(t, 5, play)
	th.Update(th.policy("good", 5))
	th.until("they are sent", th.sent("good"))
	outcome := make(chan error, 1)
	go func() { outcome <- th.Reload(th.ctx) }()
	th.until("it has started", func() bool { return len(outcome) > 0 })
	let()
	th.until("they are in force", func() bool { return th.decides("good") })
	if err := <-outcome; err != nil || !th.sent("good", "good")() {
		t.Errorf("%v, sent %q", err, th.asked)
	}
}
