package worker

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/internal/failure"
	"github.com/hamadryad/hamadryad/engine/worker/layout"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// told records reports for a test.
type told struct {
	*reports
	sent []*wire.Report
}

func newTold() *told {
	t := &told{}
	t.reports = &reports{send: func(messages ...proto.Message) error {
		for _, m := range messages {
			t.sent = append(t.sent, m.(*wire.FromWorker).GetReport())
		}
		return nil
	}}
	return t
}

// take returns the reports since the previous call.
func (t *told) take() []*wire.Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	sent := t.sent
	t.sent = nil
	return sent
}

// The group's grant is requested once, however many nodes ask for it, and the manager's first
// answer counts.
func TestCommit(t *testing.T) {
	reports := newTold()
	c := newCommit(7, reports.reports)
	ctx, cancel := context.WithCancel(t.Context())
	attempt, end := context.WithCancelCause(t.Context())
	cancel()
	if err := c.ask(ctx, attempt); !errors.Is(err, context.Canceled) {
		t.Errorf("who asks and leaves is told %v", err)
	}
	over := errors.New("the attempt failed")
	end(over)
	if err := c.ask(t.Context(), attempt); !errors.Is(err, over) {
		t.Errorf("when the attempt is over it is told %v", err)
	}
	if sent := reports.take(); len(sent) != 1 || sent[0].GetCommit() != 7 {
		t.Errorf("the manager is asked %v", sent)
	}
	c.setVerdict(&wire.CommitVerdict{Reason: "another one was first"})
	c.setVerdict(&wire.CommitVerdict{Granted: true})
	if err := c.ask(t.Context(), t.Context()); !errors.Is(err, failure.ErrNoGrant) || !strings.Contains(err.Error(), "another one was first") {
		t.Errorf("it is granted: %v", err)
	}
}

// The first stop request sets the deadline.
func TestSoftStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := newGracefulStop()
		s := &stop
		if s.requested() || !s.endsBy().IsZero() {
			t.Error("nobody asked")
		}
		first := time.Now()
		s.request(time.Minute)
		time.Sleep(time.Second)
		s.request(time.Hour)
		if <-s.asked; !s.requested() || s.endsBy().Sub(first) != time.Minute {
			t.Errorf("it is to end after %v", s.endsBy().Sub(first))
		}
	})
}

// A host is local by any of its names, and a split is as near as its nearest place.
func TestPlace(t *testing.T) {
	p := placeOf(&wire.RunGroup{Host: "a", Names: []string{"10.0.0.1"}, Rack: "/r1", LocalStores: []*wire.LocalStore{{Address: "a:1", Folder: "/store"}}})
	for _, c := range []struct {
		host, rack string
		want       scheduler.Locality
	}{
		{"a", "/r2", scheduler.NodeLocal},
		{"10.0.0.1", "", scheduler.NodeLocal},
		{"b", "/r1", scheduler.RackLocal},
		{"b", "/r2", scheduler.Remote},
		{"", "", scheduler.Remote},
	} {
		if got := p.locality(c.host, c.rack); got != c.want {
			t.Errorf("%s in %s is %v", c.host, c.rack, got)
		}
	}
	if got := p.nearest([]job.Place{{Host: "c", Rack: "/r2"}, {Host: "b", Rack: "/r1"}}); got != scheduler.RackLocal {
		t.Errorf("the nearest place is %v", got)
	}
	if got := p.nearest(nil); got != scheduler.Remote || p.stores["a:1"] != "/store" {
		t.Errorf("a split without places is %v", got)
	}
}

