package lifecycle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/core/internal/coretest"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// A successful end that names another group's output is a failure of its attempt, and nothing of it
// is published. The launcher that reported it is ordered to delete its output.
func TestAnEndNamesNothingOfOthers(t *testing.T) {
	file := func(id uint64, change func(*wire.CommittedFile)) *wire.AttemptEnded {
		f := &wire.CommittedFile{Stage: 0, Index: 1, Temporary: fmt.Sprintf("a%d.0.x", id), Name: "x"}
		change(f)
		return &wire.AttemptEnded{Files: []*wire.CommittedFile{f}}
	}
	stored := func(connection, from uint32) *wire.AttemptEnded {
		return &wire.AttemptEnded{Stored: []*wire.StoredOutput{{Connection: connection, From: from}}}
	}
	for _, c := range []struct {
		what string
		end  func(id uint64) *wire.AttemptEnded
		own  bool
	}{
		{"its own file", func(id uint64) *wire.AttemptEnded { return file(id, func(*wire.CommittedFile) {}) }, true},
		{"another node's", func(id uint64) *wire.AttemptEnded { return file(id, func(f *wire.CommittedFile) { f.Index = 0 }) }, false},
		{"a node that is not", func(id uint64) *wire.AttemptEnded { return file(id, func(f *wire.CommittedFile) { f.Index = 1 << 31 }) }, false},
		{"a stage that is not", func(id uint64) *wire.AttemptEnded { return file(id, func(f *wire.CommittedFile) { f.Stage = 1 << 31 }) }, false},
		{"an output that is not", func(id uint64) *wire.AttemptEnded { return file(id, func(f *wire.CommittedFile) { f.Output = 7 }) }, false},
		{"another attempt's file", func(id uint64) *wire.AttemptEnded {
			return file(id, func(f *wire.CommittedFile) { f.Temporary = fmt.Sprintf("a%d0.0.x", id) })
		}, false},
		{"a connection that is not", func(uint64) *wire.AttemptEnded { return stored(1<<31, 1) }, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			h := coretest.New(t)
			h.StartPolicy(0)
			l := h.Launcher("a", 1)
			spec := coretest.Maps(2)
			spec.Outputs = []string{"/out"}
			j := h.Job(spec)
			r := h.RunBundle(j, 1, l)
			a := r.Attempts[0]
			end := c.end(uint64(a.ID))
			end.Attempt, end.End = uint64(a.ID), wire.End_END_FINISHED
			h.Attempts.EndedReport(l, end)
			kept := j.Bundles[1].LastCommits()
			if accepted := len(kept) > 0 && kept[0] != nil; accepted != c.own {
				t.Errorf("its end is accepted: %t", accepted)
			}
			if !c.own && len(end.Stored) > 0 && !slices.ContainsFunc(h.Commands(l), func(m *wire.Command) bool { return m.GetDropOutput() != nil }) {
				t.Error("its launcher is not told to delete what it stored")
			}
			if !c.own {
				if why := r.Failure().GetMessage(); !strings.Contains(why, "launcher a reported an end that can't be the attempt's") {
					t.Errorf("it failed for %q", why)
				}
			}
		})
	}
}
