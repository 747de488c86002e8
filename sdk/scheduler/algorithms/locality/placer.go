package locality

import (
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality/placement"
)

// Placer places the launches of rounds as Settings say, and keeps the last round's report. The zero
// value is ready.
type Placer struct {
	last placement.Report
}

// Place moves a round's launches to better launchers, with ModeFlow. Call it when the policy has
// chosen all launches, and before it releases slots that it holds back. r has the view, and the
// policy's conditions for its launches. It returns the numbers of optional launches that are
// dropped.
func (p *Placer) Place(s *Settings, r placement.Round, launches []scheduler.Launch) (dropped []int) {
	p.last = placement.Report{}
	if !s.Flow() || len(launches) == 0 {
		return nil
	}
	r.Options = placement.Options{Costs: s.Costs, NeighbourBytes: s.NeighbourBytes, StepsMax: s.StepsMax}
	r.BundlesMax, r.LaunchersMax = s.BundlesMax, s.LaunchersMax
	p.last = r.Place(launches)
	return p.last.Dropped
}

// Over explains which bound the last round exceeded, so that its launches went to the nearest
// launchers. It is "" if none was exceeded. It is a part of an explanation.
func (p *Placer) Over() string {
	if p.last.Over == "" {
		return ""
	}
	return "; in the last round launches went to the nearest launchers, as " + p.last.Over + ": raise that setting of locality, or bear it"
}

// Facts returns the mode, for a policy's status.
func (p *Placer) Facts(s *Settings) []scheduler.Property {
	return []scheduler.Property{{Name: "locality", Value: s.Mode + p.Over()}}
}
