package logarchive

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func open(t *testing.T, o Options) *Store {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func tailOf(k Key, attempt uint64, text string) *wire.LogTail {
	return &wire.LogTail{Job: uint64(k.Job), Attempt: attempt, Launcher: "l1", Of: int64(len(text)) + 7, Text: []byte(text)}
}

// Wherever a file is truncated or damaged, each tail that is read is one that was added, and tails
// added afterwards are there.
func TestCutAndDamagedFiles(t *testing.T) {
	folder := t.TempDir()
	k := Key{3, 17}
	brought := map[uint64]*wire.LogTail{}
	for block := range uint64(4) { // one for each life
		s := open(t, Options{Folder: folder})
		var list []*wire.LogTail
		for i := range uint64(20) {
			x := tailOf(k, block*20+i, strings.Repeat(fmt.Sprint("line ", i, "\n"), int(i)))
			list, brought[x.Attempt] = append(list, x), x
		}
		must(t, s.Add(k, list))
		must(t, s.Close())
	}
	name := filepath.Base((&Store{o: Options{Folder: folder}}).path(k))
	whole, err := os.ReadFile(filepath.Join(folder, name))
	must(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	for try := range 60 {
		b := bytes.Clone(whole)
		if try%2 == 0 {
			b = b[:r.IntN(len(b))]
		} else {
			b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
		}
		damaged := t.TempDir()
		must(t, os.WriteFile(filepath.Join(damaged, name), b, 0o600))
		s := open(t, Options{Folder: damaged})
		late := tailOf(k, 1000, "it came late")
		must(t, s.Add(k, []*wire.LogTail{late}))
		must(t, s.Close())
		s = open(t, Options{Folder: damaged})
		for attempt, want := range brought {
			got, _ := s.ReadTail(k, scheduler.AttemptID(attempt), "l1") // the error names the file
			if got != nil && !proto.Equal(got, want) {
				t.Fatalf("try %d: of attempt %d it has %v", try, attempt, got)
			}
		}
		if got, err := s.ReadTail(k, 1000, "l1"); err != nil || !proto.Equal(got, late) {
			t.Fatalf("try %d: what came late is %v, %v", try, got, err)
		}
		must(t, s.Close())
	}
}

// A wrong byte costs its block and no other, and logs added afterwards cost none. For a log that is
// not found, the error says that the file is damaged.
func TestDamageCostsOneBlock(t *testing.T) {
	folder := t.TempDir()
	k := Key{3, 17}
	const blocks = 4
	var ends []int64                    // of blocks
	for block := range uint64(blocks) { // one for each life
		s := open(t, Options{Folder: folder})
		must(t, s.Add(k, []*wire.LogTail{tailOf(k, block, strings.Repeat(fmt.Sprintln("line", block), 99))}))
		must(t, s.Close())
		ends = append(ends, s.Bytes())
	}
	path := (&Store{o: Options{Folder: folder}}).path(k)
	whole, err := os.ReadFile(path)
	must(t, err)
	for at := int64(0); at < ends[blocks-2]; at += 13 { // the last block may have been incomplete
		b := bytes.Clone(whole)
		b[at] ^= 0x55
		must(t, os.WriteFile(path, b, 0o600))
		s := open(t, Options{Folder: folder})
		must(t, s.Add(k, []*wire.LogTail{tailOf(k, blocks, "it came late")}))
		must(t, s.Close())
		lost, _ := slices.BinarySearch(ends, at+1)
		for block := range blocks + 1 {
			got, err := s.ReadTail(k, scheduler.AttemptID(block), "l1")
			var damage *jobfile.DamageError
			if there := block != lost; there != (got != nil) || there != (err == nil) || !there && !errors.As(err, &damage) {
				t.Fatalf("byte %d, in block %d: of block %d there is %d bytes, %v", at, lost, block, len(got.GetText()), err)
			}
		}
	}
}

// A tail is that of one attempt, of one job, on one launcher, and goes with its job.
func TestWhoseItIs(t *testing.T) {
	s := open(t, Options{Folder: t.TempDir()})
	a, b := Key{1, 5}, Key{1, 6} // the log that gave the number first was lost
	must(t, s.Add(a, []*wire.LogTail{tailOf(a, 9, "a")}))
	must(t, s.Add(b, []*wire.LogTail{tailOf(b, 9, "b")}))
	read := func(k Key, on string) string {
		x, err := s.ReadTail(k, 9, on)
		must(t, err)
		return string(x.GetText())
	}
	for range 2 { // from memory, or from the disk; then from the disk
		if read(a, "l1") != "a" || read(b, "l1") != "b" || read(a, "l2") != "" {
			t.Errorf("%q %q %q", read(a, "l1"), read(b, "l1"), read(a, "l2"))
		}
		proctest.Until(t, time.Minute, "it is on the disk", func() bool { return s.State().Waiting == 0 && len(s.Jobs()) == 2 })
	}
	must(t, s.RemoveJob(1))
	if read(a, "l1") != "" || s.Bytes() != 0 || len(s.Jobs()) != 0 {
		t.Errorf("%d bytes of %v are left", s.Bytes(), s.Jobs())
	}
	must(t, s.Close())
}

// A job's removal also removes tails that wait to be written, or are being written: no file of it
// appears afterwards.
func TestAJobGoesWhileItIsWritten(t *testing.T) {
	s, err := openIdle(Options{Folder: t.TempDir()})
	must(t, err)
	a, b, c := Key{1, 5}, Key{2, 5}, Key{3, 5}
	for _, k := range []Key{a, b, c} {
		must(t, s.Add(k, []*wire.LogTail{tailOf(k, 9, "x")}))
	}
	block := s.next()
	must(t, s.RemoveJob(a.Job))
	_, err = s.write(block)
	s.noteWritten(block, err)
	must(t, s.RemoveJob(b.Job))
	must(t, err)
	s.done.Go(s.run)
	must(t, s.Close())
	if jobs := s.Jobs(); len(jobs) != 1 || jobs[0] != c || s.State().Waiting != 0 {
		t.Errorf("there is %v, and %+v", jobs, s.State())
	}
	if files, err := os.ReadDir(s.o.Folder); err != nil || len(files) != 1 {
		t.Errorf("%v %v", files, err)
	}
}

// Beyond a job's bound only tails of its failures are kept, and the others have a reason for their
// absence. Beyond twice the bound none is kept.
func TestBoundOfAJob(t *testing.T) {
	s := open(t, Options{Folder: t.TempDir(), JobBytes: 100 << 10})
	k := Key{1, 1}
	r := rand.NewChaCha8([32]byte{})
	add := func(attempt uint64, failed bool) *wire.LogTail {
		text := make([]byte, 90<<10)
		_, _ = r.Read(text)
		x := tailOf(k, attempt, string(text))
		x.Failed = failed
		must(t, s.Add(k, []*wire.LogTail{x}))
		proctest.Until(t, time.Minute, "it is on the disk", func() bool { return s.State().Waiting == 0 })
		got, err := s.ReadTail(k, scheduler.AttemptID(attempt), "l1")
		must(t, err)
		return got
	}
	for attempt, want := range []bool{true, true, false, true, false} { // the first two go beyond the bound, the fourth beyond twice
		got := add(uint64(attempt), attempt >= 3)
		if kept := len(got.GetText()) > 0; kept != want || kept == (got.Lacks != "") {
			t.Errorf("attempt %d is kept: %v, want %v; %q", attempt, kept, want, got.Lacks)
		}
	}
	if d := s.State().Dropped; d != 2 {
		t.Errorf("%d were dropped", d)
	}
	must(t, s.Close())
}

// Beyond a user's bound only tails of the user's failures are kept, and beyond twice as much none
// is; another user has a bound of their own. Tails from earlier lives count, and those removed with
// their job do not.
func TestBoundOfAUser(t *testing.T) {
	o := Options{Folder: t.TempDir(), UserBytes: 100 << 10, User: func(job scheduler.JobID) string {
		if job < 10 {
			return "ann"
		}
		return "bob"
	}}
	r := rand.NewChaCha8([32]byte{})
	add := func(s *Store, k Key, user string, failed bool) (kept bool) {
		text := make([]byte, 90<<10)
		_, _ = r.Read(text)
		x := tailOf(k, 1, string(text))
		x.Failed = failed
		s.SetUser(k, user)
		must(t, s.Add(k, []*wire.LogTail{x}))
		proctest.Until(t, time.Minute, "it is on the disk", func() bool { return s.State().Waiting == 0 })
		got, err := s.ReadTail(k, 1, "l1")
		must(t, err)
		if kept = len(got.GetText()) > 0; !kept && !strings.Contains(got.Lacks, "limits.userTails") {
			t.Errorf("it is not said why: %q", got.Lacks)
		}
		return kept
	}
	s := open(t, o)
	first := Key{1, 1}
	for i, want := range []bool{true, true, false} {
		if add(s, Key{scheduler.JobID(i + 1), 1}, "ann", false) != want {
			t.Errorf("job %d of ann is kept: %t", i+1, !want)
		}
	}
	must(t, s.Close())
	s = open(t, o)
	if add(s, Key{4, 1}, "ann", false) || !add(s, Key{5, 1}, "ann", true) || add(s, Key{6, 1}, "ann", true) {
		t.Error("after a restart another bound holds")
	}
	if !add(s, Key{11, 1}, "bob", false) || !add(s, Key{99, 1}, "", false) {
		t.Error("ann's logs keep others' out")
	}
	for job := range scheduler.JobID(6) {
		must(t, s.RemoveJob(job+1))
	}
	if n := s.BytesOfUser("ann"); n != 0 {
		t.Errorf("ann has %d bytes, of no job", n)
	}
	if !add(s, first, "ann", false) {
		t.Error("nothing is kept though all went")
	}
	must(t, s.Close())
}

// A caller that adds more than can be written gets an error, and a failing disk loses nothing that
// fits into memory.
func TestADiskThatTakesNothing(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "tails")
	s := open(t, Options{Folder: folder})
	must(t, os.Remove(folder))
	k := Key{1, 1}
	var err error
	text := strings.Repeat("x", 1<<20)
	brought := 0
	for ; err == nil && brought < 1000; brought++ {
		err = s.Add(k, []*wire.LogTail{tailOf(k, uint64(brought), text)})
	}
	if !errors.Is(err, ErrBusy) {
		t.Errorf("after %d MiB: %v", brought, err)
	}
	proctest.Until(t, time.Minute, "it says what is wrong", func() bool { return errors.Is(s.State().Err, fs.ErrNotExist) && !s.State().Behind.IsZero() })
	if x, err := s.ReadTail(k, 1, "l1"); err != nil || string(x.GetText()) != text {
		t.Errorf("what waits is not read: %v", err)
	}
	must(t, os.Mkdir(folder, 0o700))
	proctest.Until(t, time.Minute, "it goes on by itself", func() bool { x := s.State(); return x.Err == nil && x.Behind.IsZero() })
	must(t, s.Close())
	s = open(t, Options{Folder: folder})
	if x, err := s.ReadTail(k, scheduler.AttemptID(brought-2), "l1"); err != nil || string(x.GetText()) != text {
		t.Errorf("the last that was taken is not there: %v", err)
	}
	must(t, s.Close())
}

// A store that can't write can still be closed, and reports what it could not write.
func TestTheEndOnADiskThatTakesNothing(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "tails")
	s := open(t, Options{Folder: folder})
	must(t, os.Remove(folder))
	for job := range scheduler.JobID(3) {
		k := Key{job + 1, 1}
		must(t, s.Add(k, []*wire.LogTail{tailOf(k, 1, "x")}))
	}
	proctest.Until(t, time.Minute, "it has tried", func() bool { return s.State().Err != nil })
	ended := make(chan error, 1)
	go func() { ended <- s.Close() }()
	select {
	case err := <-ended:
		if !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on and on")
	}
}
