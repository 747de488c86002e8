package query

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// applyElements takes in the state of elements of a job array.
func (m *Model) applyElements(row *changes.Elements) {
	j := m.live.Get(row.Job)
	if j == nil || row.First < 0 || int(row.First+row.Count) > len(j.elements) {
		return
	}
	for i := range row.Count {
		j.elements[row.First+i] = row.State
	}
	m.changed(j)
}

// elementStates are the states of a live job array, by position; nil for other jobs.
func (m *Model) elementStates(ctx context.Context, id scheduler.JobID) (states []wire.ElementState, err error) {
	err = m.read(ctx, func() {
		if j := m.live.Get(id); j != nil {
			states = slices.Clone(j.elements)
		}
	})
	return states, err
}

// ElementQuery selects elements of a job array.
type ElementQuery struct {
	Among  []*wire.ElementRange // none: all
	States []wire.ElementState  // none: all
	After  *uint32              // only larger indices; nil: all
	Limit  int                  // at least 1
}

// Elements is the elements of a job array.
type Elements struct {
	set   wire.ElementSet
	stage int32
}

// ElementsOf returns the job's elements. The error says that it has none.
func (j *Job) ElementsOf() (Elements, error) {
	a := j.Status.GetArray()
	set, err := wire.ElementsOf(a.GetElements().GetRanges())
	if err != nil || set.Len() == 0 {
		return Elements{}, status.Errorf(codes.InvalidArgument, "%v has no elements: it is no job array", j.ID)
	}
	return Elements{set, int32(a.GetStage())}, nil
}

// Which returns a function that reports whether an attempt is of one of some elements. The error
// names an element that is not there.
func (e Elements) Which(job scheduler.JobID, among []*wire.ElementRange) (func(*changes.Attempt) bool, error) {
	some, err := e.some(job, among)
	if err != nil {
		return nil, err
	}
	return func(a *changes.Attempt) bool {
		at, is := e.position(a)
		if !is {
			return false
		}
		_, among := some.Find(e.set.At(at))
		return among
	}, nil
}

// some is the set of ranges of indices, which the array must have.
func (e Elements) some(job scheduler.JobID, among []*wire.ElementRange) (wire.ElementSet, error) {
	some, err := wire.ElementsOf(among)
	if err != nil {
		return some, status.Error(codes.InvalidArgument, err.Error())
	}
	for i := range some.Len() {
		if _, is := e.set.Find(some.At(i)); !is {
			return some, status.Errorf(codes.InvalidArgument, "%v has no element %d: it has %s", job, some.At(i), e.set.Short())
		}
	}
	return some, nil
}

// position is the position of the element that an attempt is of; false: it is of none.
func (e Elements) position(a *changes.Attempt) (int, bool) {
	return int(a.Index), a.Stage == e.stage && a.Index >= 0 && int(a.Index) < e.set.Len()
}

// Elements lists elements of a job array in order of their indices, with the last attempt of each.
// It reports whether there are more, and why attempts are missing.
func (j *Job) Elements(ctx context.Context, q ElementQuery) (list []*wire.ElementStatus, more bool, lacks string, err error) {
	e, err := j.ElementsOf()
	if err != nil {
		return nil, false, "", err
	}
	among, err := e.some(j.ID, q.Among)
	if err != nil {
		return nil, false, "", err
	}
	if len(q.Among) == 0 {
		among = e.set
	}
	states, err := j.states(ctx, e.set.Len())
	if err != nil {
		return nil, false, "", err
	}
	at := map[int]*wire.ElementStatus{}
	for i := range among.Len() {
		index := among.At(i)
		position, _ := e.set.Find(index)
		if q.After != nil && index <= *q.After || len(q.States) > 0 && !slices.Contains(q.States, states[position]) {
			continue
		}
		if more = len(list) == q.Limit; more {
			break
		}
		s := &wire.ElementStatus{Index: index, State: states[position]}
		list, at[position] = append(list, s), s
	}
	lacks, err = j.addAttempts(ctx, e, at)
	return list, more, lacks, err
}

// states are the states of all elements, by position.
func (j *Job) states(ctx context.Context, count int) ([]wire.ElementState, error) {
	if j.lives {
		states, err := j.of.elementStates(ctx, j.ID)
		if err != nil || len(states) == count {
			return states, StatusOf(err)
		}
		now, err := j.of.Find(ctx, j.ID) // it has ended since
		if err != nil || now == nil {
			return nil, err
		}
		defer now.Close()
		j.Status = now.Status
	}
	states, err := wire.UnpackElementStates(j.Status.GetArray().GetStates(), count)
	if err != nil {
		return nil, status.Errorf(codes.DataLoss, "%v: %v", j.ID, err)
	}
	return states, nil
}

// addAttempts counts the attempts of elements, by position, and adds the last of each.
func (j *Job) addAttempts(ctx context.Context, e Elements, at map[int]*wire.ElementStatus) (lacks string, err error) {
	if len(at) == 0 {
		return "", nil
	}
	kept, of, err := j.Each(ctx, jobfile.Query{Stages: []int32{e.stage}}, func(a *changes.Attempt) bool {
		if i, is := e.position(a); is && at[i] != nil {
			at[i].Attempts++
			at[i].Last = AttemptStatus(j.Status.Stages, a)
		}
		return true
	})
	if err == nil && kept < of {
		lacks = fmt.Sprintf("%d of %d attempts are kept (manager.history.attemptsMax)", kept, of)
	}
	return lacks, err
}
