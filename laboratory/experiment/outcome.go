package experiment

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/hamadryad/hamadryad/laboratory/report"
)

// Outcome is what came out of an experiment.
type Outcome struct {
	Experiment *Experiment
	Rows       []Row
	// Runs are in order of policy, value and seed; empty without Options.Keep.
	Runs []*report.Run
}

// Row is what came out for a claim.
type Row struct {
	Claim *Claim
	// Values are those of the claim's figures, in the units in which they are shown, and Measured is how they are shown.
	Values   [][]float64
	Measured string
	// Verdict is what comes out, empty where nothing was published.
	Verdict string
	// Problem is why the row fails; empty: it does not.
	Problem string
}

// outcome computes all figures, and holds the claims against them.
func (e *Experiment) outcome(runs []*run, keep bool) (*Outcome, error) {
	raw, values, figures := computed{}, computed{}, map[string]*Figure{}
	for i := range e.Figures {
		f := &e.Figures[i]
		list, err := f.compute(e, runs, raw)
		if err != nil {
			return nil, fmt.Errorf("figure %s: %w", f.Name, err)
		}
		raw[f.Name], values[f.Name], figures[f.Name] = list, f.inUnit(list), f
	}
	o := &Outcome{Experiment: e}
	for i := range e.Claims {
		c := &e.Claims[i]
		row := Row{Claim: c}
		var texts []string
		for _, name := range c.Figures {
			row.Values = append(row.Values, values[name])
			texts = append(texts, figures[name].text(values[name]))
		}
		row.Measured = strings.Join(texts, "; ")
		if err := row.judge(values); err != nil {
			return nil, fmt.Errorf("claim %q: %w", c.Claim, err)
		}
		o.Rows = append(o.Rows, row)
	}
	if keep {
		for _, r := range runs {
			o.Runs = append(o.Runs, r.report())
		}
	}
	return o, nil
}

// judge finds the verdict, and what is wrong.
func (r *Row) judge(values computed) error {
	holds, err := all(r.Claim.Holds, values)
	if err != nil {
		return err
	}
	expected, err := all(r.Claim.Expected, values)
	if err != nil {
		return err
	}
	if r.Claim.Published != "" {
		r.Verdict = Differs
		if holds {
			r.Verdict = Holds
		}
	}
	switch {
	case r.Verdict != r.Claim.Verdict:
		r.Problem = "it is said that it " + r.Claim.Verdict
	case !expected:
		r.Problem = "something else is expected here"
	}
	return nil
}

// all says whether all checks are met.
func all(checks []Check, values computed) (bool, error) {
	met := true
	for i := range checks {
		ok, err := checks[i].met(values[checks[i].Figure])
		if err != nil {
			return false, fmt.Errorf("%s: %w", checks[i].Figure, err)
		}
		met = met && ok
	}
	return met, nil
}

// met says whether values are as the check has it. A value that is none meets nothing.
func (c *Check) met(values []float64) (bool, error) {
	for _, n := range []Numbers{c.Near, c.Above, c.AtLeast, c.Below, c.AtMost} {
		if len(n) > 1 && len(n) != len(values) {
			return false, fmt.Errorf("it has %d values, and is compared with %d numbers", len(values), len(n))
		}
	}
	met := true
	for i, v := range values {
		met = met && !math.IsNaN(v) &&
			(c.Near == nil || math.Abs(v-c.Near.at(i)) <= c.Within) &&
			(c.Above == nil || v > c.Above.at(i)) && (c.AtLeast == nil || v >= c.AtLeast.at(i)) &&
			(c.Below == nil || v < c.Below.at(i)) && (c.AtMost == nil || v <= c.AtMost.at(i))
		for k := range i {
			met = met && (!c.Order || (values[k] < v) == (c.Near.at(k) < c.Near.at(i)))
		}
		met = met && (!c.Falls || i == 0 || int(100*v) <= int(100*values[i-1]))
	}
	return met, nil
}

// inUnit has values in the unit in which they are shown.
func (f *Figure) inUnit(list []float64) []float64 {
	by := 1.0
	switch f.Unit {
	case "min":
		by = 60
	case "h":
		by = 3600
	}
	if f.Divide > 0 {
		by *= f.Divide
	}
	values := make([]float64, len(list))
	for i, v := range list {
		values[i] = v / by
	}
	return values
}

