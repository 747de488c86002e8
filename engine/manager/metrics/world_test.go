package metrics

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/core"
)

// page is what the page shows of a world.
func page(t *testing.T, w World) string {
	t.Helper()
	m := New()
	m.Registry.MustRegister(w)
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range families {
		text.WriteString(f.String() + "\n")
	}
	return text.String()
}

// While the core does not answer, what the manager knows of itself is shown all the same;
// what the core counts is left out, and not shown as nothing.
func TestTheOwnStateIsShownWithoutTheCore(t *testing.T) {
	c := core.New(core.DefaultSettings())
	w := World{
		Policy: func() (string, int64, bool) { return "b", 42, true }, States: []string{"a", "b"},
		Wrong: func() bool { return true }, Stalled: func() bool { return false },
		Glance: func(context.Context, func(*core.Core)) error { return errors.New("it is busy") },
	}
	without := page(t, w)
	w.Glance = func(_ context.Context, look func(*core.Core)) error { look(c); return nil }
	with := page(t, w)
	for _, name := range []string{"hamadryad_policy_state", "hamadryad_policy_memory_bytes", "hamadryad_config_wrong", "hamadryad_log_stalled"} {
		if !strings.Contains(without, name) || !strings.Contains(with, name) {
			t.Errorf("%s is not shown", name)
		}
	}
	if strings.Contains(without, "hamadryad_jobs_ended_total") || !strings.Contains(with, "hamadryad_jobs_ended_total") {
		t.Error("what the core counts is shown without it, or not with it")
	}
}
