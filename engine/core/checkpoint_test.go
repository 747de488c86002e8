package core

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Checkpoints of earlier formats, with jobs, attempts and reservations, are restored, and are
// written in the newest format.
func TestCheckpointsOfEarlierFormatsAreRestored(t *testing.T) {
	for _, format := range []string{"1", "2"} {
		t.Run(format, func(t *testing.T) { earlierFormat(t, "testdata/checkpoint-of-format-"+format+".gz") })
	}
}

func earlierFormat(t *testing.T, path string) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	old, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Restore(old)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	reserved := 0
	for _, l := range c.World().Launchers {
		reserved += len(l.Offer.Reserved)
	}
	if len(c.Jobs(true)) != 7 || len(c.Launchers()) != 5 || reserved != 1 {
		t.Errorf("%d jobs, %d launchers, %d reservations", len(c.Jobs(true)), len(c.Launchers()), reserved)
	}
	again, err := Restore(c.Checkpoint())
	if err != nil || !bytes.Equal(again.Checkpoint(), c.Checkpoint()) {
		t.Errorf("written again it is not the same: %v", err)
	}
}

// A checkpoint is read however it is cut into parts.
func TestACheckpointIsReadInParts(t *testing.T) {
	whole := benchCluster(t, 5, 4).c.Checkpoint()
	for _, size := range []int{1, 3, 100, len(whole) - 1, len(whole)} {
		c, err := RestoreParts(slices.Collect(slices.Chunk(whole, size)), nil)
		if err != nil || !bytes.Equal(c.Checkpoint(), whole) {
			t.Fatalf("in parts of %d bytes: %v", size, err)
		}
	}
	for n := range len(whole) {
		if _, err := RestoreParts(slices.Collect(slices.Chunk(whole[:n], 50)), nil); err == nil {
			t.Fatalf("cut to %d bytes and no error", n)
		}
	}
}

type failingWriter struct{ left int }

var errFull = errors.New("full")

func (w *failingWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestACheckpointThatCannotBeWrittenSaysSo(t *testing.T) {
	f := benchCluster(t, 5, 4).c.Freeze()
	var whole bytes.Buffer
	if err := f.Write(&whole); err != nil {
		t.Fatal(err)
	}
	for n := range whole.Len() {
		if err := f.Write(&failingWriter{n}); !errors.Is(err, errFull) {
			t.Fatalf("with room for %d bytes: %v", n, err)
		}
	}
}

// Whole recognises a complete checkpoint however it is cut into writes.
func TestWhole(t *testing.T) {
	b := benchCluster(t, 3, 1)
	b.submit(t, 9)
	checkpoint := b.c.Checkpoint()
	for _, size := range []int{1, 2, 3, 4, 5, 7, 64, len(checkpoint)} {
		for n := range len(checkpoint) + 1 {
			var got bytes.Buffer
			w := &Whole{To: &got}
			for part := range slices.Chunk(checkpoint[:n], size) {
				if _, err := w.Write(part); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.End(); (err == nil) != (n == len(checkpoint)) || !bytes.Equal(got.Bytes(), checkpoint[:n]) {
				t.Fatalf("%d of %d bytes in writes of %d: %v", n, len(checkpoint), size, err)
			}
		}
	}
	w := &Whole{To: &failingWriter{10}}
	if _, err := w.Write(checkpoint); !errors.Is(err, errFull) || !errors.Is(w.Failed, errFull) {
		t.Error(err, w.Failed)
	}
}

// Long failure reasons of jobs are cut: a thousand of them once made a checkpoint that could never
// be read.
func TestReasonsThatAreKeptAreShort(t *testing.T) {
	c := New(DefaultSettings())
	c.state.Step.Set.AttemptsMax = 100
	long := strings.Repeat("because of this and of that; ", 600)
	now := int64(time.Hour)
	step := func(inputs ...*wire.Input) []Action {
		now += int64(time.Second)
		return c.Step(&wire.Batch{At: now, Inputs: inputs})
	}
	step(wire.NewInput(&wire.LauncherJoin{Join: &wire.Join{
		Name: "l", Incarnation: 1, Slots: []*wire.Slots{{Kind: "default", Count: 8}}, Memory: 1 << 40,
	}}))
	step(wire.NewInput(&wire.Prepare{Client: 1}))
	step(wire.NewInput(&wire.Submit{Client: 2, Job: 1, Spec: &wire.JobSpec{
		Name: "j", Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "s", Nodes: 8}}},
	}}))
	step(wire.NewInput(&wire.KillJob{Client: 3, Job: 1, Reason: long}))
	step(wire.NewInput(&wire.KillJob{Client: 3, Job: 1, Reason: long}))
	for range 100 {
		c.state.Cluster.NoteJob(&state.Job{}, long)
	}
	if n := len(c.Checkpoint()); n > 32<<10 {
		t.Errorf("the checkpoint of one job has %d bytes", n)
	}
}
