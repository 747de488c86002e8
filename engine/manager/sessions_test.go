package manager

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// station is a session with what was done to it.
type station struct {
	*session
	ctx context.Context
}

func newStation(name string, incarnation uint64) station {
	ctx, cancel := context.WithCancelCause(context.Background())
	return station{newSession(&wire.Join{Name: name, Incarnation: incarnation, HttpAddress: "there:1"}, cancel), ctx}
}

func joined(t *testing.T, l *launchers, s station) {
	t.Helper()
	if err := l.claim(s.session); err != nil {
		t.Fatal(err)
	}
	l.welcomed(core.Welcome{Name: s.join.Name, Incarnation: s.join.Incarnation, Launcher: 7}, &wire.Welcome{})
}

func TestANameHasOneLauncher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLaunchers(time.Second)
		first := newStation("a", 5)
		joined(t, l, first)
		if err := l.claim(newStation("a", 6).session); err == nil {
			t.Fatal("a second launcher took the name of one that lives")
		}
		if err := l.claim(newStation("a", 4).session); err == nil {
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
		if err := l.claim(newStation("a", 6).session); err != nil {
			t.Fatalf("a new start after silence: %v", err)
		}
	})
}

func TestCommandsGoOutInOrderAfterTheWelcome(t *testing.T) {
	l := newLaunchers(time.Second)
	s := newStation("a", 1)
	joined(t, l, s)
	for i := range 3 {
		l.send(7, &wire.Command{Term: uint64(i)})
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

func TestASlowLauncherIsCutOff(t *testing.T) {
	l := newLaunchers(time.Second)
	s := newStation("a", 1)
	joined(t, l, s)
	for range commandsMax + 1 {
		l.send(7, &wire.Command{})
	}
	if s.ctx.Err() == nil {
		t.Fatal("it still stands")
	}
}

// judge runs a liveness until it reports a loss, in virtual time.
func judge(t *testing.T, l *launchers, dial error) (string, time.Duration) {
	t.Helper()
	losses := make(chan entry, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	v := &liveness{
		launchers: l, lostAfter: 20 * time.Second,
		put:  func(_ context.Context, e entry) error { losses <- e; return nil },
		dial: func(context.Context, string) error { return dial },
	}
	start := time.Now()
	go v.run(ctx)
	e := <-losses
	lost := e.inputs[0].GetLauncherLost()
	if lost.Launcher != 7 || lost.Incarnation != 1 {
		t.Fatal(lost)
	}
	return lost.Reason, time.Since(start)
}

func TestARefusedRedialIsLossAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLaunchers(time.Second)
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
		l := newLaunchers(time.Second)
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
		l := newLaunchers(time.Second)
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
