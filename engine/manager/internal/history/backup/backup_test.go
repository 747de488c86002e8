package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// site is a folder with a backup.
type site struct {
	t      *testing.T
	folder string
	url    string
	mirror *Mirror

	mu   sync.Mutex
	took []string
}

func start(t *testing.T, url string) *site {
	t.Helper()
	s := &site{t: t, folder: t.TempDir(), url: url}
	for _, folder := range []string{"jobs", "tails"} {
		if err := os.Mkdir(filepath.Join(s.folder, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.again()
	return s
}

// again starts the copying, after it ended.
func (s *site) again() {
	s.t.Helper()
	m, err := Start(Options{
		Local: s.folder, Folders: map[string]string{"jobs": ".history", "tails": ".tails"}, GrowOnly: []string{"tails"}, URL: s.url, Look: 5 * time.Millisecond, again: 50 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Restored: func(name string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.took = append(s.took, name)
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.mirror = m
	s.t.Cleanup(m.Close)
}

// write writes a file that changed some time ago.
func (s *site) write(name, text string, ago time.Duration) {
	s.t.Helper()
	path := filepath.Join(s.folder, name)
	err := os.WriteFile(path+"-", []byte(text), 0o600)
	if err == nil {
		err = os.Chtimes(path+"-", time.Now().Add(-ago), time.Now().Add(-ago))
	}
	if err == nil {
		err = os.Rename(path+"-", path)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// files are the texts of all files below a folder, by name; of copies, without their versions.
func files(t *testing.T, folder string, copies bool) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		if copies {
			name = name[:strings.LastIndexByte(name, '.')]
		}
		if _, twice := all[name]; twice {
			text = append(text, " twice"...)
		}
		all[name] = string(text)
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return all
}

func (s *site) copied(want map[string]string) {
	s.t.Helper()
	var got map[string]string
	defer func() {
		if s.t.Failed() {
			s.t.Logf("copies are %q, want %q; %+v", got, want, s.mirror.State())
		}
	}()
	proctest.Until(s.t, time.Minute, "the copies are what they are to be", func() bool {
		got = files(s.t, s.url, true)
		return maps.Equal(got, want) && s.mirror.State().Waiting == 0
	})
}

// All that is added to, changed in and removed from the folder is so in the copy; another machine
// can restore all of it.
func TestCopiesComeBack(t *testing.T) {
	s := start(t, filepath.Join(t.TempDir(), "some", "where"))
	s.write("jobs/1.history", "one", time.Hour)
	s.write("jobs/2.history", "two", time.Hour)
	s.write("jobs/3.aside", "is none", time.Hour)
	s.write("tails/1-5.tails", "begins", time.Hour)
	s.copied(map[string]string{"jobs/1.history": "one", "jobs/2.history": "two", "tails/1-5.tails": "begins"})
	s.write("tails/1-5.tails", "begins, and ends", time.Minute)
	s.copied(map[string]string{"jobs/1.history": "one", "jobs/2.history": "two", "tails/1-5.tails": "begins, and ends"})
	s.mirror.Remove("jobs/1.history")
	if err := os.Remove(filepath.Join(s.folder, "jobs", "1.history")); err != nil {
		t.Fatal(err)
	}
	s.copied(map[string]string{"jobs/2.history": "two", "tails/1-5.tails": "begins, and ends"})
	if err := os.RemoveAll(filepath.Join(s.folder, "jobs", "2.history")); err != nil { // not by this program: its copy stays
		t.Fatal(err)
	}
	s.mirror.Close()

	other := start(t, s.url)
	want := map[string]string{"jobs/2.history": "two", "tails/1-5.tails": "begins, and ends"}
	proctest.Until(t, time.Minute, "all is brought back", func() bool { return maps.Equal(files(t, other.folder, false), want) })
	other.write("jobs/4.history", "four", time.Hour)
	want["jobs/4.history"] = "four"
	other.copied(want)
	other.mu.Lock()
	defer other.mu.Unlock()
	if strings.Join(other.took, " ") != "jobs/2.history tails/1-5.tails" {
		t.Errorf("told is of %q", other.took)
	}
}

// A cluster that begins anew gives numbers that an earlier one gave: the earlier one's copies are
// not lost.
func TestAnothersFileStays(t *testing.T) {
	first := start(t, t.TempDir())
	first.write("jobs/1.history", "the first one's", time.Hour)
	first.copied(map[string]string{"jobs/1.history": "the first one's"})
	first.mirror.Close()
	second := start(t, first.url)
	second.mirror.Close()
	second.write("jobs/1.history", "the second one's", time.Minute)
	for range 2 { // again, when both are there
		second.again()
		proctest.Until(t, time.Minute, "both are there", func() bool {
			all, err := filepath.Glob(filepath.Join(second.url, "jobs", "1.history.*"))
			if err != nil || len(all) != 2 {
				return false
			}
			one, errOne := os.ReadFile(all[0])
			two, errTwo := os.ReadFile(all[1])
			return errors.Join(errOne, errTwo) == nil && string(one) == "the first one's" && string(two) == "the second one's"
		})
		second.mirror.Close()
	}

	third := start(t, first.url)
	proctest.Until(t, time.Minute, "the newer one is here, and the older one is told of", func() bool {
		state := third.mirror.State()
		return files(t, third.folder, false)["jobs/1.history"] == "the second one's" && state.Older == 1 && state.OlderBytes == int64(len("the first one's"))
	})
	third.mirror.SetOlderMax(int64(len("the first one's")) - 1)
	third.copied(map[string]string{"jobs/1.history": "the second one's"})
	proctest.Until(t, time.Minute, "the older one is gone", func() bool { return third.mirror.State().Older == 0 })
	third.mirror.SetOlderMax(1000)
	third.write("jobs/1.history", "the third one's", quiet)
	proctest.Until(t, time.Minute, "two are there", func() bool { return third.mirror.State().Older == 1 })
	third.mirror.Remove("jobs/1.history")
	if err := os.Remove(filepath.Join(third.folder, "jobs", "1.history")); err != nil {
		t.Fatal(err)
	}
	third.copied(map[string]string{})
}

// A file that has just changed waits until it is quiet.
func TestWhatChangesWaits(t *testing.T) {
	s := start(t, t.TempDir())
	s.write("tails/1-5.tails", "grows", -time.Hour) // by a clock that is ahead
	s.write("jobs/1.history", "one", time.Hour)
	proctest.Until(t, time.Minute, "the other is copied", func() bool { return files(t, s.url, true)["jobs/1.history"] == "one" })
	if got := files(t, s.url, true); len(got) != 1 {
		t.Errorf("copied is %q", got)
	}
}

// A copy that can't be read is named, and tried again; all others are brought back, and new files copied.
func TestACopyThatCantBeRead(t *testing.T) {
	first := start(t, t.TempDir())
	want := map[string]string{"tails/1-5.tails": "whole"}
	for i := range 3 * fetchFailuresMax {
		want[fmt.Sprintf("jobs/%d.history", 10+i)] = "whole"
	}
	for name, text := range want {
		first.write(name, text, time.Hour)
	}
	first.copied(want)
	first.mirror.Close()
	store := &away{}
	storage.Register("mirror-damaged", store)
	second := start(t, "mirror-damaged://"+first.url)
	second.mirror.Close() // turns are played here
	for name := range want {
		if err := os.RemoveAll(filepath.Join(second.folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	second.write("jobs/99.history", "new", time.Hour)
	m := second.mirror
	damage := func(n int) { // of the first that are brought back
		damaged := map[string]bool{}
		for i := range n {
			damaged[fmt.Sprintf("jobs/%d.history", 10+i)] = true
		}
		store.damaged.Store(&damaged)
	}
	damage(fetchFailuresMax + 1)
	m.known = nil
	for turn, here := range []int{0, len(want) - fetchFailuresMax - 1} {
		if err := m.syncOnce(t.Context()); !errors.Is(err, errAway) || !strings.Contains(err.Error(), "jobs/1") {
			t.Errorf("turn %d: %v", turn, err)
		}
		if got := len(files(t, second.folder, false)) - 1; got != here {
			t.Errorf("turn %d: %d files are brought back, want %d", turn, got, here)
		}
		if got := files(t, first.url, true)["jobs/99.history"]; got != "new" {
			t.Errorf("turn %d: the new file's copy is %q", turn, got)
		}
	}
	damage(0)
	for range 2 {
		if err := m.syncOnce(t.Context()); err != nil {
			t.Error(err)
		}
	}
	want["jobs/99.history"] = "new"
	if got := files(t, second.folder, false); !maps.Equal(got, want) {
		t.Errorf("here is %q", got)
	}
}

// away is a store that can't be reached at times.
type away struct {
	storage.Local
	is      atomic.Bool
	damaged atomic.Pointer[map[string]bool] // names of files whose copies can't be read
}

var errAway = errors.New("nobody answers")

// local is the path of a copy here.
func local(url string) string {
	_, path, _ := strings.Cut(url, "://")
	return path
}

func (a *away) Open(ctx context.Context, path string, offset, length int64) (io.ReadCloser, error) {
	if damaged := a.damaged.Load(); damaged != nil {
		for name := range *damaged {
			if strings.Contains(path, name) {
				return nil, errAway
			}
		}
	}
	return a.Local.Open(ctx, local(path), offset, length)
}

func (a *away) Create(ctx context.Context, path string) (storage.File, error) {
	if a.is.Load() {
		return nil, errAway
	}
	return a.Local.Create(ctx, local(path))
}

func (a *away) Mkdir(ctx context.Context, path string) error {
	return a.Local.Mkdir(ctx, local(path))
}

func (a *away) List(ctx context.Context, path string) ([]storage.Info, error) {
	return a.Local.List(ctx, local(path))
}

// A store that vanished is not made again in its place, which may be that of a mount. One that comes back with less than it had gets
// what it lacks.
func TestAStoreThatComesBackWithLess(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "store")
	s := start(t, folder)
	s.write("jobs/1.history", "one", time.Hour)
	s.copied(map[string]string{"jobs/1.history": "one"})
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	s.write("jobs/2.history", "two", time.Hour)
	proctest.Until(t, time.Minute, "it is said that the store is away", func() bool { return errors.Is(s.mirror.State().Err, fs.ErrNotExist) })
	if _, err := os.Stat(folder); err == nil {
		t.Error("the store was made again")
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(folder, "jobs"), 0o700), os.Mkdir(filepath.Join(folder, "tails"), 0o700)); err != nil {
		t.Fatal(err)
	}
	s.copied(map[string]string{"jobs/1.history": "one", "jobs/2.history": "two"})
}

// While the store is away the state says so, and afterwards it gets everything.
func TestAStoreThatIsAway(t *testing.T) {
	store := &away{}
	store.is.Store(true)
	storage.Register("mirror-away", store)
	folder := t.TempDir()
	s := start(t, "mirror-away://"+folder)
	s.write("jobs/1.history", "one", time.Hour)
	proctest.Until(t, time.Minute, "it is said that the store is away", func() bool {
		state := s.mirror.State()
		return errors.Is(state.Err, errAway) && !state.Behind.IsZero() && state.Waiting == 1
	})
	s.mirror.Close() // the next try would come after half a minute
	store.is.Store(false)
	s.again()
	proctest.Until(t, time.Minute, "the store has it", func() bool {
		return files(t, folder, true)["jobs/1.history"] == "one" && s.mirror.State().Err == nil
	})
	if _, err := Start(Options{URL: "nowhere://x"}); err == nil {
		t.Error("a kind of store that there is not is taken")
	}
}
