package outbound_test

import (
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/core/internal/coretest"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The change feed of a step has what changed in it, once, and is immutable. Without a subscriber it
// is empty.
func TestFactsTellWhatChanged(t *testing.T) {
	h := coretest.New(t)
	if _, tells := h.Status.Changes(); tells {
		t.Fatal("facts are told that nobody asked for")
	}
	h.Status.EnableChanges()
	h.StartPolicy(0)
	l := h.Launcher("a", 4)
	j := h.Job(coretest.Maps(3))
	first, _ := h.Status.Changes()
	if len(first.Jobs) != 1 || len(first.Stages) != len(first.Jobs[0].StageNames) || first.Stages[0].Ready != 3 || len(first.Launchers) != 1 || first.Decides == 0 {
		t.Fatalf("at first: %+v", first)
	}
	r := h.RunBundle(j, 0, l)
	h.Fail(r.Attempts[0], "wrong")
	second, _ := h.Status.Changes()
	ended := slices.IndexFunc(second.Attempts, func(a changes.Attempt) bool { return a.State == changes.Ended })
	if ended < 0 || second.Attempts[ended].Outcome != scheduler.Failed || second.Attempts[ended].Reason != "wrong" || second.Attempts[ended].On != "a" {
		t.Errorf("of the end: %+v", second.Attempts)
	}
	notes := second.Jobs[0].Notes
	if len(notes) == 0 || len(first.Jobs[0].Notes) != 0 {
		t.Fatalf("notes before and after: %q, %q", first.Jobs[0].Notes, notes)
	}
	was := notes[0]
	for range h.Step.Set.NotesKept + 1 {
		h.Cluster.NoteJob(j, "more")
	}
	if notes[0] != was {
		t.Errorf("a note that was told is now %q", notes[0])
	}
	if third, _ := h.Status.Changes(); len(third.Jobs) != 1 || third.Jobs[0].NotesDropped == 0 || len(third.Attempts) > 0 {
		t.Errorf("then: %+v", third)
	}
}

// A reopened bundle is in the change feed at once, even if it waits for another that already runs
// again.
func TestWantedAgainIsTold(t *testing.T) {
	h := coretest.New(t)
	h.Status.EnableChanges()
	h.StartPolicy(0)
	first, second, readers := h.Launcher("first", 1), h.Launcher("second", 1), h.Launcher("readers", 3)
	file := func(from, to uint32) *wire.Connection {
		return &wire.Connection{FromStage: from, ToStage: to, FromPort: "out", ToPort: "in", Kind: wire.ChannelKind_CHANNEL_KIND_FILE, Pattern: wire.Pattern_PATTERN_ONE_TO_ONE}
	}
	spec := coretest.Chain(4) // the last stage reads from the first
	spec.Graph.Connections = []*wire.Connection{file(0, 1), file(1, 2), file(0, 3)}
	j := h.Job(spec)
	h.Finish(h.RunBundle(j, 0, first).Attempts[0], coretest.Stored(0, 0), coretest.Stored(2, 0))
	h.Finish(h.RunBundle(j, 1, second).Attempts[0], coretest.Stored(1, 0))
	h.RunBundle(j, 2, readers)
	h.RunBundle(j, 3, readers)
	h.Membership.LauncherLost(&wire.LauncherLost{Launcher: uint64(first.ID), Incarnation: 1, Reason: "silent"})
	h.RunBundle(j, 0, readers)
	h.Status.Changes()
	h.Cluster.Changes.DrainJobs()
	h.Membership.LauncherLost(&wire.LauncherLost{Launcher: uint64(second.ID), Incarnation: 1, Reason: "silent"})
	if got, want := coretest.PhasesOf(j), "running waiting running running"; got != want {
		t.Fatalf("they are %s, want %s", got, want)
	}
	f, _ := h.Status.Changes()
	if len(f.Jobs) != 1 || f.Jobs[0].Finished != 0 || len(f.Stages) != 1 || f.Stages[0].Number != 1 || f.Stages[0].Finished != 0 {
		t.Errorf("told is: %+v, %+v", f.Jobs, f.Stages)
	}
}
