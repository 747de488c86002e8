package simulator

import (
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"google.golang.org/protobuf/proto"
)

// A log may lose records that the manager was told are on disk: a disk that lies, or
// an old copy that was put back. Launchers, clients and storage remember what the
// manager then does not.

// history is all that was ever logged, and what came of it, so that any end of it can
// be lost.
type history struct {
	batches [][]byte
	actions [][]core.Action
	bases   []base
	lost    bool // some of it was
}

// base is the state after so many batches.
type base struct {
	batches    int
	checkpoint []byte
}

func (h *history) add(batch []byte, actions []core.Action) {
	h.batches, h.actions = append(h.batches, batch), append(h.actions, actions)
}

func (h *history) keep(checkpoint []byte) {
	h.bases = append(h.bases, base{len(h.batches), checkpoint})
}

// loseEnd has the log forget its last batches: mostly a few, sometimes as many as an
// old copy lacks. The core and the ledger go back with it.
func (s *Sim) loseEnd() {
	h := &s.history
	n := 1 + s.rand.IntN(40)
	if s.chance(250) {
		n = 1 + s.rand.IntN(len(h.batches))
	}
	left := max(len(h.batches)-n, 0)
	s.Seen["logs that lost their end"]++
	h.lost = true
	h.batches, h.actions = h.batches[:left:left], h.actions[:left:left]
	for h.bases[len(h.bases)-1].batches > left {
		h.bases = h.bases[:len(h.bases)-1]
	}
	b := h.bases[len(h.bases)-1]
	c, err := core.Restore(b.checkpoint)
	if err != nil {
		s.fail("a checkpoint can't be restored: %v", err)
		return
	}
	for _, data := range h.batches[b.batches:] {
		c.Step(s.decode(data))
	}
	s.ledger = newLedger()
	for i, data := range h.batches {
		if err := s.ledger.step(s, s.decode(data).Inputs, h.actions[i]); err != nil {
			s.fail("on the way back: %v", err)
			return
		}
	}
	s.Core, s.base, s.frozen, s.log, s.logged = c, c.Checkpoint(), c.Freeze(), nil, nil
	h.keep(s.base)
}

func (s *Sim) decode(data []byte) *wire.Batch {
	b := &wire.Batch{}
	if err := proto.Unmarshal(data, b); err != nil {
		s.fail("a logged batch can't be read: %v", err)
	}
	return b
}

// expectAll gives up launchers that the core counts as up and that do not join it.
func (s *Sim) expectAll() {
	term := s.Core.Term() // of the life that began, which is larger than any that welcomed a launcher
	for _, l := range s.Core.Launchers() {
		info, _ := s.Core.Launcher(l.Name)
		if !info.Up {
			continue
		}
		s.After(lostAfter, func() {
			i := slices.IndexFunc(s.launchers, func(f *fake) bool { return f.Name == info.Name })
			if s.launchers[i].Term < term {
				s.Push(wire.NewInput(&wire.LauncherLost{
					Launcher: uint64(info.Launcher), Incarnation: info.Incarnation, Reason: "it did not come back",
				}))
			}
		})
	}
}

// lose takes it that a job is lost, as its client does when it is told so: it waits
// until nothing of the job runs, and removes what is left of it.
func (s *Sim) loseJob(j *fakeJob) {
	s.Seen["lost jobs"]++
	j.over, j.lost = true, true
	s.After(lostAfter, func() {
		for _, out := range j.spec.Outputs {
			s.storage.removeTemporary(out, j)
		}
	})
}

// checkGivenOnce makes sure that an attempt's id stands for one attempt, whatever the
// log lost.
func (s *Sim) checkGivenOnce(m *wire.StartAttempt) bool {
	what := given{m.Job, m.BundleAttempt}
	old, known := s.given[m.Attempt]
	s.given[m.Attempt] = what
	return !known || old == what
}

type given struct{ job, run uint64 }

// age is how old the manager's data is.
func (s *Sim) age() time.Duration { return s.Now().Sub(start) }

func (s *Sim) isLost(id uint64) bool { return s.Core.Lost(scheduler.JobID(id)) != nil }
