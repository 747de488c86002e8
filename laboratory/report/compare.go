package report

import (
	"slices"

	"github.com/hamadryad/hamadryad/laboratory/report/statistics"
)

// Comparison sets policies side by side.
type Comparison struct {
	// Policies are in the order of their first runs.
	Policies []Policy
	// Differences compare each policy with each earlier one, over the seeds that both were played
	// with.
	Differences []Difference
	// ByRows shows the most important measures of each policy in a row, as for many values of a
	// setting. Otherwise all measures are shown, with a column for each policy.
	ByRows bool
	// Origin is how the runs were made; nil: it is not shown.
	Origin *Origin
	// More are further drawings of the runs, shown before the comparison's own.
	More []Drawing
}

// Policy is the result of a policy.
type Policy struct {
	Name string
	Runs []*Run // in order of their seeds
	// Estimates are means over the runs.
	Estimates []Estimate
}

// Estimate is a measure's mean over seeds, with its confidence interval.
type Estimate struct {
	Measure
	statistics.Estimate
}

// Difference is how much a policy's measure exceeds another's, run for run with the same seed. So
// chance that affects both equally cancels out.
type Difference struct {
	Policy, Less string
	Seeds        int
	Estimates    []Estimate
}

// SojournMean is the mean sojourn time of all jobs over the runs, in seconds; 0: no job succeeded.
func (p *Policy) SojournMean() float64 {
	if e := estimate(p.Estimates, headlines[0]); e != nil {
		return e.Mean
	}
	return 0
}

// Compare groups runs by policy. Of several runs of a policy with the same seed the first
// counts: they are the same.
func Compare(runs []*Run) *Comparison {
	c := &Comparison{}
	for _, r := range runs {
		i := slices.IndexFunc(c.Policies, func(p Policy) bool { return p.Name == r.Policy })
		if i < 0 {
			i = len(c.Policies)
			c.Policies = append(c.Policies, Policy{Name: r.Policy})
		}
		p := &c.Policies[i]
		if p.run(r.Seed) == nil {
			p.Runs = append(p.Runs, r)
		}
	}
	for i := range c.Policies {
		p := &c.Policies[i]
		slices.SortFunc(p.Runs, func(a, b *Run) int {
			if a.Seed < b.Seed {
				return -1
			}
			return 1
		})
		var samples samples
		for _, r := range p.Runs {
			for _, m := range r.Summary.measures() {
				samples.add(m.Measure, m.value)
			}
		}
		p.Estimates = samples.estimates()
	}
	for i := range c.Policies {
		for k := range i {
			if d := difference(&c.Policies[i], &c.Policies[k]); d.Seeds > 0 {
				c.Differences = append(c.Differences, d)
			}
		}
	}
	return c
}

// run is the run with a seed; nil: there is none.
func (p *Policy) run(seed uint64) *Run {
	for _, r := range p.Runs {
		if r.Seed == seed {
			return r
		}
	}
	return nil
}

func difference(p, less *Policy) Difference {
	d := Difference{Policy: p.Name, Less: less.Name}
	var samples samples
	for _, r := range p.Runs {
		other := less.run(r.Seed)
		if other == nil {
			continue
		}
		d.Seeds++
		values := map[Measure]float64{}
		for _, m := range other.Summary.measures() {
			values[m.Measure] = m.value
		}
		for _, m := range r.Summary.measures() {
			if v, ok := values[m.Measure]; ok {
				samples.add(m.Measure, m.value-v)
			}
		}
	}
	d.Estimates = samples.estimates()
	return d
}

// samples are values by measure, in order of first appearance.
type samples struct {
	order  []Measure
	values map[Measure][]float64
}

func (s *samples) add(m Measure, value float64) {
	if s.values == nil {
		s.values = map[Measure][]float64{}
	}
	if _, had := s.values[m]; !had {
		s.order = append(s.order, m)
	}
	s.values[m] = append(s.values[m], value)
}

func (s *samples) estimates() []Estimate {
	list := make([]Estimate, 0, len(s.order))
	for _, m := range s.order {
		list = append(list, Estimate{m, statistics.Of(s.values[m])})
	}
	return list
}

// estimate finds the estimate of a measure; nil: there is none.
func estimate(list []Estimate, m Measure) *Estimate {
	i := slices.IndexFunc(list, func(e Estimate) bool { return e.Measure == m })
	if i < 0 {
		return nil
	}
	return &list[i]
}
