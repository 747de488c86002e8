package manager

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/engine/manager/recovery"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// A step takes no more than its bound and one entry.
func TestStepIsBoundedByBytes(t *testing.T) {
	d := &driver{inbox: inbox.New()}
	for range 7 {
		if err := d.inbox.Enqueue(t.Context(), inbox.Entry{Inputs: []*wire.Input{wire.NewInput(&wire.Note{Name: strings.Repeat("x", batchBytesMax/3)})}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{3, 3, 1} {
		entries := d.drain([]inbox.Entry{<-d.inbox.Next()})
		if len(entries) != want {
			t.Fatalf("a step takes %d entries, want %d", len(entries), want)
		}
	}
}

// Inputs are gathered only while the policy decides a round: an end of a task that nothing else
// waits for is decided at once, and the round's answer ends the wait.
func TestInputsAreGatheredBesideARoundOnly(t *testing.T) {
	report := inbox.Entry{Inputs: []*wire.Input{wire.NewInput(&wire.Note{Name: "report"})}}
	answer := inbox.Entry{Inputs: []*wire.Input{wire.NewInput(&wire.PolicyAnswer{})}}
	for _, c := range []struct {
		asked bool
		then  []inbox.Entry // arrive after the first, one by one
		want  int           // entries of the step
	}{
		{asked: false, then: []inbox.Entry{report}, want: 1},
		{asked: true, then: []inbox.Entry{report}, want: 2},
		{asked: true, then: []inbox.Entry{report, answer, report}, want: 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := &driver{inbox: inbox.New(), asked: c.asked}
			timer := time.NewTimer(time.Hour)
			sent := make(chan bool)
			go func() {
				defer close(sent)
				for _, e := range c.then {
					synctest.Wait() // the step has taken what came before
					if err := d.inbox.Enqueue(context.Background(), e); err != nil {
						t.Error(err)
					}
				}
			}()
			begin := time.Now()
			if got := len(d.gather([]inbox.Entry{report}, timer)); got != c.want {
				t.Errorf("asked %v: a step takes %d entries, want %d", c.asked, got, c.want)
			}
			if waited := time.Since(begin); waited > gatherWait || !c.asked && waited > 0 {
				t.Errorf("asked %v: it waited %v", c.asked, waited)
			}
			<-sent
		})
	}
}

// oldData is the data folder of a manager that began an hour ago and has no job.
func oldData(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	log, err := eventlog.Open(eventlog.Options{Folder: filepath.Join(data, "log"), NoSync: true, Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		header := eventlog.Header{Core: core.Version, Identity: "old", Term: 1, Began: time.Now().Add(-time.Hour).UnixNano()}
		err = log.Begin(header, core.New(core.DefaultSettings()).WriteCheckpoint)
	}
	if err == nil {
		err = log.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// live runs one life of a driver on a data folder. Entries wait before it begins; it ends when all
// of them were taken.
func live(t *testing.T, data string, waiting ...inbox.Entry) {
	t.Helper()
	synced := &durableQueue{}
	kept := recovery.OpenGraphs(filepath.Join(data, "graphs"), slog.New(slog.DiscardHandler))
	o := eventlog.Options{
		Folder: filepath.Join(data, "log"), NoSync: true, Log: slog.New(slog.DiscardHandler),
		OnDurable: func(seq uint64, _ int, _ time.Duration) { synced.reached(seq) },
	}
	log, err := recovery.Lock(data, o)
	if err != nil {
		t.Fatal(err)
	}
	life, err := recovery.Open(t.Context(), data, log, o, core.DefaultSettings(), kept, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	d := &driver{
		core: life.Core, log: log, synced: synced, clock: life.Clock, inbox: inbox.New(), stats: metrics.New(), graphs: kept,
		ask: func(core.AskPolicy) {}, early: newEarlyStarts(), atOnce: func(core.Action) {}, keep: func(uint64, []core.Action) {}, durable: func(core.Action) {}, opened: func(*core.Core) {},
	}
	for _, e := range append(waiting, inbox.Entry{Query: func(*core.Core) func() { return stop }}) {
		if err := d.inbox.Enqueue(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(d.run(ctx, life.Opening(core.DefaultSettings())), log.Close()); err != nil {
		t.Fatal(err)
	}
}

// A launcher that joins before the manager has begun its new life has work of a job that the log
// lost. A caller who asks for the job learns that it was lost, not that there is none.
func TestALifeBeginsBeforeWhatWaits(t *testing.T) {
	var lost, of *wire.Failure
	live(t, oldData(t),
		inbox.Entry{Inputs: []*wire.Input{wire.NewInput(&wire.LauncherJoin{Join: &wire.Join{
			Name: "oak", Host: "oak", DataAddress: "oak:1", Incarnation: 1, Jobs: []uint64{1},
		}})}},
		inbox.Entry{Query: func(c *core.Core) func() { lost, of = c.Lost(1), c.Losses().Of(1); return nil }},
	)
	if lost == nil || !proto.Equal(lost, of) {
		t.Fatal("job-1, of which a launcher has work, counts as one that never was")
	}
}

// An input with a text that is not UTF-8 can't be logged. It is refused, and those beside it are
// not.
func TestWhatCantBeLoggedEndsNothing(t *testing.T) {
	data := oldData(t)
	note := func(name string) *wire.Input { return wire.NewInput(&wire.Note{Name: name}) }
	live(t, data, inbox.Entry{Inputs: []*wire.Input{note("good"), note("bad \xff"), note("good too")}}, inbox.Entry{Inputs: []*wire.Input{note("\xff")}})
	live(t, data) // its log can be read
}
