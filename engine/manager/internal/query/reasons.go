package query

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// reasonBytesMax bounds the kept reasons of a job's attempts. Beyond it the oldest are dropped.
const reasonBytesMax = 16 << 20

// reasonBytes is the size of a reason beside its text.
const reasonBytes = 64

// reasons are the reasons of stopped or ended attempts: most have none.
type reasons struct {
	of    map[scheduler.AttemptID]reason
	order []scheduler.AttemptID // by arrival; some may be gone
	bytes int
}

type reason struct {
	text        string
	beneficiary scheduler.JobID
}

func (s *reasons) set(id scheduler.AttemptID, r reason) {
	old, known := s.of[id]
	switch {
	case r == old:
		return
	case r == reason{}:
		s.forget(id)
		return
	case s.of == nil:
		s.of = map[scheduler.AttemptID]reason{}
	}
	if !known {
		s.order = append(s.order, id)
		s.bytes += reasonBytes
	}
	s.of[id] = r
	s.bytes += len(r.text) - len(old.text)
	for s.bytes > reasonBytesMax {
		oldest := s.order[0]
		s.order = s.order[1:]
		s.forget(oldest)
	}
}

// forget drops a reason.
func (s *reasons) forget(id scheduler.AttemptID) {
	r, known := s.of[id]
	if !known {
		return
	}
	delete(s.of, id)
	s.bytes -= reasonBytes + len(r.text)
	if len(s.order) > 2*len(s.of)+64 {
		s.order = slices.DeleteFunc(s.order, func(id scheduler.AttemptID) bool { _, there := s.of[id]; return !there })
	}
}
