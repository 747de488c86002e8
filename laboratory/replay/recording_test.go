package replay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A file that is no log, is damaged, or comes from a newer program is reported by name.
func TestWhatCantBeRead(t *testing.T) {
	good := played(t, "fifo", 1, scheduler.Config{}, nil)
	newer := newWriter(t)
	newer.begin(core.New(core.DefaultSettings()).Checkpoint(), core.Version+1)
	newer.end()
	older := newWriter(t)
	older.begin(core.New(core.DefaultSettings()).Checkpoint(), core.Version-1)
	older.end()
	idle := newWriter(t)
	idle.begin(core.New(core.DefaultSettings()).Checkpoint(), core.Version)
	idle.end()
	damaged := t.TempDir()
	data, err := os.ReadFile(good.files[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(filepath.Join(damaged, filepath.Base(good.files[0])), data, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(damaged, "nothing"): "no such file",
		t.TempDir():                       "there is no event log in it: name a manager's data folder",
		newer.folder:                      "use the version of Hamadryad that wrote it, or a newer one",
		older.folder:                      "with the program that wrote it",
		idle.folder:                       "nothing happened in it",
		damaged:                           "is damaged at byte ",
	} {
		r, err := Open(path)
		if err == nil {
			_, err = Verify(t.Context(), r, VerifyOptions{Host: asRecorded})
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v, want %q with %s", err, want, path)
		}
	}
}

// A log whose first files are gone is verified from the first start of a policy on that it
// has, and the rounds before are counted.
func TestALogThatWasCut(t *testing.T) {
	whole := played(t, "fair", 2, scheduler.Config{}, nil)
	s, err := eventlog.ReadSegment(whole.files[0])
	if err != nil {
		t.Fatal(err)
	}
	cut := newWriter(t)
	p := player{r: whole, l: &recorder{w: cut, from: len(s.Records) / 2}, extent: &Extent{}}
	if err := p.file(t.Context(), whole.files[0]); err != nil {
		t.Fatal(err)
	}
	cut.end()
	r, err := Open(cut.folder)
	if err != nil {
		t.Fatal(err)
	}
	v := verify(t, r, asRecorded)
	if got := text(t, v); v.Unknown == 0 || v.Sum().Rounds != 0 || !v.Same() || !strings.Contains(got, "whose start is in no file of the log any more") {
		t.Errorf("of a log without its beginning:\n%s", got)
	}
}

// recorder writes the second part of a log, as if the files of the first were gone.
type recorder struct {
	w    *writer
	from int
	n    int
	core *core.Core
}

func (r *recorder) restored(c *core.Core) { r.core = c }

func (r *recorder) before(b *wire.Batch) error {
	if r.n++; r.n < r.from {
		return nil
	}
	return r.w.batch(r.core, b)
}

func (r *recorder) after(*wire.Batch, []core.Action) error { return nil }
