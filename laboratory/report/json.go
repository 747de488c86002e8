package report

import (
	"encoding/json"
	"io"
)

// The form of JSON. Names of fields do not change; fields may be added.
type (
	jsonComparison struct {
		Confidence  json.Number      `json:"confidence"`
		Origin      *jsonOrigin      `json:"origin,omitempty"`
		Policies    []jsonPolicy     `json:"policies"`
		Differences []jsonDifference `json:"differences"`
	}
	jsonPolicy struct {
		Policy   string        `json:"policy"`
		Measures []jsonMeasure `json:"measures"`
		Runs     []jsonRun     `json:"runs"`
	}
	jsonRun struct {
		Seed     uint64       `json:"seed"`
		Workload string       `json:"workload"`
		Jobs     int          `json:"jobs"`
		Measures []jsonValue  `json:"measures"`
		Failed   []jsonFailed `json:"failed"`
	}
	jsonFailed struct {
		Job     string `json:"job"`
		Name    string `json:"name"`
		State   string `json:"state"`
		Failure string `json:"failure"`
	}
	jsonDifference struct {
		Policy   string        `json:"policy"`
		Less     string        `json:"less"`
		Seeds    int           `json:"seeds"`
		Measures []jsonMeasure `json:"measures"`
	}
	jsonName struct {
		Of   string `json:"of"`
		Name string `json:"name"`
		Unit string `json:"unit"`
	}
	jsonValue struct {
		jsonName
		Value json.Number `json:"value"`
	}
	jsonMeasure struct {
		jsonName
		Seeds int         `json:"seeds"`
		Mean  json.Number `json:"mean"`
		// Half is half the width of the confidence interval; null for one seed.
		Half *json.Number `json:"half"`
	}
)

// JSON writes the comparison for programs. It has each policy's measures as means with half the
// width of their confidence intervals, and each run's measures. It also has the failed jobs, and
// the differences between policies.
func (c *Comparison) JSON(w io.Writer) error {
	out := jsonComparison{Confidence: "0.95", Origin: newJSONOrigin(c.Origin), Policies: []jsonPolicy{}, Differences: []jsonDifference{}}
	for i := range c.Policies {
		p := &c.Policies[i]
		one := jsonPolicy{Policy: p.Name, Measures: jsonMeasures(p.Estimates)}
		for _, r := range p.Runs {
			one.Runs = append(one.Runs, newJSONRun(r))
		}
		out.Policies = append(out.Policies, one)
	}
	for _, d := range c.Differences {
		out.Differences = append(out.Differences, jsonDifference{d.Policy, d.Less, d.Seeds, jsonMeasures(d.Estimates)})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func newJSONRun(r *Run) jsonRun {
	run := jsonRun{Seed: r.Seed, Workload: r.Workload, Jobs: len(r.Jobs), Measures: []jsonValue{}, Failed: []jsonFailed{}}
	for _, m := range r.Summary.measures() {
		run.Measures = append(run.Measures, jsonValue{jsonNameOf(m.Measure), json.Number(number(m.value))})
	}
	for _, j := range r.Summary.Failed {
		run.Failed = append(run.Failed, jsonFailed{j.ID, j.Name, j.State, j.Failure})
	}
	return run
}

func jsonMeasures(list []Estimate) []jsonMeasure {
	out := []jsonMeasure{}
	for _, e := range list {
		m := jsonMeasure{jsonName: jsonNameOf(e.Measure), Seeds: e.Count, Mean: json.Number(number(e.Mean))}
		if e.Count > 1 {
			half := json.Number(number(e.Half))
			m.Half = &half
		}
		out = append(out, m)
	}
	return out
}

func jsonNameOf(m Measure) jsonName { return jsonName{m.Part, m.Name, m.Unit} }
