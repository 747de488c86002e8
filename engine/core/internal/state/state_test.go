package state_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint/codectest"
	"github.com/hamadryad/hamadryad/engine/core/internal/coretest"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func ready(j *state.Job) (list []int) {
	for b := range j.Ready.All() {
		list = append(list, b.Index)
	}
	return list
}

// Bundles are in the ready list from when they become ready until they run or wait again, in that
// order. A walk may remove the current one.
func TestTheReadyAreInOrder(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	j := h.Job(coretest.Maps(4))
	j.Bundles[1].Enter(state.BundleWaiting)
	j.Bundles[3].Enter(state.BundleRunning)
	j.Bundles[1].Enter(state.BundleReady)
	if got := ready(j); !slices.Equal(got, []int{0, 2, 1}) || j.Ready.Len() != 3 || j.Ready.Longest() != &j.Bundles[0] {
		t.Errorf("%v are ready, counted as %d, the longest %v", got, j.Ready.Len(), j.Ready.Longest().Index)
	}
	for b := range j.Ready.All() {
		b.Enter(state.BundleWaiting)
	}
	if j.Ready.Len() != 0 || j.Ready.Longest() != nil {
		t.Errorf("%v are left", ready(j))
	}
}

// However bundles move, the list has the ready ones, the longest ready first, and the stage counts
// all by phase.
func TestTheReadyAgainstTheObvious(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := coretest.New(t)
		h.StartPolicy(0)
		const n = 6
		j := h.Job(coretest.Maps(n))
		want := ready(j)
		for range rapid.IntRange(0, 40).Draw(r, "moves") {
			i := rapid.IntRange(0, n-1).Draw(r, "bundle")
			to := rapid.SampledFrom([]int{0, 1, 2}).Draw(r, "to")
			want = slices.DeleteFunc(want, func(x int) bool { return x == i })
			if to == 1 {
				want = append(want, i)
			}
			b := &j.Bundles[i]
			b.Enter(state.BundleWaiting)
			switch to {
			case 1:
				b.Enter(state.BundleReady)
			case 2:
				b.Enter(state.BundleRunning)
			}
			if got := ready(j); !slices.Equal(got, want) || j.Ready.Len() != len(want) {
				r.Fatalf("%v are ready, counted as %d, want %v", got, j.Ready.Len(), want)
			}
		}
		running := 0
		for i := range j.Bundles {
			if j.Bundles[i].Phase() == state.BundleRunning {
				running++
			}
		}
		if s := j.Stages[0].Status(); int(s.Ready) != len(want) || int(s.Running) != running {
			r.Fatalf("the stage counts %v, want %d ready and %d running", s, len(want), running)
		}
	})
}

// A live attempt is in the sets of its job and its launcher, an ended one in neither, in whatever
// order they end.
func TestSetsOfAttempts(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 4)
	j := h.Job(coretest.Maps(4))
	var all []*state.Attempt
	for i := range 4 {
		all = append(all, h.RunBundle(j, i, l).Attempts[0])
	}
	for _, i := range []int{1, 3, 0, 2} {
		if !slices.Contains(j.Attempts(), all[i]) || !slices.Contains(l.Attempts(), all[i]) {
			t.Fatalf("attempt %d lives and is not in both sets", i)
		}
		h.Cluster.RemoveAttempt(all[i])
		if slices.Contains(j.Attempts(), all[i]) || slices.Contains(l.Attempts(), all[i]) || h.Cluster.Attempts.Get(all[i].ID) != nil || all[i].BundleAttempt.Live() != 0 {
			t.Fatalf("attempt %d ended and is in a set", i)
		}
	}
}

// A bundle attempt keeps the first reason of each sort. A lack of room gives way to any other
// reason, and a kill overrides why it is stopped.
func TestWhyABundleAttemptEnds(t *testing.T) {
	var r state.BundleAttempt
	resource, program := &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_RESOURCE, Message: "full"}, &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_PROGRAM, Message: "wrong"}
	r.Lose("gone")
	r.Lose("gone again")
	if r.Reason() != "gone" {
		t.Errorf("it was lost because %q", r.Reason())
	}
	r.Fail(resource)
	r.Fail(program)
	r.Fail(&wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_PROGRAM, Message: "later"})
	if r.Failure() != program || r.Reason() != "wrong" {
		t.Errorf("it failed because %q", r.Reason())
	}
	r.Stop(scheduler.Preempted)
	r.Stop(scheduler.Lost)
	if r.Stopped() != scheduler.Preempted {
		t.Errorf("it is stopped as %v", r.Stopped())
	}
	if r.Stop(scheduler.Killed); r.Stopped() != scheduler.Killed {
		t.Errorf("it is stopped as %v", r.Stopped())
	}
}

