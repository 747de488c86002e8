package outbound_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/coretest"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A launcher that is not up gets no commands, and no confirmation of it is awaited.
func TestOneThatIsLostIsToldNothing(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 1)
	j := h.Job(coretest.Maps(1))
	r := h.RunBundle(j, 0, l)
	h.Membership.LauncherLost(&wire.LauncherLost{Launcher: uint64(l.ID), Incarnation: 1, Reason: "test"})
	h.Later(time.Second)
	h.Dispatch.SendSuspend(&state.Attempt{ID: r.Attempts[0].ID, Launcher: l})
	if c := h.Commands(l); len(c) > 0 {
		t.Errorf("it is told %v", c)
	}
}

// The start of a reader lists the existing sources. Later ones are sent after it, once, at the end
// of the step. The last of them is marked as last.
func TestAReaderIsGivenEachSourceOnce(t *testing.T) {
	h := coretest.New(t)
	h.Cluster.Tokens.From(func(run uint64) []byte { return fmt.Append(nil, "of run ", run) })
	h.StartPolicy(0)
	a, b := h.Launcher("a", 4), h.Launcher("b", 4)
	spec := coretest.MapReduce(3, 1)
	spec.Graph.Connections[0].SlowStart = 0.3 // one of three
	j := h.Job(spec)
	store := func(i int) {
		h.Finish(h.RunBundle(j, i, a).Attempts[0], &wire.StoredOutput{From: uint32(i), Bytes: 5, PartitionBytes: []int64{5}})
	}
	store(0)
	store(1)
	h.Later(time.Second)
	given := map[uint32]int{}
	reader := h.RunBundle(j, 3, b).Attempts[0]
	complete := false
	take := func() {
		h.Dispatch.FlushSources()
		for _, c := range h.Commands(b) {
			for _, s := range append(c.GetStart().GetSources(), c.GetSources().GetSources()...) {
				given[s.From]++
				// A bundle attempt's number is that of its first attempt.
				if s.Address != "a:1" || string(s.Token) != fmt.Sprint("of run ", s.Attempt) {
					t.Errorf("source %d is at %q with the token %q", s.From, s.Address, s.Token)
				}
			}
			complete = complete || c.GetStart().GetSourcesComplete() || c.GetSources().GetComplete()
		}
		h.Later(time.Second)
	}
	take()
	if len(given) != 2 || complete {
		t.Fatalf("at its start it is given %v, all: %t", given, complete)
	}
	store(2)
	take()
	take()
	if len(given) != 3 || given[0]+given[1]+given[2] != 3 || !complete || reader.Reads.Misses() != 0 {
		t.Errorf("it is given %v, all: %t, and misses %d", given, complete, reader.Reads.Misses())
	}
	h.Checked()
}

// The members of a gang that are joined by tcp get the addresses of the others when all listen, and
// not before.
func TestAGangIsToldWhereItsMembersListen(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 4)
	j := h.Job(&wire.JobSpec{Name: "j", Graph: &wire.Graph{
		Stages: []*wire.Stage{{Name: "from", Nodes: 1}, {Name: "to", Nodes: 1}},
		Connections: []*wire.Connection{{
			FromStage: 0, ToStage: 1, FromPort: "out", ToPort: "in", Kind: wire.ChannelKind_CHANNEL_KIND_TCP, Pattern: wire.Pattern_PATTERN_ALL_TO_ALL,
		}},
	}})
	if _, refused, why := h.Attempts.Launch(scheduler.Launch{Bundle: j.Bundles[0].ID(), Launchers: []scheduler.LauncherID{l.ID, l.ID}}); refused != scheduler.NotRefused {
		t.Fatal(why)
	}
	r := j.Bundles[0].Attempts()[0]
	peers := func() (n int) {
		for _, c := range h.Commands(l) {
			n += len(c.GetPeers().GetPeers())
		}
		return n
	}
	h.Attempts.Started(r.Attempts[0], "x:1")
	if peers() != 0 {
		t.Error("one is told while the other does not listen yet")
	}
	h.Attempts.Started(r.Attempts[1], "x:2")
	if peers() != 4 { // each gets both addresses
		t.Errorf("%d peers are told of", peers())
	}
}

// A gang that is being stopped gets no addresses: one of its members may have ended before it
// reported where it listens.
func TestAGangThatIsStoppedIsToldNothing(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 4)
	j := h.Job(coretest.Gang(2))
	if _, refused, why := h.Attempts.Launch(scheduler.Launch{Bundle: j.Bundles[0].ID(), Launchers: []scheduler.LauncherID{l.ID, l.ID}}); refused != scheduler.NotRefused {
		t.Fatal(why)
	}
	r := j.Bundles[0].Attempts()[0]
	h.Later(time.Second)
	h.Dispatch.StopBundleAttempt(r, scheduler.Lost, "test", 0)
	h.Attempts.EndedReport(l, &wire.AttemptEnded{Attempt: uint64(r.Attempts[0].ID), End: wire.End_END_STOPPED})
	h.Attempts.Started(r.Attempts[1], "x:2")
	for _, c := range h.Commands(l) {
		if c.GetPeers() != nil {
			t.Errorf("it is told of %v", c.GetPeers())
		}
	}
}

// A stop is sent again only if a harder one follows. When its job ends, it carries the reason.
func TestStopsAreSentOnce(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 1)
	j := h.Job(coretest.Maps(1))
	r := h.RunBundle(j, 0, l)
	h.Later(time.Second)
	h.Dispatch.PreemptBundleAttempt(r, time.Minute, 7)
	h.Dispatch.PreemptBundleAttempt(r, time.Second, 8)
	h.Dispatch.StopBundleAttempt(r, scheduler.Killed, "now", 0)
	h.Dispatch.StopForEnd(r)
	var graces []time.Duration
	for _, c := range h.Commands(l) {
		graces = append(graces, time.Duration(c.GetStop().GetGraceNs()))
	}
	if len(graces) != 2 || graces[0] != time.Minute || graces[1] != 0 {
		t.Errorf("stops with grace %v are sent", graces)
	}
}

// A publisher that requests further files is answered from any number on, as often as it asks, with
// at most one command's worth.
func TestFilesAreToldInParts(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 1)
	spec := coretest.Maps(3)
	spec.Outputs = []string{"/out"}
	j := h.Job(spec)
	for i := range 3 {
		id := uint64(h.RunBundle(j, i, l).Attempts[0].ID)
		file := func(name string) *wire.CommittedFile {
			return &wire.CommittedFile{Temporary: fmt.Sprintf("a%d.%s", id, name), Name: name, Index: uint32(i)}
		}
		h.Attempts.EndedReport(l, &wire.AttemptEnded{
			Attempt: id, End: wire.End_END_FINISHED, Files: []*wire.CommittedFile{file(string(rune('a' + 2*i))), file(string(rune('b' + 2*i)))},
		})
	}
	last := h.RunBundle(j, 3, l).Attempts[0]
	h.Step.Set.CommandBytes = 70 // two files
	for _, from := range []uint64{0, 2, 4, 3, 0, 6} {
		h.Later(time.Second)
		h.Dispatch.SendFiles(last, from)
		m := h.Commands(l)[0].GetFiles()
		got := ""
		for _, f := range m.Files {
			got += f.Name
		}
		want := "abcdef"[from:min(from+uint64(len(m.Files)), 6)]
		if m.From != from || got != want || len(got) == 0 && from < 6 || len(got) > 3 {
			t.Errorf("from %d on it is told %q, want %q", from, got, want)
		}
	}
}
