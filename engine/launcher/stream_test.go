package launcher

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs/certstest"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// What the manager says is revoked counts no more at the launcher's own doors, and what it
// no longer says does again.
func TestWhatTheManagerRevokes(t *testing.T) {
	ca := certstest.New(t)
	s := &session{cfg: Config{Keys: ca.Keys(auth.Launcher, "l1")}}
	s.obeyAll(&wire.ToLauncher{Revocations: &wire.Revocations{Until: map[string]int64{"launcher/l2": 1000}}})
	if r := s.cfg.Keys.Revoked(); !r.Covers(auth.Worker, "l2", time.Unix(999, 0)) || r.Covers(auth.Worker, "l2", time.Unix(1000, 0)) {
		t.Errorf("revoked are %v", r)
	}
	s.obeyAll(&wire.ToLauncher{})
	if len(s.cfg.Keys.Revoked()) != 1 {
		t.Error("a message without a word of them revoked others")
	}
	s.obeyAll(&wire.ToLauncher{Revocations: &wire.Revocations{}})
	if len(s.cfg.Keys.Revoked()) != 0 {
		t.Error("nothing is revoked any more, and something is")
	}
}
