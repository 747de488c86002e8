package simulator

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/loop/machines"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// planFaults draws what goes wrong, and what people ask for, until the calm.
func (s *Sim) planFaults() {
	every := s.between(500*time.Millisecond, 12*time.Second) // this seed's temper
	var next func()
	next = func() {
		if s.calm {
			return
		}
		s.fault()
		s.After(s.upTo(2*every), next)
	}
	s.After(s.upTo(every), next)
}

func (s *Sim) fault() {
	f := s.launchers[s.rand.IntN(len(s.launchers))]
	switch s.rand.IntN(21) {
	case 0:
		f.crash()
	case 1, 2:
		f.disconnect()
	case 3:
		f.freeze()
	case 4:
		f.full = !f.full
	case 5:
		f.Slow = float64(1 + s.rand.IntN(5))
	case 6:
		s.damage(f)
	case 7:
		s.drain(f, s.chance(500))
	case 8:
		s.kill()
	case 9, 10:
		s.update()
	case 11:
		if s.dying = s.chance(600); !s.dying {
			s.restart()
		}
	case 12, 13:
		s.startPolicy() // a swap, or a start beside a start
	case 14:
		s.askForPage()
	case 15:
		s.changeSettings()
	case 16:
		f.deaf = true
		s.After(s.upTo(2*time.Minute), func() { f.deaf = false })
	case 18:
		if s.chance(200) {
			f.leave()
		}
	case 19:
		f.Tell(&wire.Report{What: &wire.Report_Inventory{Inventory: f.Inventory()}})
	case 20:
		s.changeSite()
	case 17: // given up though it is well
		f.disconnect()
		s.lose(f, f.Incarnation, "a mistake")
	}
}

// damage makes a stored output unreadable, or has the launcher notice its loss.
func (s *Sim) damage(f *fake) {
	ids := machines.Sorted(f.Stored)
	if len(ids) == 0 {
		return
	}
	s.Seen["damaged outputs"]++
	id := ids[s.rand.IntN(len(ids))]
	if s.chance(700) {
		f.Stored[id].Damaged = true
		return
	}
	job := f.Stored[id].Job
	delete(f.Stored, id)
	f.Tell(&wire.Report{What: &wire.Report_OutputLost{OutputLost: &wire.Stored{Job: job, Attempt: id}}})
}

func (s *Sim) drain(f *fake, yes bool) {
	s.Push(wire.NewInput(&wire.DrainLauncher{Client: s.client("drain"), Name: f.Name, Drain: yes}))
}

func (s *Sim) randomJobThatRuns() *fakeJob {
	j := s.jobs[s.rand.IntN(len(s.jobs))]
	if j.id == 0 || j.over {
		return nil
	}
	return j
}

func (s *Sim) kill() {
	if j := s.randomJobThatRuns(); j != nil && j.accepted && s.chance(500) {
		s.killJob(j)
	}
}

func (s *Sim) killJob(j *fakeJob) {
	j.killed = true
	s.Push(wire.NewInput(&wire.KillJob{Client: s.client("kill"), Job: j.id, Reason: "a whim"}))
}

func (s *Sim) update() {
	if j := s.randomJobThatRuns(); j != nil {
		m := &wire.UpdateJob{Client: s.client("update"), Job: j.id}
		if s.chance(500) {
			pool := fmt.Sprint("pool", s.rand.IntN(3))
			m.Pool = &pool
		} else {
			p := int32(s.rand.IntN(5) - 2)
			m.Priority = &p
		}
		s.Push(wire.NewInput(m))
	}
}

func (s *Sim) askForPage() {
	s.Push(wire.NewInput(&wire.PolicyRequest{
		Client: s.client("page"), Principal: &wire.Principal{Name: "u", Proof: scheduler.Unproven}, Method: "GET", Path: "/",
	}))
	s.Push(wire.NewInput(&wire.Note{Name: "n", Body: []byte("b")}))
}

func (s *Sim) changeSettings() {
	s.Push(wire.NewInput(&wire.SettingsChange{Version: uint64(s.steps)}))
}

// changeSite changes settings of the manager itself.
func (s *Sim) changeSite() {
	c := s.settings()
	if !s.calm {
		c.Speculation, c.AdmitWithoutPolicy = s.chance(500), s.chance(500)
		c.TakeBackAfter, c.ReserveMax, c.ProtectFor = s.between(time.Second, 20*time.Second), s.between(time.Second, time.Minute), s.between(time.Second, time.Minute)
		c.StepWork = 1 + s.rand.IntN(100)
		c.RoundGap, c.AvoidMax, c.BlameAfter = s.between(1, time.Second), 1+s.rand.IntN(4), 1+s.rand.IntN(4)
	}
	s.Push(wire.NewInput(&wire.SiteSettings{Json: c.JSON()}))
}

// calmDown ends the faults and mends what they broke.
func (s *Sim) calmDown() {
	s.calm, s.dying = true, false // what is asked here is not lost with a manager
	for _, f := range s.launchers {
		f.full, f.Slow = false, 1
		s.drain(f, false)
	}
	s.changeSite()
	s.startPolicy() // a good one
}

// checkNothingLeft looks, long after the last job ended, for what should be gone.
func (s *Sim) checkNothingLeft() {
	for id, what := range s.waiting {
		s.fail("client %d waits for the answer to its %s", id, what)
	}
	for _, f := range s.launchers {
		if len(f.Attempts) > 0 || len(f.Stored) > 0 || len(f.Jobs) > 0 {
			s.fail("%s (connected %t, life %d) still has %d attempts, %d outputs and workers of %d jobs", f.Name, f.connected, f.Incarnation, len(f.Attempts), len(f.Stored), len(f.Jobs))
			for _, id := range machines.Sorted(f.Attempts) {
				s.trace("left: attempt %d of job %d, ended %v", id, f.Attempts[id].Start.Job, f.Attempts[id].Ended())
			}
		}
		for _, l := range s.Core.Launchers() {
			if l.Name == f.Name && !f.left && (l.State == "lost" || l.Running+l.Suspended > 0 || l.MemoryFree != l.Memory) {
				s.fail("%v", l)
			}
		}
	}
	for out, j := range s.storage.temporary {
		if j.lost {
			s.fail("the temporary folder of %s beside %s is left, and the manager does not know that job", j.name, out)
		}
	}
	for _, l := range s.policy.lives {
		if err := idle(l.mirror.World()); !l.dead && err != nil {
			s.fail("to generation %d: %v", l.number, err)
		}
	}
	if st := s.Core.Stats(); st.Running+st.Suspended+st.Ready+st.JobsLive > 0 {
		s.fail("the core still has %+v", st)
	}
}