// The state is read back as written: running, suspended and committed attempts, stored outputs, and
// the order of waiting bundles.
func TestItComesBack(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(scheduler.AbilityResume)
	l := h.Launcher("a", 4)
	j := h.Job(coretest.MapReduce(4, 2))
	h.Finish(h.RunBundle(j, 2, l).Attempts[0], &wire.StoredOutput{From: 2, Bytes: 10, PartitionBytes: []int64{4, 6}})
	h.RunBundle(j, 3, l)
	suspended := h.RunBundle(j, 0, l)
	h.Later(time.Hour)
	h.Attempts.SuspendBundleAttempt(suspended)
	h.Attempts.SuspendedNow(suspended.Attempts[0])
	h.Checked()

	code := func(st *state.Cluster) func(*checkpoint.Codec) {
		return func(w *checkpoint.Codec) {
			st.CodeReservedAndEnded(w)
			st.CodeLaunchers(w)
			st.CodeJobs(w)
			st.CodeOutputs(w)
			st.CodeSuspended(w)
		}
	}
	was := codectest.Bytes(t, code(h.Cluster))
	var room resources.Resources
	back := state.New(&step.Step{Set: h.Step.Set, Now: h.Step.Now}, &room)
	codectest.Read(t, was, code(back))
	if !bytes.Equal(codectest.Bytes(t, code(back)), was) {
		t.Error("it comes back as another state")
	}
	if err := back.Check(); err != nil {
		t.Error(err)
	}
	if back.Suspended.Len() != 1 || back.Attempts.Len() != 2 || back.LauncherNamed("a").Outputs.Len() != 1 {
		t.Errorf("%d are suspended, %d attempts live, %d outputs are kept", back.Suspended.Len(), back.Attempts.Len(), back.LauncherNamed("a").Outputs.Len())
	}
}

// A stage comes after those whose groups store its input: all stages of the writers' groups count,
// and none that runs with it.
func TestStagesAreAfterTheirWriters(t *testing.T) {
	file, tcp, shm := wire.ChannelKind_CHANNEL_KIND_FILE, wire.ChannelKind_CHANNEL_KIND_TCP, wire.ChannelKind_CHANNEL_KIND_SHM
	g := &wire.Graph{}
	for i := range 6 {
		g.Stages = append(g.Stages, &wire.Stage{Name: string(rune('a' + i)), Nodes: 2, Kind: "default", NoSuspend: i == 1})
	}
	for _, c := range []struct {
		from, to uint32
		kind     wire.ChannelKind
	}{{0, 1, shm}, {1, 2, file}, {2, 3, tcp}, {1, 4, file}, {3, 4, file}, {2, 4, file}, {4, 5, shm}} {
		n := len(g.Connections)
		g.Connections = append(g.Connections, &wire.Connection{
			FromStage: c.from, ToStage: c.to, FromPort: string(rune('a' + n)), ToPort: string(rune('a' + n)), Kind: c.kind, Pattern: wire.Pattern_PATTERN_ONE_TO_ONE,
		})
	}
	p, err := graph.Expand(g, 1, graph.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	j := state.NewJob(&wire.JobSpec{Outputs: []string{"/out"}}, p)
	var got []string
	for _, s := range j.ForPolicy().Stages {
		got = append(got, fmt.Sprint(s.Groups, s.After, s.NoSuspend))
	}
	want := []string{"2 [] true", "0 [] true", "2 [0] false", "2 [] false", "2 [0 2 3] false", "0 [] false"}
	if !slices.Equal(got, want) {
		t.Errorf("the policy is told of groups, stages before, and whether they must not be suspended: %q, want %q", got, want)
	}
}
