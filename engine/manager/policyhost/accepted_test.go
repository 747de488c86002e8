package policyhost

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A configuration that a policy has accepted takes effect once, the newest alone when several wait. It
// is kept whole or not at all.
func TestAcceptance(t *testing.T) {
	dir := t.TempDir()
	a := &acceptance{folder: dir}
	if kept, err := Accepted(dir); kept != nil || err != nil {
		t.Errorf("got %q, error %v", kept, err)
	}
	var effects []string
	accept := func(name string) {
		a.accept(Policy{Config: scheduler.Config{Text: []byte(name)}, Source: []byte(name), InForce: func() { effects = append(effects, name) }})
	}
	accept("one")
	accept("two")
	for range 2 {
		if err := a.flush(); err != nil {
			t.Fatal(err)
		}
	}
	two := Policy{Config: scheduler.Config{Text: []byte("two")}}
	if !a.has(two) {
		t.Error("what was accepted last is not known")
	}
	a.folder = filepath.Join(dir, "gone")
	accept("three")
	if err := a.flush(); err == nil || a.has(two) {
		t.Errorf("got error %v without a folder", err)
	}
	if want := []string{"two", "three"}; !slices.Equal(effects, want) {
		t.Errorf("got effects %q, want %q", effects, want)
	}
	files, _ := os.ReadDir(dir)
	if kept, err := Accepted(dir); string(kept) != "two" || err != nil || len(files) != 1 {
		t.Errorf("got %q, error %v, files %v", kept, err, files)
	}
}
