package stats

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint/codectest"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The sums are those over the attempts that count, also after another attempt was accepted instead.
// The newest ended attempts are kept, in order. All of it is read back, once the sums that are not
// written are counted again.
func TestTheTallyIsTheSumOverWhatCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var j Job
		accepted := map[int]*wire.AttemptEnded{} // by group
		var ended []scheduler.AttemptID
		most := rapid.IntRange(1, 5).Draw(t, "most")
		for step := range rapid.IntRange(1, 40).Draw(t, "steps") {
			group := rapid.IntRange(0, 5).Draw(t, "group")
			m := &wire.AttemptEnded{Files: make([]*wire.CommittedFile, rapid.IntRange(0, 3).Draw(t, "files"))}
			for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.ID).Draw(t, "counters") {
				m.Counters = append(m.Counters, &wire.Counter{Name: name, Value: rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64()).Draw(t, "value")})
			}
			j.Accept(m, +1)
			if before := accepted[group]; before != nil {
				j.Accept(before, -1)
			} else {
				j.Finished(1)
			}
			accepted[group] = m
			id := scheduler.AttemptID(step + 1)
			j.KeepEndedAttempt(EndedAttempt{ID: id, Reason: fmt.Sprint(step)}, most)
			ended = append(ended, id)
			j.Read(scheduler.Work{Read: [scheduler.LocalityLevels]int64{1, 2}})
			j.Local(1)
		}
		back := readBack(t, &j, accepted)
		for _, x := range []*Job{&j, back} {
			check(t, x, accepted, ended[max(len(ended)-most, 0):])
			if read, local := x.Reads(); read[0] != int64(len(ended)) || read[1] != 2*int64(len(ended)) || local[1] != uint32(len(ended)) {
				t.Fatalf("read %v, by attempts %v", read, local)
			}
		}
	})
}

func readBack(t *rapid.T, j *Job, accepted map[int]*wire.AttemptEnded) *Job {
	clone, back := j.Clone(), &Job{}
	j.KeepEndedAttempt(EndedAttempt{ID: 999}, 1)
	codectest.Read(t, codectest.Bytes(t, clone.Code), back.Code)
	for _, m := range accepted {
		back.Accept(m, +1)
	}
	if !back.SameSums(j) {
		t.Fatalf("it comes back with %v, and was %v", back.Counters(), j.Counters())
	}
	*j = clone
	return back
}

// check compares a tally with the model.
func check(t *rapid.T, j *Job, accepted map[int]*wire.AttemptEnded, newest []scheduler.AttemptID) {
	files, sums := 0, map[string]*big.Int{}
	for _, m := range accepted {
		files += len(m.Files)
		for _, c := range m.Counters {
			if sums[c.Name] == nil {
				sums[c.Name] = new(big.Int)
			}
			sums[c.Name].Add(sums[c.Name], big.NewInt(c.Value))
		}
	}
	got, want := map[string]int64{}, map[string]int64{}
	for _, c := range j.Counters() {
		got[c.Name] = c.Value
	}
	for name, sum := range sums { // a sum that exceeds an int64 is shown as the nearest one
		switch {
		case sum.IsInt64():
			want[name] = sum.Int64()
		case sum.Sign() > 0:
			want[name] = math.MaxInt64
		default:
			want[name] = math.MinInt64
		}
	}
	if j.Files() != files || j.Groups() != len(accepted) || !maps.Equal(got, want) {
		t.Fatalf("%d groups, %d files, counters %v; want %d, %d, %v", j.Groups(), j.Files(), got, len(accepted), files, want)
	}
	var kept []scheduler.AttemptID
	for _, p := range j.EndedAttempts() {
		kept = append(kept, p.ID)
	}
	if !slices.Equal(kept, newest) || !j.Shows(newest[0]) || j.Shows(newest[0]-1) {
		t.Fatalf("%v are kept, want %v", kept, newest)
	}
}

// The nodes of a stage by phase add up to all of its nodes, as does a full count. The median is
// there once enough groups have finished.
func TestAStageCountsItsNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := make([]Phase, rapid.IntRange(1, 10).Draw(t, "nodes"))
		s := NewStage("map", len(nodes))
		for range nodes {
			s.AddGroup(2)
		}
		done := 0
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			i := rapid.IntRange(0, len(nodes)-1).Draw(t, "node")
			to := Phase(rapid.IntRange(0, int(Finished)).Draw(t, "phase"))
			by := 0
			if to == Finished {
				by++
			}
			if nodes[i] == Finished {
				by--
			}
			s.Move(nodes[i], to)
			s.FinishGroups(by)
			s.FinishNodes(by)
			nodes[i] = to
			done += by
		}
		fresh := s.Fresh()
		for _, p := range nodes {
			fresh.Count(p)
		}
		fresh.FinishGroups(done)
		if err := s.Check(&fresh); err != nil {
			t.Fatal(err)
		}
		m := s.Status()
		if int(m.Waiting+m.Ready+m.Running+m.Finished) != len(nodes) || int(m.Nodes) != len(nodes) || s.Open() != (done < len(nodes)) {
			t.Fatalf("%d nodes are shown as %v", len(nodes), m)
		}
		if _, yes := s.Median(50); yes != (done > 0 && 2*done >= len(nodes)) {
			t.Fatalf("a median of %d of %d: %t", done, len(nodes), yes)
		}
		s.Ran(time.Second, 0)
		clone, back := s.Clone(), s.Fresh()
		s.Ran(time.Hour, 0)
		codectest.Read(t, codectest.Bytes(t, clone.Code), back.Code)
		if back.done != done || back.open != s.open || back.times.Len() != 1 {
			t.Fatalf("it comes back as %+v", back)
		}
	})
}
