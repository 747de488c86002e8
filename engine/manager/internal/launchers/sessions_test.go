package launchers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// station is a session with the record of its calls.
type station struct {
	*session
	ctx context.Context
}

func newStation(name string, incarnation uint64) station {
	ctx, cancel := context.WithCancelCause(context.Background())
	return station{newSession(&wire.Join{Name: name, Incarnation: incarnation, HttpAddress: "there:1"}, cancel), ctx}
}

func joined(t *testing.T, l *Table, s station) {
	t.Helper()
	if err := l.grant(s.session); err != nil {
		t.Fatal(err)
	}
	l.welcomed(core.Welcome{Name: s.join.Name, Incarnation: s.join.Incarnation, Launcher: 7}, &wire.Welcome{})
}

func TestANameHasOneLauncher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTable(time.Second, time.Minute)
		first := newStation("a", 5)
		joined(t, l, first)
		if err := l.grant(newStation("a", 6).session); err == nil {
			t.Fatal("a second launcher took the name of one that lives")
		}
		if err := l.grant(newStation("a", 4).session); err == nil {
			t.Fatal("an older start took the name")
		}
		again := newStation("a", 5)
		joined(t, l, again)
		if first.ctx.Err() == nil {
			t.Fatal("the old stream of the same start stands")
		}
		if l.released(first.session) {
			t.Fatal("the end of the old stream made the launcher a suspect")
		}
		<-time.After((aliveBeats + 1) * time.Second) // silent for long
		if err := l.grant(newStation("a", 6).session); err != nil {
			t.Fatalf("a new start after silence: %v", err)
		}
	})
}

func TestCommandsGoOutInOrderAfterTheWelcome(t *testing.T) {
	l := NewTable(time.Second, time.Minute)
	s := newStation("a", 1)
	joined(t, l, s)
	for i := range 3 {
		l.Send(7, &wire.Command{Term: uint64(i)})
	}
	s.hear(&wire.Heartbeat{Seq: 9})
	m := s.next()
	if m.Welcome.GetLauncher() != 7 || len(m.Commands) != 3 || m.Commands[2].Term != 2 || m.Heartbeat.GetSeq() != 9 {
		t.Fatal(m)
	}
	if m := s.next(); m != nil {
		t.Fatalf("sent twice: %v", m)
	}
}

// A known launcher returns on a new stream while commands for it are in flight: its first message
// is the welcome, and no earlier command follows.
func TestNothingGoesOutBeforeTheWelcome(t *testing.T) {
	l := NewTable(time.Second, 20*time.Second)
	joined(t, l, newStation("a", 1))
	again := newStation("a", 1)
	if err := l.grant(again.session); err != nil {
		t.Fatal(err)
	}
	l.Send(7, &wire.Command{Term: 1})
	if m := again.next(); m != nil {
		t.Fatalf("sent before the welcome: %v", m)
	}
	l.welcomed(core.Welcome{Name: "a", Incarnation: 1, Launcher: 7}, &wire.Welcome{})
	l.Send(7, &wire.Command{Term: 2})
	if m := again.next(); m.Welcome.GetLauncher() != 7 || len(m.Commands) != 1 || m.Commands[0].Term != 2 {
		t.Fatal(m)
	}
}

func TestASlowLauncherIsCutOff(t *testing.T) {
	l := NewTable(time.Second, time.Minute)
	s := newStation("a", 1)
	joined(t, l, s)
	for range commandsMax + 1 {
		l.Send(7, &wire.Command{})
	}
	if s.ctx.Err() == nil {
		t.Fatal("it still stands")
	}
}

// judge runs a liveness until it reports a loss, in virtual time.
func judge(t *testing.T, l *Table, dial error) (string, time.Duration) {
	t.Helper()
	losses := make(chan *wire.Input, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	v := &Liveness{
		launchers: l, lostAfter: 20 * time.Second,
		put:  func(_ context.Context, in *wire.Input) error { losses <- in; return nil },
		dial: func(context.Context, string) error { return dial },
	}
	start := time.Now()
	go v.Run(ctx)
	in := <-losses
	synctest.Wait() // it notes that it reported the loss
	lost := in.GetLauncherLost()
	if lost.Launcher != 7 || lost.Incarnation != 1 {
		t.Fatal(lost)
	}
	return lost.Reason, time.Since(start)
}

func TestARefusedRedialIsLossAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTable(time.Second, time.Minute)
		s := newStation("a", 1)
		joined(t, l, s)
		if !l.released(s.session) {
			t.Fatal("the end of its stream went unnoticed")
		}
		if reason, took := judge(t, l, unix.ECONNREFUSED); took > time.Second {
			t.Fatalf("%s after %v", reason, took)
		}
	})
}

