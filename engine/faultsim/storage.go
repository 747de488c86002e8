package faultsim

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// storage is where jobs publish: the existing folders, and the temporary ones beside them.
type storage struct {
	published map[string]*fakeJob // nil: of another owner
	temporary map[string]*fakeJob
}

func newStorage() storage {
	return storage{map[string]*fakeJob{}, map[string]*fakeJob{}}
}

// prepare makes the temporary folder, as the submitter does.
func (s *storage) prepare(out string, j *fakeJob) {
	s.temporary[out] = j
	if j.occupied {
		s.published[out] = nil
	}
}

func (s *storage) removeTemporary(out string, j *fakeJob) {
	if s.temporary[out] == j {
		delete(s.temporary, out)
		j.rewritten = false
	}
}

// finish publishes one output, or keeps or cleans all; it may be repeated. It returns why it can't,
// the outputs that it found published, and whether some are still to come.
func (s *storage) finish(c *clients, a *simcluster.Attempt) (why string, found []uint32, more bool) {
	j, f := c.byID[a.Start.Job], a.Start.Finish
	for i, out := range f.Outputs {
		owner, there := s.published[out]
		mine := there && owner == j
		switch {
		case f.Publish && mine:
		case f.Publish && there:
			return "the output is there", nil, false
		case f.Publish:
			if why := complete(a, j); why != "" {
				c.fail("%s publishes %s", j.name, why)
			}
			s.published[out] = j
			return "", nil, true
		case f.Granted && mine:
			found = append(found, uint32(i))
		case mine:
			c.fail("%s has published %s and is cleaned without a look", j.name, out)
		}
	}
	for _, out := range f.Outputs {
		if f.Publish || !f.Keep || s.published[out] == j {
			s.removeTemporary(out, j)
		}
	}
	if f.Keep {
		c.Seen["parts kept"]++
		if why := complete(a, j); why != "" {
			c.fail("%s keeps %s", j.name, why)
		}
	}
	return "", found, false
}

// complete checks that each node's file is published, once, by an attempt that ended well.
func complete(a *simcluster.Attempt, j *fakeJob) string {
	var got, want []string
	for _, f := range a.Files() {
		got = append(got, f.Name)
		var attempt, index uint64
		if _, err := fmt.Sscanf(f.Temporary, "a%d.%d", &attempt, &index); err != nil || !j.ended[attempt] {
			return fmt.Sprintf("the file %s of an attempt that did not end well", f.Temporary)
		}
	}
	for s, m := range j.spec.Graph.Stages {
		for i := range m.Nodes {
			if name := simcluster.PartName(uint32(s), i); !j.mayLack(uint32(s), i) || slices.Contains(got, name) {
				want = append(want, name)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Sprintf("%v, and should %v", got, want)
	}
	return ""
}

// identity is the identity of the manager's data.
const identity = "seed"

// check looks at the leftovers of a job that ended.
func (s *storage) check(j *fakeJob, status *wire.JobStatus) error {
	published := 0
	owner := plan.Owner{Cluster: plan.Cluster(identity), Job: j.id}
	for _, out := range j.spec.Outputs {
		if owner, there := s.published[out]; there && owner == j {
			published++
		}
		_, temporary := s.temporary[out]
		temporary = temporary || j.rewritten && len(status.Kept) > 0
		if kept := slices.Contains(status.Kept, owner.Temporary(out)); temporary != kept {
			return fmt.Errorf("its temporary folder beside %s is there: %t, and is to be kept: %t", out, temporary, kept)
		}
	}
	all, want := len(j.spec.Outputs), 0
	if j.state == jobSucceeded || j.short && !j.publishesNothing(status) {
		want = all
	}
	if j.state == jobKilled && published > 0 && published < all { // it was killed between two of them
		want = published
	}
	if published != want {
		return fmt.Errorf("%d of its %d outputs are there", published, all)
	}
	return nil
}
