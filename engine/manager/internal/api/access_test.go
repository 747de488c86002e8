package api

import (
	"testing"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/access"
)

// A cached answer for one user is not used for another, nor for the same user under changed rules.
func TestRights(t *testing.T) {
	var rules *access.Rules
	s := NewServer(Needs{Rules: func() *access.Rules { return rules }})
	of := func(name string) uint64 {
		return s.Rights(auth.With(t.Context(), auth.Principal{Name: name, Proof: "tls"}))
	}
	if of("ann") != of("bob") {
		t.Error("where everybody may do everything, one sees something else than another")
	}
	known := map[uint64]string{of("ann"): "ann, and there are no rules"}
	for _, when := range []string{"at first", "under other rules", "under other rules again"} {
		rules = &access.Rules{}
		for _, name := range []string{"ann", "bob"} {
			n := of(name)
			if same, there := known[n]; there {
				t.Errorf("%s %s is as %s", name, when, same)
			}
			if known[n] = name + " " + when; n != of(name) {
				t.Errorf("%s %s is another each time", name, when)
			}
		}
	}
}
