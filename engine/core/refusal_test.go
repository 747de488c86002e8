package core_test

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestRepeatedRefusalsBackOff: a policy repeats one refused decision for a minute. It is asked
// rarely then, and at once when anything happens.
func TestRepeatedRefusalsBackOff(t *testing.T) {
	s := newStory()
	s.policy(nil)
	s.settle()
	s.step(wire.NewInput(&wire.Note{Name: "think"}))
	again := scheduler.Decisions{Launch: []scheduler.Launch{{Bundle: 99, Launchers: []scheduler.LauncherID{1}}}}
	rounds, first := 0, s.Now()
	for s.Now() < first.Add(time.Minute) {
		if s.round != nil {
			rounds++
			s.decide(again)
			continue
		}
		if !s.Next() {
			t.Fatal("the refusal is never told")
		}
	}
	if least, most := 60, 80; rounds < least || rounds > most {
		t.Errorf("%d rounds in a minute of refusals, want %d to %d", rounds, least, most)
	}
	for s.round == nil {
		s.Pass(s.Now().Add(time.Second))
		s.step(wire.Tick())
	}
	s.decide(again) // the next refusal waits
	if s.round != nil {
		t.Error("a refusal like those before was told at once")
	}
	s.join("l1", map[string]string{"default": "1"})
	if s.round == nil {
		t.Fatal("news waited for the refusals")
	}
	s.decide(again)
	s.step(wire.Tick())
	if s.round == nil {
		t.Error("the first refusal after other news waited")
	}
}