// unit is the one that is shown.
func (f *Figure) unit() string {
	switch {
	case f.Unit != "":
		return f.Unit
	case f.Of == "time" || f.Of == "makespan" || f.Of == "held":
		return "s"
	case f.Of == "wasted" || f.Of == "idle":
		return "slot s"
	case f.Of == "local" || len(f.Percent) > 0 || len(f.Increase) > 0:
		return "%"
	}
	return ""
}

// text shows values.
func (f *Figure) text(values []float64) string {
	decimals, sign := 1, ""
	if f.Decimals != nil {
		decimals = *f.Decimals
	}
	if len(f.Increase) > 0 {
		sign = "+"
	}
	var parts []string
	for _, v := range values {
		if math.IsNaN(v) {
			parts = append(parts, "never")
			continue
		}
		parts = append(parts, fmt.Sprintf("%"+sign+".*f", decimals, v))
	}
	return strings.TrimSpace(strings.Join(parts, ", ") + " " + f.unit())
}

// Failed names the claims that did not come out as the file says.
func (o *Outcome) Failed() (claims []string) {
	for _, r := range o.Rows {
		if r.Problem != "" {
			claims = append(claims, r.Claim.Claim)
		}
	}
	return claims
}

// Text writes the table for people.
func (o *Outcome) Text(w io.Writer) error {
	fmt.Fprintln(w, o.Experiment.Title)
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "CLAIM\tPUBLISHED\tMEASURED\tVERDICT")
	for _, r := range o.Rows {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", r.Claim.Claim, dash(r.Claim.Published), r.Measured, r.verdict())
	}
	return out.Flush()
}

// verdict is the last column: what comes out, and why it does not hold, or what is wrong with that.
func (r *Row) verdict() string {
	text := dash(r.Verdict)
	switch {
	case r.Problem != "":
		return text + ": FAILS, " + r.Problem
	case r.Claim.Why != "":
		return text + ": " + r.Claim.Why
	}
	return text
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// The form of JSON. Names of fields do not change; fields may be added.
type (
	jsonOutcome struct {
		Experiment string    `json:"experiment"`
		Title      string    `json:"title"`
		Claims     []jsonRow `json:"claims"`
	}
	jsonRow struct {
		Claim     string       `json:"claim"`
		Published string       `json:"published"`
		Figures   []jsonFigure `json:"figures"`
		Measured  string       `json:"measured"`
		Verdict   string       `json:"verdict"`
		Why       string       `json:"why"`
		Problem   string       `json:"problem"`
	}
	jsonFigure struct {
		Name   string     `json:"name"`
		Unit   string     `json:"unit"`
		Values []*float64 `json:"values"` // null: it never was
	}
)

// JSON writes outcomes for programs.
func JSON(w io.Writer, outcomes []*Outcome) error {
	list := []jsonOutcome{}
	for _, o := range outcomes {
		one := jsonOutcome{Experiment: o.Experiment.Name(), Title: o.Experiment.Title, Claims: []jsonRow{}}
		for _, r := range o.Rows {
			row := jsonRow{Claim: r.Claim.Claim, Published: r.Claim.Published, Figures: []jsonFigure{}, Measured: r.Measured, Verdict: r.Verdict, Why: r.Claim.Why, Problem: r.Problem}
			for i, name := range r.Claim.Figures {
				row.Figures = append(row.Figures, jsonFigure{name, o.Experiment.figure(name).unit(), orNull(r.Values[i])})
			}
			one.Claims = append(one.Claims, row)
		}
		list = append(list, one)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(list)
}

// orNull has no value where there is none.
func orNull(values []float64) (list []*float64) {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			list = append(list, nil)
			continue
		}
		list = append(list, &v)
	}
	return list
}

// figure finds a figure by its name.
func (e *Experiment) figure(name string) *Figure {
	for i := range e.Figures {
		if e.Figures[i].Name == name {
			return &e.Figures[i]
		}
	}
	return nil
}
