package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A job is live again because the log lost its end, and its file is damaged. Its next file says what it lacks. The damaged
// file stays, so that it can be repaired. The copy on the store is removed, so that no later start restores it.
func TestAJobThatGoesOnWasDamaged(t *testing.T) {
	s := tell(6, 100)
	h := open(t, options(t.TempDir()))
	h.BeginAt(0, &s.all[0])
	s.tells(h, 1, 100)
	if err := h.Sync(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	end(t, h)
	var ended []scheduler.JobID // that live at 50
	for _, j := range s.all[50].Jobs {
		if h.files.has(j.ID) {
			ended = append(ended, j.ID)
		}
	}
	b, err := os.ReadFile(h.files.path(ended[0]))
	b[len(b)-1] ^= 1
	if err = errors.Join(err, os.WriteFile(h.files.path(ended[0]), b, 0o600)); err != nil || len(ended) < 2 {
		t.Fatal(ended, err)
	}
	o, store := h.o, t.TempDir()
	o.Store = "file://" + store
	copyOf := func(id scheduler.JobID) string {
		return filepath.Join(store, jobsFolder, filepath.Base(h.files.path(id))+".1")
	}
	for _, id := range ended { // as an earlier life copied them
		at := time.Unix(0, 1)
		if err := errors.Join(os.MkdirAll(filepath.Dir(copyOf(id)), 0o700), os.WriteFile(copyOf(id), b, 0o600), os.Chtimes(h.files.path(id), at, at)); err != nil {
			t.Fatal(err)
		}
	}
	const last scheduler.JobID = 999 // that comes back: then all others were looked for
	if err := os.WriteFile(copyOf(last), b, 0o600); err != nil {
		t.Fatal(err)
	}
	h = open(t, o)
	proctest.Until(t, time.Minute, "what is missing is back", func() bool { return h.files.has(last) })
	h.BeginAt(50, &s.all[50])
	h.Replayed(50)
	for n, id := range ended {
		h.TakeChanges(51+uint64(n), &core.Changes{ChangeSet: changes.ChangeSet{Ended: []*wire.JobStatus{{Summary: &wire.JobSummary{Job: uint64(id), Ended: 1_800_000_050e9}}}}})
		r, err := reader(t, h, 51+uint64(n), id)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := r.Course(); err != nil || len(c.Lacks) > 0 != (n == 0) || n == 0 && !strings.Contains(c.Lacks[0], h.files.asidePath(id)) {
			t.Errorf("%s lacks %q, %v", id, c.Lacks, err)
		}
		r.Close()
	}
	if kept, err := filepath.Glob(filepath.Join(h.files.folder, "damaged-*")); err != nil || len(kept) != 1 {
		t.Errorf("%v %v", kept, err)
	}
	proctest.Until(t, time.Minute, "the copy is gone", func() bool {
		_, err := os.Stat(copyOf(ended[1]))
		return errors.Is(err, os.ErrNotExist)
	})
	end(t, h)
}

// A folder or a pipe in the place of a file counts as a damaged file. A pipe does not block a reader.
func TestNoFileInAFilesPlace(t *testing.T) {
	for what, put := range map[string]func(path string) error{
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"pipe":   func(path string) error { return unix.Mkfifo(path, 0o600) },
	} {
		t.Run(what, func(t *testing.T) {
			h := open(t, options(t.TempDir()))
			h.BeginAt(0, &core.Changes{})
			job := changes.Job{ID: 2, Submitted: 5, Spec: &wire.JobSpec{}}
			h.TakeChanges(1, &core.Changes{ChangeSet: changes.ChangeSet{Jobs: []changes.Job{job}, Ended: []*wire.JobStatus{{Summary: &wire.JobSummary{Job: 1, Submitted: 5, Ended: 1_800_000_050e9}}}}})
			if err := h.Sync(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			end(t, h)
			for _, path := range []string{h.files.path(1), h.journal.parts.path(0)} {
				if err := errors.Join(os.Remove(path), put(path)); err != nil {
					t.Fatal(err)
				}
			}
			h = open(t, h.o)
			h.BeginAt(1, &core.Changes{ChangeSet: changes.ChangeSet{Jobs: []changes.Job{job}}})
			h.TakeChanges(2, &core.Changes{ChangeSet: changes.ChangeSet{Jobs: []changes.Job{{ID: 1, Submitted: 5, Spec: &wire.JobSpec{}}}}}) // taking the changes in reads the file
			if err := h.Sync(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
			_, err := h.Open(t.Context(), 1)
			var damage *jobfile.DamageError
			if !errors.As(err, &damage) || len(h.State().Damaged) != 2 {
				t.Errorf("%v, damaged are %q", err, h.State().Damaged)
			}
			end(t, h)
		})
	}
}

// A lost or damaged index is rebuilt. A damaged file is named and left out. A damaged part of the journal is reported in
// the files of its jobs.
func TestDamage(t *testing.T) {
	s := tell(9, 200)
	o := options(t.TempDir())
	h := open(t, o)
	h.BeginAt(0, &s.all[0])
	s.tells(h, 1, 200)
	if err := h.Sync(t.Context(), 200); err != nil {
		t.Fatal(err)
	}
	want := kept(t, h)
	end(t, h)
	var bad scheduler.JobID
	for id := range want {
		bad = max(bad, id)
	}
	for what, damage := range map[string]func(path string){
		"lost":    func(path string) { os.Remove(path) },
		"damaged": func(path string) { os.WriteFile(path, make([]byte, 70_000), 0o600) },
	} {
		damage(filepath.Join(o.Folder, "index.db"))
		h = open(t, o)
		h.reconcile() // which goes on beside, too
		if d := cmp.Diff(want, kept(t, h), protocmp.Transform()); d != "" {
			t.Errorf("%s: %s", what, d)
		}
		end(t, h)
	}
	path := h.files.path(bad)
	whole, err := os.ReadFile(path)
	if err == nil {
		err = os.Truncate(path, 200)
	}
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(o.Folder, "index.db"))
	parts, err := filepath.Glob(filepath.Join(o.Folder, "journal", "part-*"))
	if err != nil || len(parts) == 0 {
		t.Fatal(parts, err)
	}
	newest := parts[len(parts)-1]
	part, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	newer := append([]byte(partMagic[:7]+"\x02"), part[8:]...)
	if err := os.WriteFile(newest, newer, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(o); err == nil || !strings.Contains(err.Error(), newest+" has format version 2, and this program reads version 1") || jobfile.IsDamage(err) {
		t.Errorf("a part of a newer version: %v", err)
	}
	if b, err := os.ReadFile(newest); err != nil || string(b) != string(newer) {
		t.Errorf("a part of a newer version was changed: %v", err)
	}
	if err := os.WriteFile(newest, part[:30], 0o600); err != nil {
		t.Fatal(err)
	}
	h = open(t, o)
	h.reconcile()
	delete(want, bad)
	if d := cmp.Diff(want, kept(t, h), protocmp.Transform()); d != "" {
		t.Error(d)
	}
	told := func() bool {
		return slices.ContainsFunc(h.State().Damaged, func(text string) bool { return strings.Contains(text, path) })
	}
	if !told() {
		t.Errorf("%q", h.State().Damaged)
	}
	if _, err := h.Open(t.Context(), bad); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	if _, err := h.Open(t.Context(), 424242); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	for id := range want { // a copy of another job's is put in its place
		other, err := os.ReadFile(h.files.path(id))
		if err == nil {
			err = os.WriteFile(path, other, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		var damage *jobfile.DamageError
		if r, err := h.Open(t.Context(), bad); !errors.As(err, &damage) || !strings.Contains(err.Error(), fmt.Sprintf("it is not the history of %v", bad)) {
			t.Errorf("with the file of %v: %v, %v", id, r, err)
		}
		break
	}
	if !told() {
		t.Errorf("%q", h.State().Damaged)
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil { // a copy of its own
		t.Fatal(err)
	}
	proctest.Until(t, time.Minute, "the file is no damaged one any more", func() bool { return !told() })
	if n := len(h.State().Damaged); n != 1 { // of the journal's part there is no copy
		t.Errorf("%d are damaged: %q", n, h.State().Damaged)
	}
	h.BeginAt(200, &s.all[200])
	live := s.all[200].Jobs[0].ID
	h.TakeChanges(201, &core.Changes{ChangeSet: changes.ChangeSet{Ended: []*wire.JobStatus{{Summary: &wire.JobSummary{Job: uint64(live), Ended: 1_800_000_050e9}}}}})
	r, err := reader(t, h, 201, live)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if c, err := r.Course(); err != nil || len(c.Lacks) == 0 {
		t.Errorf("%+v %v", c, err)
	}
	end(t, h)
}

// A part of the journal is damaged when a manager starts, so it is unknown which jobs have attempts in it. Each live job
// reports that it may lack some.
func TestAPartIsDamaged(t *testing.T) {
	h := open(t, options(t.TempDir()))
	h.BeginAt(0, &core.Changes{})
	rows := changes.ChangeSet{Jobs: []changes.Job{{ID: 1, Submitted: 5, Spec: &wire.JobSpec{}}, {ID: 2, Submitted: 5, Spec: &wire.JobSpec{}}}}
	for record := uint64(1); record <= 2; record++ {
		h.TakeChanges(record, &core.Changes{ChangeSet: changes.ChangeSet{Jobs: rows.Jobs, Attempts: []changes.Attempt{{ID: scheduler.AttemptID(record), Job: scheduler.JobID(record), State: changes.Ended}}}})
		if err := h.Sync(t.Context(), record); err != nil {
			t.Fatal(err)
		}
	}
	end(t, h)
	if err := os.Truncate(h.journal.parts.path(0), 20); err != nil {
		t.Fatal(err)
	}
	h = open(t, h.o)
	h.BeginAt(2, &core.Changes{ChangeSet: rows})
	h.Replayed(2)
	for id := range uint64(2) {
		h.TakeChanges(3+id, &core.Changes{ChangeSet: changes.ChangeSet{Ended: []*wire.JobStatus{{Summary: &wire.JobSummary{Job: id + 1, Submitted: 5, Ended: 1_800_000_050e9}}}}})
		r, err := reader(t, h, 3+id, scheduler.JobID(id+1))
		if err != nil {
			t.Fatal(err)
		}
		if c, err := r.Course(); err != nil || len(c.Lacks) != 1 || !strings.Contains(c.Lacks[0], "part-") {
			t.Errorf("job %d lacks %q, %v", id+1, c.Lacks, err)
		}
		r.Close()
	}
	end(t, h)
}

// A part of the journal that was removed costs only its content. History goes on, and the jobs' files say what they lack.
func TestAPartIsGone(t *testing.T) {
	s := tell(6, 400)
	h := open(t, options(t.TempDir()))
	h.BeginAt(0, &s.all[0])
	const parts = partsMax + 10
	const long scheduler.JobID = 9999 // live throughout
	s.steps[0].Jobs = append(s.steps[0].Jobs, changes.Job{ID: long, Submitted: s.now, Spec: &wire.JobSpec{Name: "long"}})
	for n := uint64(1); n <= parts; n++ {
		s.tried++
		s.steps[10*n-2].Attempts = append(s.steps[10*n-2].Attempts, changes.Attempt{ID: s.tried, Job: long, State: changes.Ended, Outcome: scheduler.Finished})
		s.tells(h, 10*n-9, 10*n)
		if err := h.Sync(t.Context(), 10*n); err != nil {
			t.Fatal(err)
		}
		if n != 3 {
			continue
		}
		names, err := filepath.Glob(filepath.Join(h.journal.parts.folder, "part-*"))
		if err = errors.Join(err, os.Remove(names[len(names)-1])); err != nil {
			t.Fatal(err)
		}
	}
	if x := h.State(); !x.Behind.IsZero() {
		t.Fatalf("%+v", x)
	}
	s.steps[399].Ended = append(s.steps[399].Ended, &wire.JobStatus{Summary: &wire.JobSummary{Job: uint64(long), Ended: int64(s.now)}})
	s.tells(h, 10*parts+1, 400)
	if err := h.Sync(t.Context(), 400); err != nil {
		t.Fatal(err)
	}
	if x := h.State(); !x.Behind.IsZero() || x.Record != 400 {
		t.Errorf("%+v", x)
	}
	all, lack := kept(t, h), 0
	for _, j := range all {
		if len(j.Course.Lacks) > 0 {
			lack++
		}
	}
	if c := all[long].Course; c.Attempts != parts-1 || len(c.Lacks) != 1 || lack == len(all) {
		t.Errorf("%+v", c)
		t.Errorf("%d of %d jobs say that they lack something", lack, len(all))
	}
	end(t, h)
}