func TestAnUnreachableLauncherIsOnlySuspected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTable(time.Second, time.Minute)
		s := newStation("a", 1)
		joined(t, l, s)
		l.released(s.session)
		if reason, took := judge(t, l, errors.New("no route")); took < 20*time.Second || took > 21*time.Second {
			t.Fatalf("%s after %v", reason, took)
		}
	})
}

func TestSilenceIsLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTable(time.Second, time.Minute)
		s := newStation("a", 1)
		joined(t, l, s)
		if _, took := judge(t, l, nil); took < 20*time.Second || took > 21*time.Second {
			t.Fatalf("after %v", took)
		}
		if s.ctx.Err() == nil {
			t.Fatal("its stream stands")
		}
	})
}

func newStationOf(identity, name string, incarnation uint64) station {
	s := newStation(name, incarnation)
	s.join.Identity = identity
	return s
}

// A name belongs to its launcher until that is lost, also while it redials. Afterwards no
// incarnation of another launcher blocks the name.
func TestANameIsItsLaunchersUntilItIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTable(time.Second, 20*time.Second)
		first := newStationOf("one", "a", 1)
		joined(t, l, first)
		for _, incarnation := range []uint64{1, 2, 1<<64 - 1} {
			if err := l.grant(newStationOf("two", "a", incarnation).session); err == nil {
				t.Fatalf("another took the name as incarnation %d", incarnation)
			}
		}
		l.released(first.session)
		var refused *refusal
		if err := l.grant(newStationOf("two", "a", 2).session); !errors.As(err, &refused) || refused.afresh || refused.patience <= 20*time.Second {
			t.Fatalf("another took the name of one that redials: %v", err)
		}
		judge(t, l, errors.New("no route"))
		second := newStationOf("two", "a", 1<<64-1)
		if err := l.grant(second.session); err != nil {
			t.Fatalf("the name of a lost one is not given: %v", err)
		}
		l.Send(7, &wire.Command{})
		if m := second.next(); m != nil {
			t.Fatalf("a command for the one before goes to the next: %v", m)
		}
		l.released(second.session) // the core had not let it in
		joined(t, l, newStationOf("one", "a", 2))
	})
}

// A loss is on its way to the core, another takes the name and is gone at once: the
// name is free when the core knows.
func TestANameIsFreeWhenWhoTookItDuringALossIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTable(time.Second, 20*time.Second)
		first := newStationOf("one", "a", 1)
		joined(t, l, first)
		l.released(first.session)
		held, free := make(chan *wire.Input), make(chan struct{})
		v := &Liveness{
			launchers: l, lostAfter: 20 * time.Second,
			put:  func(_ context.Context, in *wire.Input) error { held <- in; <-free; return nil },
			dial: func(context.Context, string) error { return errors.New("no route") },
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go v.Run(ctx)
		<-held
		second := newStationOf("two", "a", 2)
		if err := l.grant(second.session); err != nil {
			t.Fatal(err)
		}
		l.released(second.session) // the core had not let it in
		close(free)
		synctest.Wait()
		joined(t, l, newStationOf("three", "a", 1))
	})
}

// The loss of an incarnation is on its way to the core. Its join must not overtake the loss,
// because the core would then lose the rejoined launcher.
func TestALossAndAJoinDoNotOvertakeEachOther(t *testing.T) {
	for _, connected := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l := NewTable(time.Second, 20*time.Second)
			s := newStationOf("one", "a", 1)
			joined(t, l, s)
			if !connected {
				l.released(s.session)
			}
			held, free := make(chan *wire.Input), make(chan struct{})
			v := &Liveness{
				launchers: l, lostAfter: 20 * time.Second,
				put:  func(_ context.Context, in *wire.Input) error { held <- in; <-free; return nil },
				dial: func(context.Context, string) error { return errors.New("no route") },
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go v.Run(ctx)
			<-held
			l.released(s.session)
			var refused *refusal
			if err := l.grant(newStationOf("one", "a", 1).session); !errors.As(err, &refused) || !refused.afresh {
				t.Fatalf("it joins as what it was: %v", err)
			}
			joined(t, l, newStationOf("one", "a", 2))
			close(free)
			synctest.Wait()
			l.Send(7, &wire.Command{})
			if r := l.byName["a"]; r == nil || r.lost || r.telling || r.id != 7 {
				t.Fatalf("the new start is %+v", r)
			}
		})
	}
}

