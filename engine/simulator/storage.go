package simulator

import (
	"fmt"
	"slices"
)

// storage is where jobs publish: folders that are there or not, and the
// temporary ones beside them.
type storage struct {
	published map[string]*fakeJob // nil: somebody else's
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
	}
}

// finish publishes or cleans; it may be done again. It says why it can't.
func (s *storage) finish(t *task) string {
	j := t.f.s.byJob[t.m.Job]
	for _, out := range t.m.Finish.Outputs {
		if !t.m.Finish.Publish {
			s.removeTemporary(out, j)
			continue
		}
		owner, there := s.published[out]
		if there && owner != j {
			return "the output is there"
		}
		if !there {
			if why := complete(t, j); why != "" {
				t.f.s.fail("%s publishes %s", j.name, why)
			}
			s.published[out] = j
		}
		s.removeTemporary(out, j)
	}
	return ""
}

// complete checks that each node's file is published, once, by an attempt that
// came to its end.
func complete(t *task, j *fakeJob) string {
	var got, want []string
	for _, f := range t.m.Finish.Files {
		got = append(got, f.Name)
		var attempt, index uint64
		if _, err := fmt.Sscanf(f.Temporary, "a%d.%d", &attempt, &index); err != nil || !j.ended[attempt] {
			return fmt.Sprintf("the file %s of an attempt that did not end well", f.Temporary)
		}
	}
	for s, m := range j.spec.Graph.Stages {
		for i := range m.Nodes {
			want = append(want, nodeFile(uint32(s), i))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Sprintf("%v, and should %v", got, want)
	}
	return ""
}

// check looks at what a job that ended leaves behind.
func (s *storage) check(j *fakeJob) error {
	for _, out := range j.spec.Outputs {
		_, temporary := s.temporary[out]
		owner, there := s.published[out]
		published := there && owner == j
		switch {
		case temporary:
			return fmt.Errorf("its temporary folder beside %s is left", out)
		case published != (j.state == jobSucceeded):
			return fmt.Errorf("its output %s is there: %t", out, published)
		}
	}
	return nil
}
