package history

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/logarchive"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/internal/smalldisk"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Others fill the disk to the last byte. The oldest jobs are removed for new ones, and counted. When none is left, history
// and the ends of logs report that they can't be written. History opens on a full disk too. When there is room again,
// all that was kept in memory is written.
func TestADiskThatOthersFill(t *testing.T) {
	folder := t.TempDir()
	release, err := smalldisk.Mount(folder, "2m")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	fill := func() (ballast string) {
		if ballast, err = smalldisk.Fill(folder); err != nil {
			t.Fatal(err)
		}
		return ballast
	}
	s := tell(7, 3000)
	o := Options{Folder: filepath.Join(folder, "history"), KeepFor: 1e6 * time.Hour, Log: slog.New(slog.DiscardHandler)}
	h := open(t, o)
	h.BeginAt(0, &s.all[0])
	s.tells(h, 1, 1000)
	if err := h.Sync(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	before := listed(t, h)
	fill()
	s.tells(h, 1001, 1500)
	if err := h.Sync(t.Context(), 1500); err != nil {
		t.Fatal(err)
	}
	after := listed(t, h)
	if x := h.State(); x.Freed == 0 || x.FreedAt.IsZero() || !x.Behind.IsZero() || slices.Contains(after, before[0]) || slices.Contains(before, after[len(after)-1]) {
		t.Errorf("%+v; jobs %d to %d, then %d to %d", x, before[0], before[len(before)-1], after[0], after[len(after)-1])
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}

	fill()
	o.JobsMax = 100 // fewer than end in what follows
	h = open(t, o)
	h.BeginAt(1500, &s.all[1500])
	h.Replayed(1500)
	if err := os.Remove(fill()); err != nil {
		t.Fatal(err)
	}
	s.tells(h, 1501, 1550)
	if err := h.Sync(t.Context(), 1550); err != nil {
		t.Fatal(err)
	}
	fill()
	const next = 2801
	s.tells(h, 1551, next-1)
	proctest.Until(t, time.Minute, "nothing is left to go", func() bool {
		fill() // what history gives up others take
		return !h.State().Behind.IsZero()
	})
	last := s.all[next-1].Jobs[0].ID
	key := logarchive.Key{Job: last, Submitted: s.all[next-1].Jobs[0].Submitted}
	if err := h.Tails().Add(key, []*wire.LogTail{{Job: uint64(last), Attempt: 1, Launcher: "l1", Of: 3, Text: []byte("end")}}); err != nil {
		t.Fatal(err)
	}
	proctest.Until(t, time.Minute, "ends of logs are behind", func() bool { return !h.State().Tails.Behind.IsZero() })
	if err := os.Remove(fill()); err != nil {
		t.Fatal(err)
	}
	s.tells(h, next, 3000)
	if err := h.Sync(t.Context(), 3000); err != nil {
		t.Fatal(err)
	}
	proctest.Until(t, time.Minute, "all is as before", func() bool { x := h.State(); return x.Behind.IsZero() && x.Tails.Behind.IsZero() })
	jobs := listed(t, h)
	ended := 0
	for n := next; n <= 3000; n++ { // some 50
		for _, e := range s.steps[n-1].Ended {
			if ended++; !slices.Contains(jobs, scheduler.JobID(e.Summary.Job)) {
				t.Errorf("job %d, which ended when there was room again, is not there", e.Summary.Job)
			}
		}
	}
	if x := h.State(); x.Missed > 0 || len(jobs) < ended {
		t.Errorf("%+v; %d jobs are there, and %d ended since", x, len(jobs), ended)
	}
	end(t, h)
}

// A folder on NFS is refused, with the setting to change.
func TestNFSIsRefused(t *testing.T) {
	o := options(t.TempDir())
	o.statfs = func(_ string, disk *unix.Statfs_t) error {
		disk.Type = unix.NFS_SUPER_MAGIC
		return nil
	}
	if _, err := Open(o); err == nil || !strings.Contains(err.Error(), "is on NFS") || !strings.Contains(err.Error(), "manager.history.folder") {
		t.Errorf("got %v, want that the folder is on NFS", err)
	}
}

// MakeRoom removes as many of the oldest jobs as it is asked to, and counts them.
func TestRoomForOthers(t *testing.T) {
	s := tell(9, 1000)
	h := open(t, Options{Folder: t.TempDir(), KeepFor: 1e6 * time.Hour, Log: slog.New(slog.DiscardHandler)})
	h.BeginAt(0, &s.all[0])
	s.tells(h, 1, 1000)
	if err := h.Sync(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	before := listed(t, h)
	if n, err := h.MakeRoom(t.Context(), 3); n != 3 || err != nil || !slices.Equal(listed(t, h), before[3:]) || h.State().Freed != 3 {
		t.Errorf("%d went (%v) of %d: %d are left, and %d are told", n, err, len(before), len(listed(t, h)), h.State().Freed)
	}
	for n, err := 1, error(nil); n > 0; {
		if n, err = h.MakeRoom(t.Context(), 256); err != nil {
			t.Fatal(err)
		}
	}
	if left := listed(t, h); len(left) > 0 || h.State().Freed != uint64(len(before)) {
		t.Errorf("%d are left, and %d of %d are told to be gone", len(left), h.State().Freed, len(before))
	}
	end(t, h)
	if _, err := h.MakeRoom(t.Context(), 1); err == nil {
		t.Error("history that is closed makes room")
	}
}

// listed returns the jobs that history has, in order of their ends.
func listed(t *testing.T, h *History) (ids []scheduler.JobID) {
	t.Helper()
	for _, e := range h.index.Load().Oldest(100_000) {
		ids = append(ids, e.ID)
	}
	return ids
}
