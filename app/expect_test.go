package app

import (
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// What the submitter expects of stages counts in place of the program's word, by stage.
func TestExpectedTimesOfStages(t *testing.T) {
	var f expectFlag
	for _, s := range []string{"map=25s", "a=b=1m"} {
		if err := f.Set(s); err != nil {
			t.Fatal(err)
		}
	}
	g := &wire.Graph{Stages: []*wire.Stage{{Name: "map", ExpectedNs: 1}, {Name: "reduce", ExpectedNs: 2}, {Name: "a=b"}}}
	if err := plan.GiveExpected(g, plan.Expected(f)); err != nil {
		t.Fatal(err)
	}
	for i, want := range []time.Duration{25 * time.Second, 2, time.Minute} {
		if got := time.Duration(g.Stages[i].ExpectedNs); got != want {
			t.Errorf("stage %s: got %v, want %v", g.Stages[i].Name, got, want)
		}
	}
	for s, want := range map[string]string{"map=1s": "twice", "25s": "names no stage", "=25s": "names no stage", "x=-1s": "no expected time", "x=0s": "no expected time", "x=99999999h": "no expected time", "x=soon": "write it like map=25s"} {
		if err := f.Set(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want something with %q", s, err, want)
		}
	}
	if err := f.Set("none=1s"); err != nil {
		t.Fatal(err)
	}
	if err := plan.GiveExpected(g, plan.Expected(f)); err == nil || !strings.Contains(err.Error(), `expected time of stage "none"`) {
		t.Errorf("an unknown stage: %v", err)
	}
}
