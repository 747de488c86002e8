package faultsim

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// planFaults draws the faults and the requests of people, until the calm.
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
	f := s.fleet.any()
	switch s.rand.IntN(21) {
	case 0:
		f.crash()
	case 1, 2:
		f.disconnect()
	case 3:
		f.freeze()
	case 4:
		f.fill()
	case 5:
		f.Slow = float64(1 + s.rand.IntN(5))
	case 6:
		s.fleet.damage(f)
	case 7:
		s.clients.drain(f.Name, s.chance(500))
	case 8:
		s.clients.kill()
	case 9, 10:
		s.clients.update()
	case 11:
		if s.dying = s.chance(600); !s.dying {
			s.restart()
		}
	case 12, 13:
		s.policy.startNext() // a swap, or a start beside a start
	case 14:
		s.clients.askForPage()
	case 15:
		s.clients.changeSettings()
	case 16:
		f.ignore(s.upTo(2 * time.Minute))
	case 18:
		if s.chance(200) {
			f.leave()
		}
	case 19:
		f.Report(&wire.Report{What: &wire.Report_Inventory{Inventory: f.Inventory()}})
	case 20:
		s.changeSite()
	case 17: // given up though it is up
		f.disconnect()
		s.fleet.lose(f, f.Incarnation, "a mistake")
	}
}

// changeSite changes settings of the manager itself.
func (s *Sim) changeSite() {
	c := s.settings()
	if !s.calm {
		c.Speculation, c.AdmitWithoutPolicy = s.chance(500), s.chance(500)
		c.ReclaimAfter, c.ReserveMax, c.ProtectFor = s.between(time.Second, 20*time.Second), s.between(time.Second, reserveMost), s.between(time.Second, time.Minute)
		c.AheadFor = c.ReclaimAfter // no further draw, so that histories of other policies stay
		c.StepWork = 1 + s.rand.IntN(100)
		c.RoundGap, c.AvoidMax, c.ExcludeAfter = s.between(1, time.Second), 1+s.rand.IntN(4), 1+s.rand.IntN(4)
		c.LaunchedGap = 2 * c.RoundGap // no further draw, as above
		c.UserLimits = s.drawUserLimits()
	}
	s.site.now = c
	s.Push(s.site.input())
}

// endFaults ends the faults and repairs their effects.
func (s *Sim) endFaults() {
	s.calmDown()
	s.dying = false // requests from here on are not lost with a manager
	for _, f := range s.fleet.all() {
		f.mend()
		s.clients.drain(f.Name, false)
	}
	s.changeSite()
	s.schedules.mend()
	s.policy.startNext() // a good one
}

// checkNothingLeft looks for leftovers long after the last job ended.
func (s *Sim) checkNothingLeft() {
	s.clients.checkNothingLeft()
	s.schedules.checkNothingLeft()
	s.fleet.checkNothingLeft()
	s.policy.checkNothingLeft()
	if st := s.Core.Stats(); st.Running+st.Suspended+st.Ready+st.JobsLive > 0 {
		s.fail("the core still has %+v", st)
	}
}
