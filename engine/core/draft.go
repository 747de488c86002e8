package core

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// NewDraft checks a submission and makes the draft of its job. The message must not be
// changed afterwards.
func NewDraft(s Settings, of *wire.JobSpec, graphs Graphs) *Draft {
	d := &Draft{of: of, set: s}
	d.job, d.err = draft(&s, of, graphs)
	return d
}

func draft(s *Settings, spec *wire.JobSpec, graphs Graphs) (*job, error) {
	if err := checkSpec(s, spec); err != nil {
		return nil, err
	}
	spec = proto.CloneOf(spec)
	spec.MemoryDefault = s.MemoryDefault // as it is at submission, whatever the setting becomes
	if err := fillGraph(spec, graphs); err != nil {
		return nil, err
	}
	plan, err := graph.Expand(spec.GetGraph(), s.MemoryDefault, s.Graph)
	if err != nil {
		return nil, err
	}
	if err := checkKinds(s, spec.Graph); err != nil {
		return nil, err
	}
	j := &job{spec: spec, plan: plan, pool: spec.Pool, priority: scheduler.Priority(spec.Priority)}
	j.expand()
	return j, nil
}

// Awaits says whether a job was announced and not submitted yet.
func (c *Core) Awaits(id scheduler.JobID) bool {
	return slices.ContainsFunc(c.prepared, func(p prepared) bool { return p.id == id })
}

// Expect has the next step take drafts for the submissions that it brings. It reports
// whether it takes this one: not one of other settings than those in force. The core
// becomes its owner.
func (c *Core) Expect(d *Draft) bool {
	if d == nil || d.set.MemoryDefault != c.step.Set.MemoryDefault || d.set.Graph != c.step.Set.Graph || !slices.Equal(d.set.Kinds, c.step.Set.Kinds) {
		return false
	}
	if c.drafts == nil {
		c.drafts = map[*wire.JobSpec]*Draft{}
	}
	c.drafts[d.of] = d
	return true
}