// Launchers that are heard of cost a look nothing: each is looked at when it could have
// been silent for too long, not ten times a second.
func TestLiveLaunchersAreNotLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTable(time.Second, 20*time.Second)
		var all []station
		for i := range 1000 {
			s := newStation(fmt.Sprint("l", i), 1)
			if err := l.grant(s.session); err != nil {
				t.Fatal(err)
			}
			l.welcomed(core.Welcome{Name: s.join.Name, Incarnation: 1, Launcher: scheduler.LauncherID(i + 1)}, &wire.Welcome{})
			all = append(all, s)
		}
		v := &Liveness{launchers: l, lostAfter: 20 * time.Second}
		for range 600 { // a minute
			<-time.After(livenessEvery)
			for _, s := range all {
				s.hear(nil)
			}
			if losses := v.findSilent(t.Context()); len(losses) > 0 {
				t.Fatalf("%d launchers that were heard of are lost", len(losses))
			}
		}
		if l.looked > 5*len(all) {
			t.Errorf("%d looks at %d launchers in a minute, want one in each 20 s and two at first", l.looked, len(all))
		}
	})
}

// After a restart no launcher has a stream: they are dialled some at a time, each in
// its turn.
func TestFewLaunchersAreDialledAtOnce(t *testing.T) {
	const launchers = 3 * redialsMax
	synctest.Test(t, func(t *testing.T) {
		l := NewTable(time.Second, time.Hour)
		for i := range launchers {
			r := &launcherRecord{name: fmt.Sprint(i), id: scheduler.LauncherID(i + 1), incarnation: 1, http: fmt.Sprint(i), heard: time.Now()}
			l.byName[r.name], l.byID[r.id], l.alone[r] = r, r, true
			l.watch(r)
		}
		var mu sync.Mutex
		dialled, now, most := map[string]bool{}, 0, 0
		v := &Liveness{launchers: l, lostAfter: time.Hour, dial: func(_ context.Context, address string) error {
			mu.Lock()
			dialled[address] = true
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(redialTimeout)
			mu.Lock()
			now--
			mu.Unlock()
			return errors.New("no route")
		}}
		ctx, cancel := context.WithCancel(context.Background())
		go v.Run(ctx)
		time.Sleep(100 * redialTimeout)
		cancel()
		time.Sleep(2 * redialTimeout)
		mu.Lock()
		defer mu.Unlock()
		if most > redialsMax || len(dialled) != launchers {
			t.Errorf("%d of %d launchers were dialled, up to %d at once; want all, and at most %d at once", len(dialled), launchers, most, redialsMax)
		}
	})
}

// A launcher that was stopped leaves by its own report only, and at once.
func TestALauncherLeaves(t *testing.T) {
	l := NewTable(time.Second, time.Minute)
	s := newStation("a", 3)
	s.join.Identity = "folder"
	joined(t, l, s)
	for _, m := range []*wire.Leave{
		{Name: "b", Identity: "folder", Incarnation: 3},
		{Name: "a", Identity: "another", Incarnation: 3},
		{Name: "a", Identity: "folder", Incarnation: 2},
	} {
		if _, ok := l.leave(m); ok {
			t.Errorf("%v was believed", m)
		}
	}
	gone, ok := l.leave(&wire.Leave{Name: "a", Identity: "folder", Incarnation: 3})
	if lost := gone.input.GetLauncherLost(); !ok || lost.Launcher != 7 || lost.Incarnation != 3 || !lost.Left || lost.Reason != "it was stopped" {
		t.Errorf("%v %v", gone.input, ok)
	}
	if s.ctx.Err() == nil {
		t.Error("its stream stands")
	}
	if _, ok := l.leave(&wire.Leave{Name: "a", Identity: "folder", Incarnation: 3}); ok {
		t.Error("it left twice")
	}
}
