package app

import (
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// What the submitter says of resources counts in place of the program's word, by stage or for all.
func TestResourcesOfStages(t *testing.T) {
	var f resourcesFlag
	for _, s := range []string{"cores:2", "map=gpu:1,license-x:2", "sort="} {
		if err := f.Set(s); err != nil {
			t.Fatal(err)
		}
	}
	g := &wire.Graph{Stages: []*wire.Stage{{Name: "map"}, {Name: "reduce"}, {Name: "sort", Resources: []*wire.ResourceCount{{Kind: "gpu", Count: 9}}}}}
	if err := plan.GiveResources(g, plan.Resources(f)); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"gpu:1,license-x:2", "cores:2", ""} {
		if got := wire.ResourcesOf(g.Stages[i].Resources).String(); got != want {
			t.Errorf("stage %s asks for %q, want %q", g.Stages[i].Name, got, want)
		}
	}
	for s, want := range map[string]string{"map=gpu:1": "twice", "x=gpu": "write KIND:COUNT", "x=GPU:1": "lower-case"} {
		if err := f.Set(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want something with %q", s, err, want)
		}
	}
	if err := f.Set("none=gpu:1"); err != nil {
		t.Fatal(err)
	}
	if err := plan.GiveResources(g, plan.Resources(f)); err == nil || !strings.Contains(err.Error(), `resources for stage "none"`) {
		t.Errorf("an unknown stage: %v", err)
	}
}