// Folders are made when they are first needed.
func TestFolders(t *testing.T) {
	root := t.TempDir()
	f := &folders{scratch: filepath.Join(root, "scratch"), store: filepath.Join(root, "job-1", "a1")}
	if entries, err := os.ReadDir(root); err != nil || len(entries) > 0 {
		t.Errorf("before they are needed there is %v (%v)", entries, err)
	}
	for range 2 {
		if err := errors.Join(f.makeScratch(), f.makeStore()); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 2 {
		t.Errorf("there is %v (%v)", entries, err)
	}
}

// The folder of temporary files is an earlier one that is empty, and one of its own where that has a
// file meanwhile, or is gone.
func TestASpareFolder(t *testing.T) {
	for what, change := range map[string]func(spare string) error{
		"empty": func(string) error { return nil },
		"gone":  os.Remove,
		"used":  func(spare string) error { return os.WriteFile(filepath.Join(spare, "late"), nil, 0o600) },
	} {
		root := t.TempDir()
		f := &folders{scratch: filepath.Join(root, "a2"), spare: filepath.Join(root, "a1")}
		if err := errors.Join(os.Mkdir(f.spare, 0o700), change(f.spare)); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Stat(f.spare)
		if err := f.makeScratch(); err != nil {
			t.Error(err)
		}
		if entries, err := os.ReadDir(f.scratch); err != nil || len(entries) > 0 {
			t.Errorf("%s: it has %v (%v)", what, entries, err)
		}
		if entries, err := os.ReadDir(root); err != nil || len(entries) != 1 {
			t.Errorf("%s: there is %v (%v)", what, entries, err)
		}
		after, err := os.Stat(f.scratch)
		if what == "empty" && (err != nil || !os.SameFile(before, after)) {
			t.Errorf("it is not the earlier folder: %v", err)
		}
	}
}

// A finisher takes the files that it asked for, in their order, and nothing else.
func TestFinisherAsksForTheListOfFiles(t *testing.T) {
	reports := newTold()
	start := &wire.StartAttempt{Attempt: 7, Job: 3, JobName: "count", Finish: &wire.Finish{
		Outputs: []string{"out"}, FilesTotal: 3, Files: []*wire.CommittedFile{{Name: "p0", Temporary: "t0"}},
	}}
	f := newFinisher(start, reports.reports, &gracefulStop{asked: make(chan struct{})}, newCommit(7, reports.reports))
	f.built(&layout.Layout{}, newKeptFolders("c", start))
	update := func(from uint64, names ...string) {
		m := &wire.FilesUpdate{From: from}
		for _, n := range names {
			m.Files = append(m.Files, &wire.CommittedFile{Name: n, Temporary: "t" + n})
		}
		f.takeFiles(m)
	}
	update(1, "too early")
	asked := make(chan uint64)
	f.reports.send = func(messages ...proto.Message) error {
		asked <- messages[0].(*wire.FromWorker).GetReport().GetFilesWanted().GetFrom()
		return nil
	}
	go func() {
		for from := range asked {
			update(from+1, "wrong")
			update(from, "p"+string(rune('0'+from)))
			update(from, "again")
		}
	}()
	outputs, err := f.outputsOf(t.Context(), start.Finish)
	close(asked)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range outputs[0].Parts {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, []string{"p0", "p1", "p2"}) || outputs[0].Temporary != "out.job-3.c.tmp" || outputs[0].Parts[0].Node != "a node" {
		t.Errorf("it publishes %v of %s", names, outputs[0].Temporary)
	}
	f.stop.request(time.Minute)
	f.reports.send = func(...proto.Message) error { return nil }
	if _, err := f.askFiles(t.Context(), 1); err == nil {
		t.Error("it waits though it was stopped")
	}
	if (*finisher)(nil).takeFiles(&wire.FilesUpdate{}); len(f.more) > 0 {
		t.Error("something is left of an answer")
	}
}

// An update is confirmed when a port needs more sources, and not while it has enough.
func TestInputsConfirmWhenTheyNeedMore(t *testing.T) {
	reports := newTold()
	in := newInputs(&wire.StartAttempt{Attempt: 7}, &place{}, reports.reports, nil)
	in.built(&layout.Layout{}, &keptFolders{})
	port := &inPort{name: "in", merge: channel.NewMerge(1)}
	confirmed := func(want uint64) {
		t.Helper()
		got := uint64(0)
		for _, r := range reports.take() {
			got = r.GetSourcesTaken().GetConfirm()
		}
		if got != want {
			t.Errorf("update %d was confirmed, want %d", got, want)
		}
	}
	in.update(nil, 1)
	confirmed(0) // no port yet
	in.opened(port)
	port.ahead = sourcesAhead + 1
	in.update(nil, 2)
	confirmed(0) // it has enough
	in.taken(port)
	confirmed(0)
	in.taken(port)
	confirmed(2)
	in.taken(port)
	confirmed(0) // once
	in.allExpected(port)
	in.update(nil, 3)
	confirmed(0) // no more sources are to come
}

// A program's progress is between 0 and 1 and only grows. In a stage that shuffles it counts from
// the execution on, and the share of stored input read does not count.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		name      string
		shuffles  bool
		executing bool
		read      int64 // of 100 bytes of stored input
		said      []float64
		want      float64
	}{
		{"nothing was read", false, false, 0, nil, 0},
		{"a part was read", false, false, 40, nil, 0.4},
		{"more than all was read, of a channel too", false, false, 400, nil, 1},
		{"what is said goes before what was read", false, false, 40, []float64{0.1}, 0.1},
		{"nothing is said too", false, false, 40, []float64{0}, 0},
		{"below nothing and above all", false, false, 0, []float64{-3}, 0},
		{"above all", false, false, 0, []float64{math.Inf(1)}, 1},
		{"no number", false, false, 40, []float64{math.NaN()}, 0.4},
		{"no number after one", false, false, 40, []float64{0.6, math.NaN()}, 0.6},
		{"backwards", false, false, 40, []float64{0.6, 0.2, -1}, 0.6},
		{"a reader of others that still gathers", true, false, 40, []float64{0.6}, 0},
		{"one that executes", true, true, 40, []float64{0.2, 0.6}, 0.6},
		{"one that executes and says nothing", true, true, 40, nil, 0},
	} {
		n := &node{spec: &job.StageSpec{Shuffles: c.shuffles}}
		n.progress.Store(math.Float64bits(math.NaN()))
		n.toRead.Store(100)
		n.read[0].Store(c.read)
		for _, p := range c.said {
			job.NewNode(n).Progress(p)
		}
		if c.executing {
			n.Executing()
		}
		if got := n.done(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// An overflowing counter fails the group, and the failure names the counter: within a node when its
// program returns, and for the sum over the group's nodes.
func TestACounterThatGoesRoundFails(t *testing.T) {
	one := &node{}
	one.Count("rows", math.MaxInt64)
	one.Count("rows", 1)
	if err := one.finish(); !errors.Is(err, job.ErrPermanent) || !strings.Contains(err.Error(), `the counter "rows"`) {
		t.Errorf("a node that counted too far ends with %v", err)
	}
	a, other := &ioStats{nodes: []*node{{}, {}}}, &ioStats{nodes: []*node{{}, {}}}
	for i := range 2 {
		a.nodes[i].Count("rows", math.MaxInt64)
		other.nodes[i].Count("rows", 2)
	}
	if err := a.sumCounters(); err == nil || !strings.Contains(err.Error(), `the counter "rows"`) {
		t.Errorf("nodes that counted too far together end with %v", err)
	}
	if err := other.sumCounters(); err != nil || len(other.sums) != 1 || other.sums[0].Value != 4 {
		t.Errorf("%v, %v", other.sums, err)
	}
}

// A file name that is not UTF-8 is refused permanently, with an error that names it.
func TestAFileNameThatIsNotUTF8IsRefused(t *testing.T) {
	if err := checkName("r\xe9sum\xe9"); !errors.Is(err, job.ErrPermanent) || !strings.Contains(err.Error(), `"r\xe9sum\xe9" is not UTF-8`) {
		t.Error(err)
	}
}
