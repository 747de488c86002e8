package lifecycle

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Draft is the part of a job that depends on the submission and the settings alone: whether it is
// accepted, its groups and bundles, and their inputs. It takes seconds for a million tasks, so any
// goroutine may make it outside the core, and pass it to Expect. A core without a draft makes the
// same one in its step, as in a replay of the log.
type Draft struct {
	of  *wire.JobSpec
	set step.Settings // settings that it was made with
	job *state.Job    // without ids and times; nil when err is not
	err error
}

// NewDraft checks a submission and makes the draft of its job. The message must not be
// changed afterwards.
func NewDraft(s step.Settings, of *wire.JobSpec, graphs state.Graphs) *Draft {
	d := &Draft{of: of, set: s}
	d.job, d.err = draft(&s, of, graphs)
	return d
}

func draft(s *step.Settings, spec *wire.JobSpec, graphs state.Graphs) (*state.Job, error) {
	if err := checkSpec(s, spec); err != nil {
		return nil, err
	}
	spec = owned(spec)
	spec.MemoryDefault = s.MemoryDefault // fixed at submission, whatever the setting becomes
	if err := state.FillGraph(spec, graphs); err != nil {
		return nil, err
	}
	plan, err := graph.Expand(spec.GetGraph(), s.MemoryDefault, s.Graph)
	if err != nil {
		return nil, err
	}
	if err := checkKinds(s, spec.Graph); err != nil {
		return nil, err
	}
	return state.NewJob(spec, plan), nil
}

// owned copies a submission down to its stages, in which FillGraph writes. Deeper data, such as the
// places of thousands of files, stays the message's, and nobody changes it.
func owned(spec *wire.JobSpec) *wire.JobSpec {
	spec = shallow(spec)
	if spec.Graph == nil {
		return spec
	}
	spec.Graph = shallow(spec.Graph)
	spec.Graph.Stages = slices.Clone(spec.Graph.Stages)
	for i, s := range spec.Graph.Stages {
		if s != nil {
			spec.Graph.Stages[i] = shallow(s)
		}
	}
	return spec
}

// shallow copies a message, but nothing that it points to.
func shallow[M proto.Message](m M) M {
	from, to := m.ProtoReflect(), m.ProtoReflect().New()
	from.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		to.Set(f, v)
		return true
	})
	to.SetUnknown(from.GetUnknown())
	return to.Interface().(M)
}

// AwaitsSubmission reports whether a job's id is reserved and not submitted yet.
func (ad *Admission) AwaitsSubmission(id scheduler.JobID) bool {
	return ad.state.ReservedIDs.Has(id)
}

// Expect passes a draft to the next step, for a submission in its batch. It reports whether it
// accepts the draft: not one made with other settings than those in force. The core becomes its
// owner.
func (ad *Admission) Expect(d *Draft) bool {
	if d == nil || d.set.MemoryDefault != ad.step.Set.MemoryDefault || d.set.Graph != ad.step.Set.Graph || !slices.Equal(d.set.Kinds, ad.step.Set.Kinds) {
		return false
	}
	if ad.drafts == nil {
		ad.drafts = map[*wire.JobSpec]*Draft{}
	}
	ad.drafts[d.of] = d
	return true
}

// DropExpected drops the drafts that no submission of the step used.
func (ad *Admission) DropExpected() { ad.drafts = nil }
