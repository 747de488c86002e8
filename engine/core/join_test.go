package core

import (
	"math"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// joins runs joins and losses of one name and returns the answer to the last.
func joins(c *Core, inputs ...*wire.Input) (answer Welcome) {
	for _, in := range inputs {
		for _, a := range c.Step(&wire.Batch{At: int64(c.state.Step.Now) + 1, Inputs: []*wire.Input{in}}) {
			if w, ok := a.(Welcome); ok {
				answer = w
			}
		}
	}
	return answer
}

func joinOf(identity string, incarnation uint64) *wire.Input {
	return wire.NewInput(&wire.LauncherJoin{Join: &wire.Join{
		Name: "a", Identity: identity, Incarnation: incarnation, Host: "h", Slots: []*wire.Slots{{Kind: "default", Count: 1}},
	}})
}

func lossOf(incarnation uint64) *wire.Input {
	return wire.NewInput(&wire.LauncherLost{Launcher: 1, Incarnation: incarnation, Reason: "test"})
}

func TestWhoseAName(t *testing.T) {
	const ahead = math.MaxUint64
	for name, x := range map[string]struct {
		inputs        []*wire.Input
		joins, afresh bool
	}{
		"another while it is up":                  {inputs: []*wire.Input{joinOf("one", 5), joinOf("two", 6)}},
		"another with its incarnation":            {inputs: []*wire.Input{joinOf("one", 5), joinOf("two", 5)}},
		"one without identity":                    {inputs: []*wire.Input{joinOf("one", 5), joinOf("", 6)}},
		"itself again":                            {inputs: []*wire.Input{joinOf("one", 5), joinOf("one", 5)}, joins: true},
		"its next life":                           {inputs: []*wire.Input{joinOf("one", 5), joinOf("one", 6)}, joins: true},
		"an older life":                           {inputs: []*wire.Input{joinOf("one", 5), joinOf("one", 4)}},
		"what was given up":                       {inputs: []*wire.Input{joinOf("one", 5), lossOf(5), joinOf("one", 5)}, afresh: true},
		"an older life of what was given up":      {inputs: []*wire.Input{joinOf("one", 5), lossOf(5), joinOf("one", 4)}},
		"another after its loss":                  {inputs: []*wire.Input{joinOf("one", 5), lossOf(5), joinOf("two", 3)}, joins: true},
		"itself after the loss of another":        {inputs: []*wire.Input{joinOf("two", ahead), lossOf(ahead), joinOf("one", 5)}, joins: true},
		"a loss that comes late":                  {inputs: []*wire.Input{joinOf("one", 5), joinOf("one", 6), lossOf(5), joinOf("one", 6)}, joins: true},
		"one with identity after one of an older": {inputs: []*wire.Input{joinOf("", 5), joinOf("one", 6)}, joins: true},
	} {
		c := New(DefaultSettings())
		w := joins(c, x.inputs...)
		if (w.Refused == "") != x.joins || w.Afresh != x.afresh {
			t.Errorf("%s: %+v", name, w)
		}
		back, err := Restore(c.Checkpoint())
		if err != nil || !slices.Equal(back.Checkpoint(), c.Checkpoint()) || back.state.Cluster.LauncherNamed("a").Identity() != c.state.Cluster.LauncherNamed("a").Identity() {
			t.Errorf("%s: the checkpoint does not come back: %v", name, err)
		}
	}
}
