package policyhost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Every mistake of a policy has a place: its own, that of the settings, or that of the key that
// names it.
func TestWhatIsWrongHasAPlace(t *testing.T) {
	problem := func(file string, line int) error {
		return fmt.Errorf("it is told: %w", scheduler.Problems{{File: file, Line: line, Message: "bad"}})
	}
	set, unset := scheduler.Config{File: "h.yaml", Line: 5}, scheduler.Config{File: "h.yaml"}
	for _, x := range []struct {
		config scheduler.Config
		err    error
		want   string
	}{
		{set, problem("h.yaml", 7), "h.yaml:7: bad"},
		{set, problem("pools.xml", 0), "pools.xml: bad"},
		{set, problem("h.yaml", 0), "h.yaml:5: bad"},
		{set, problem("", 0), "h.yaml:5: bad"},
		{unset, problem("", 0), "h.yaml:2: bad"},
		{unset, problem("h.yaml", 0), "h.yaml:2: bad"},
		{set, errors.New("it does not start"), "h.yaml:2: it does not start"},
	} {
		p := Policy{Place: "h.yaml:2", Config: x.config}
		if got := p.placed(x.err); got.Error() != x.want {
			t.Errorf("%v of %+v: %v, want %s", x.err, x.config, got, x.want)
		}
	}
	program := filepath.Join(t.TempDir(), "policy")
	if err := os.WriteFile(program, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Validate(t.Context(), Policy{Place: "h.yaml:2", Path: program}, ""); err == nil || !strings.HasPrefix(err.Error(), "h.yaml:2: ") {
		t.Error(err)
	}
	right := Policy{Place: "h.yaml:2", Path: plugintest.Plugin(t, plugintest.Good)}
	right.Shadows = []Policy{{Place: "h.yaml:3", Path: right.Path}}
	if err := Validate(t.Context(), right, ""); err != nil {
		t.Error(err)
	}
	right.Shadows[0].Config = scheduler.Config{File: "h.yaml", Line: 5, Text: []byte("invalid")}
	if err := Validate(t.Context(), right, ""); err == nil || !strings.HasPrefix(err.Error(), "h.yaml:") {
		t.Errorf("wrong settings of a shadow: %v", err)
	}
}
