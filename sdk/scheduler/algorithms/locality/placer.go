package locality

import (
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality/placement"
)

// Placer places the launches of rounds as Settings say, and remembers what became of the last
// round's. The zero value has placed nothing.
type Placer struct {
	last placement.Report
}

// Place places a round's launches anew, with ModeFlow. Call it when the policy has chosen all of
// them, and before slots that it keeps for others are given back. r has the view, and what the
// policy has to say of its launches. It returns the numbers of optional launches that are not made.
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

// Over says for which bound launches of the last round went to the nearest launchers instead, ""
// when they did not. It is a part of an explanation.
func (p *Placer) Over() string {
	if p.last.Over == "" {
		return ""
	}
	return "; in the last round launches went to the nearest launchers, as " + p.last.Over + ": raise that setting of locality, or bear it"
}

// Facts has the mode, for a policy's status.
func (p *Placer) Facts(s *Settings) []scheduler.Property {
	return []scheduler.Property{{Name: "locality", Value: s.Mode + p.Over()}}
}
