package manager

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// A client killed between announcing a job and submitting it leaves empty folders, which the
// manager removes when the announcement expires. Folders that are not empty or belong to others
// stay, as do files, whatever was announced. The folders of a job that is still awaited stay too.
func TestFoldersOfJobsThatWereNeverSubmitted(t *testing.T) {
	b := newTestbed(t)
	b.cfg.Core.PreparedFor, b.cfg.ClearEvery = 3*time.Second, 50*time.Millisecond // time enough to make folders
	b.start()
	folder := t.TempDir()
	out := filepath.Join(folder, "out")
	announce := func(secret string) plan.Owner {
		t.Helper()
		r, err := b.api.Prepare(b.ctx(), &wire.PrepareRequest{Principal: &wire.Principal{Name: "me"}, Outputs: []string{out}, Stores: []string{folder}, Secret: secret})
		if err != nil {
			t.Fatal(err)
		}
		return plan.Owner{Cluster: plan.Cluster(r.Manager), Job: r.Job, Secret: secret}
	}
	begun := time.Now()
	empty, full, file := announce("aaaa"), announce("bbbb"), announce("cccc")
	announce("../x") // no name is made of it
	for _, name := range []string{empty.Temporary(out), empty.Channels(folder), full.Temporary(out) + "/part", filepath.Join(folder, "other")} {
		if err := os.MkdirAll(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file.Temporary(out), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	gone := func(path string) bool { _, err := os.Lstat(path); return errors.Is(err, fs.ErrNotExist) }
	proctest.Until(t, time.Minute, "the empty folders are removed", func() bool { return gone(empty.Temporary(out)) && gone(empty.Channels(folder)) })
	if waited := time.Since(begun); waited < time.Second {
		t.Errorf("they are removed after %v, and the job may be submitted for 3 s", waited)
	}
	for _, stays := range []string{full.Temporary(out) + "/part", file.Temporary(out), filepath.Join(folder, "other"), folder} {
		if gone(stays) {
			t.Errorf("%s is gone", stays)
		}
	}
}
