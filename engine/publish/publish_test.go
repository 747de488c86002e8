package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/storage"
)

// parts of a job of three nodes. The remains of a failed attempt lie beside them.
var parts = []Part{{"a1.0.x", "x", "node 1"}, {"a2.0.deep%2Fy", "deep/y", "node 2"}, {"a3.0.deep%2Fer%2Fz", "deep/er/z", "node 3"}}

const whole = "_SUCCESS=job-1 mark deep/er/z=node 3 deep/y=node 2 x=node 1"

// job makes a job's temporary folder with its parts.
func job(t *testing.T) *Output {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	o := &Output{Folder: out, Temporary: out + ".job-1.5f0c93aa.tmp", Mark: "job-1 mark", By: "a9", Parts: parts}
	if err := os.Mkdir(o.Temporary, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range append(slices.Clone(parts), Part{"a7.0.x", "", "a late node"}) {
		if err := os.WriteFile(filepath.Join(o.Temporary, p.Temporary), []byte(p.Node), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// TestIncomplete: the output of a job array of which elements failed is not marked as complete. Its
// publisher, and no other, recognises it, also from a list of kept parts.
func TestIncomplete(t *testing.T) {
	const want = "_INCOMPLETE=job-1 mark deep/er/z=node 3 deep/y=node 2 x=node 1"
	for name, publish := range map[string]func(*Output) error{
		"at once": func(o *Output) error { return o.Publish(t.Context()) },
		"kept": func(o *Output) error {
			if _, err := o.Keep(t.Context()); err != nil {
				return err
			}
			_, err := Resume(t.Context(), o.Temporary, "p", "", nil)
			return err
		},
	} {
		o := job(t)
		o.Incomplete = true
		if err := publish(o); err != nil || tree(t, o.Folder) != want {
			t.Errorf("%s: %v, %s", name, err, tree(t, o.Folder))
		}
		if done, err := o.again("b").Published(t.Context()); !done || err != nil {
			t.Errorf("%s: its job published it: %t, %v", name, done, err)
		}
		other := o.again("c")
		other.Mark = "job-2 mark"
		if done, err := other.Published(t.Context()); done || !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: another job published it: %t, %v", name, done, err)
		}
	}
}

// again is the same output for another publisher.
func (o *Output) again(by string) *Output {
	return &Output{Folder: o.Folder, Temporary: o.Temporary, Mark: o.Mark, By: by, Parts: o.Parts}
}

// tree lists a folder's files with their content.
func tree(t *testing.T, folder string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all = append(all, fmt.Sprintf("%s=%s", strings.TrimPrefix(path, folder+"/"), text))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return "nothing"
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// dying is a store that works and then fails from some change on, before or after making it. It
// simulates a publisher that dies there.
type dying struct {
	storage.LateSyncer
	left  atomic.Int64
	after bool
}

var errDied = errors.New("died")

func (d *dying) step(do func() error) error {
	switch left := d.left.Add(-1); {
	case left > 0:
		return do()
	case left == 0 && d.after:
		return errors.Join(do(), errDied)
	}
	return errDied
}

func (d *dying) Rename(ctx context.Context, from, to string) error {
	return d.step(func() error { return d.LateSyncer.Rename(ctx, from, to) })
}

func (d *dying) RenameSoon(ctx context.Context, from, to string) error {
	return d.step(func() error { return d.LateSyncer.RenameSoon(ctx, from, to) })
}

func (d *dying) SyncFolder(ctx context.Context, folder string) error {
	return d.step(func() error { return d.LateSyncer.SyncFolder(ctx, folder) })
}

func (d *dying) Mkdir(ctx context.Context, path string) error {
	return d.step(func() error { return d.LateSyncer.Mkdir(ctx, path) })
}

func (d *dying) Create(ctx context.Context, path string) (f storage.File, err error) {
	err = d.step(func() (err error) {
		f, err = d.LateSyncer.Create(ctx, path)
		return err
	})
	return f, err
}

// steps is more than the number of a publisher's changes.
const steps = 20

// TestPublisherDiesAnywhere: wherever a publisher died, the next one succeeds; until the last step
// there is no output.
func TestPublisherDiesAnywhere(t *testing.T) {
	for at := range steps {
		for _, after := range []bool{false, true} {
			o := job(t)
			d := &dying{LateSyncer: storage.Local{NoSync: true}, after: after}
			d.left.Store(int64(at + 1))
			o.store = d
			err := o.Publish(t.Context())
			if got := tree(t, o.Folder); got != whole && (err == nil || got != "nothing") {
				t.Fatalf("died at %d (after it: %t, %v): the output is %s", at, after, err, got)
			}
			if err := o.again("a10").Publish(t.Context()); err != nil {
				t.Fatalf("again after %d (after it: %t): %v", at, after, err)
			}
			if got := tree(t, o.Folder); got != whole {
				t.Errorf("again after %d (after it: %t): %s", at, after, got)
			}
		}
	}
}

// TestKilledAnywhere: a job killed while it publishes has either its whole output, which is
// reported, or none.
func TestKilledAnywhere(t *testing.T) {
	for at := range steps {
		o := job(t)
		d := &dying{LateSyncer: storage.Local{NoSync: true}, after: true}
		d.left.Store(int64(at + 1))
		o.store = d
		_ = o.Publish(t.Context())
		published, err := o.again("a10").Withdraw(t.Context())
		if err != nil {
			t.Fatalf("killed at %d: %v", at, err)
		}
		want := "nothing"
		if published {
			want = whole
		}
		if got := tree(t, o.Folder); got != want {
			t.Errorf("killed at %d, published %t: %s", at, published, got)
		}
		if left, err := os.ReadDir(filepath.Dir(o.Folder)); err != nil || len(left) != map[bool]int{true: 1}[published] {
			t.Errorf("killed at %d: there is %v, %v", at, left, err)
		}
		if err := o.again("a9").Publish(t.Context()); published != (err == nil) {
			t.Errorf("the publisher woke up after it was killed at %d, published %t: %v", at, published, err)
		}
	}
}

func TestTwoPublishersAtOnce(t *testing.T) {
	o := job(t)
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() {
			if err := o.again(fmt.Sprint("a", i)).Publish(t.Context()); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("publisher %d: %v", i, err)
			}
		})
	}
	both.Wait()
	if err := o.again("a10").Publish(t.Context()); err != nil {
		t.Error(err)
	}
	if got := tree(t, o.Folder); got != whole {
		t.Error(got)
	}
}

// TestTaken: an existing output of another job stays as it is, even if that job had the same number
// and name. The parts stay, too, and a person publishes them under another name.
func TestTaken(t *testing.T) {
	for _, mark := range []string{"", "job-1 other", "job-1 mark and more"} {
		o := job(t)
		if err := os.Mkdir(o.Folder, 0o755); err != nil {
			t.Fatal(err)
		}
		before := ""
		if mark != "" {
			before = "_SUCCESS=" + mark
			if err := os.WriteFile(filepath.Join(o.Folder, SuccessName), []byte(mark), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.Publish(t.Context()); !errors.Is(err, fs.ErrExist) || !storage.Stays(err) {
			t.Errorf("%q: %v", mark, err)
		}
		if published, err := o.again("a10").Keep(t.Context()); published || err != nil {
			t.Errorf("%q: kept: %t, %v", mark, published, err)
		}
		if _, err := Resume(t.Context(), o.Temporary, "me", "", nil); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%q: resumed: %v", mark, err)
		}
		if out, err := Resume(t.Context(), o.Temporary, "me", o.Folder+"2", nil); err != nil || out != o.Folder+"2" {
			t.Errorf("%q: resumed elsewhere: %s, %v", mark, out, err)
		}
		if got := tree(t, o.Folder+"2"); got != whole {
			t.Errorf("%q: %s", mark, got)
		}
		if got := tree(t, o.Folder) + tree(t, o.Temporary); got != before+"nothing" {
			t.Errorf("%q: left: %s", mark, got)
		}
	}
}

// TestKeptAnywhere: the parts of a publisher that failed for good are published from its list,
// which may come out of a log.
func TestKeptAnywhere(t *testing.T) {
	for at := range steps {
		o := job(t)
		d := &dying{LateSyncer: storage.Local{NoSync: true}}
		d.left.Store(int64(at + 1))
		o.store = d
		_ = o.Publish(t.Context())
		published, err := o.again("a10").Keep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !published {
			var log strings.Builder
			log.WriteString("worker: this is it:\n")
			if err := o.List(&log); err != nil {
				t.Fatal(err)
			}
			if _, err := Resume(t.Context(), o.Temporary, "me", "", strings.NewReader(log.String()[:log.Len()-9])); err == nil {
				t.Error("half a list is no error")
			}
			for _, version := range []string{"0", "2"} {
				other := strings.Replace(log.String(), `"version":1`, `"version":`+version, 1)
				if _, err := Resume(t.Context(), o.Temporary, "me", "", strings.NewReader(other)); err == nil || !strings.Contains(err.Error(), "has version "+version+", and this program reads 1") {
					t.Error(err)
				}
			}
			if _, err := Resume(t.Context(), o.Temporary, "me", "", strings.NewReader(log.String())); err != nil {
				t.Error(err)
			}
		}
		if got := tree(t, o.Folder) + " " + tree(t, o.Temporary); got != whole+" nothing" {
			t.Errorf("kept at %d, published %t: %s", at, published, got)
		}
	}
}

// TestPartGone: a missing part is reported, and nothing is published.
func TestPartGone(t *testing.T) {
	o := job(t)
	if err := os.Remove(filepath.Join(o.Temporary, parts[1].Temporary)); err != nil {
		t.Fatal(err)
	}
	if err := o.Publish(t.Context()); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), parts[1].Temporary) {
		t.Error(err)
	}
	if got := tree(t, o.Folder); got != "nothing" {
		t.Error(got)
	}
}

func TestCheckNames(t *testing.T) {
	if err := CheckNames(parts); err != nil {
		t.Error(err)
	}
	for _, more := range []Part{{"a4.0.x", "x", "node 4"}, {"a4.0.x", "x/y", "node 4"}, {"a4.0.deep", "deep", "node 4"}} {
		err := CheckNames(append(slices.Clone(parts), more))
		if err == nil || !strings.Contains(err.Error(), "node 4") || !strings.Contains(err.Error(), "node 1") && !strings.Contains(err.Error(), "node 2") {
			t.Errorf("%s: %v", more.Name, err)
		}
	}
}
