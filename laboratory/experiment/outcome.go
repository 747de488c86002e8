package experiment

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hamadryad/hamadryad/laboratory/report"
	"github.com/hamadryad/hamadryad/laboratory/report/drawing"
)

// Outcome is the result of an experiment. The names of its JSON fields do not change; fields may be
// added.
type Outcome struct {
	Experiment string `json:"experiment"` // its Name
	Title      string `json:"title"`
	Rows       []Row  `json:"claims"`
	// Runs are in order of policy, value and seed, and Curves have the figures of each sweep; empty without Options.Keep.
	Runs   []*report.Run    `json:"-"`
	Curves []report.Drawing `json:"-"`
}

// Row is the result for a claim.
type Row struct {
	Claim     string  `json:"claim"`
	Published string  `json:"published"`
	Figures   []Value `json:"figures"`
	// Measured is how the figures are shown, and Here how they were when the verdict was written down.
	Measured string `json:"measured"`
	Here     string `json:"here"`
	// Verdict is the computed verdict, empty without a published result; Why is the file's reason
	// for it.
	Verdict string `json:"verdict"`
	Why     string `json:"why"`
	// Problem is why the row fails; empty: it passes.
	Problem string `json:"problem"`
}

// Value is a figure in its shown unit: a number, or one for each value of a sweep, or for each job.
type Value struct {
	Name    string   `json:"name"`
	Unit    string   `json:"unit"`
	Numbers []Number `json:"values"`
}

// Number is a number or NaN, which JSON writes as null.
type Number float64

// MarshalJSON writes the number.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// outcome computes all figures, and checks the claims against them.
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
	o := &Outcome{Experiment: e.Name(), Title: e.Title}
	for i := range e.Claims {
		row, err := e.Claims[i].row(values, figures)
		if err != nil {
			return nil, fmt.Errorf("claim %q: %w", e.Claims[i].Claim, err)
		}
		o.Rows = append(o.Rows, row)
	}
	if keep {
		for _, r := range runs {
			o.Runs = append(o.Runs, report.NewRun(r.name, r.seed, r.workload, &r.on, r.result, r.recorder))
		}
		o.Curves = e.curves(raw)
	}
	return o, nil
}

// row shows the claim's figures, and computes the verdict and the problem.
func (c *Claim) row(values computed, figures map[string]*Figure) (Row, error) {
	r := Row{Claim: c.Claim, Published: c.Published, Here: c.Here, Why: c.Why}
	var texts []string
	for _, name := range c.Figures {
		v := Value{Name: name, Unit: figures[name].unit()}
		for _, n := range values[name] {
			v.Numbers = append(v.Numbers, Number(n))
		}
		r.Figures = append(r.Figures, v)
		texts = append(texts, figures[name].text(values[name]))
	}
	r.Measured = strings.Join(texts, "; ")
	holds, err := all(c.Holds, values)
	if err != nil {
		return r, err
	}
	expected, err := all(c.Expected, values)
	if c.Published != "" {
		r.Verdict = Differs
		if holds {
			r.Verdict = Holds
		}
	}
	switch {
	case r.Verdict != c.Verdict:
		r.Problem = "it is said that it " + c.Verdict
	case !expected:
		r.Problem = "something else is expected here"
	}
	return r, err
}

// curves draws the times of each sweep over its values, with those of policies without a sweep.
func (e *Experiment) curves(raw computed) (list []report.Drawing) {
	var sets []string
	for i := range e.Policies {
		if s := e.Policies[i].Sweep; s != nil && !slices.Contains(sets, s.Set) {
			sets = append(sets, s.Set)
			list = append(list, report.Drawing{Name: "sweep of " + strings.TrimPrefix(s.Set, setSetting), SVG: e.curve(s, raw).SVG()})
		}
	}
	return list
}

// curve draws the times for one setting; a policy without a sweep is a horizontal line.
func (e *Experiment) curve(sweep *Sweep, raw computed) *drawing.Lines {
	lines := &drawing.Lines{Title: e.Title, X: strings.TrimPrefix(sweep.Set, setSetting), Y: "time (s)"}
	for _, f := range e.Figures {
		at := slices.IndexFunc(e.Policies, func(p Policy) bool { return p.Name == f.Policy })
		if f.Of != "time" || f.Take == "each" || at < 0 {
			continue
		}
		points, over := drawing.Points{Name: f.Name}, e.Policies[at].Sweep
		switch {
		case over == nil && e.Policies[at].Seeds == nil:
			points.At = []drawing.Point{{X: slices.Min(sweep.Values), Y: raw[f.Name][0]}, {X: slices.Max(sweep.Values), Y: raw[f.Name][0]}}
		case over == nil || over.Set != sweep.Set:
			continue
		default:
			for i, v := range over.Values {
				points.At = append(points.At, drawing.Point{X: v, Y: raw[f.Name][i]})
			}
		}
		lines.Lines = append(lines.Lines, points)
	}
	return lines
}

// all reports whether all checks are met.
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

// met reports whether the values meet the check. NaN meets nothing.
func (c *Check) met(values []float64) (bool, error) {
	for _, n := range []Numbers{c.Near, c.Above, c.AtLeast, c.Below, c.AtMost} {
		if len(n) > 1 && len(n) != len(values) {
			return false, fmt.Errorf("it has %d values, and is compared with %d numbers", len(values), len(n))
		}
	}
	met := true
	for i, v := range values {
		met = met && !math.IsNaN(v) && !math.IsInf(v, 0) &&
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

// inUnit converts values to their shown unit.
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

// unit is the shown unit.
func (f *Figure) unit() string {
	switch {
	case f.Unit != "":
		return f.Unit
	case f.Of == "time" || f.Of == "makespan" || f.Of == "held" || f.Of == "starved":
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

// Failed names the claims whose result differs from the file.
func (o *Outcome) Failed() (claims []string) {
	for _, r := range o.Rows {
		if r.Problem != "" {
			claims = append(claims, r.Claim)
		}
	}
	return claims
}

// Text writes the table for people.
func (o *Outcome) Text(w io.Writer) error {
	fmt.Fprintln(w, o.Title)
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "CLAIM\tPUBLISHED\tMEASURED\tVERDICT")
	for _, r := range o.Rows {
		verdict := cmp.Or(r.Verdict, "-")
		switch {
		case r.Problem != "":
			verdict += ": FAILS, " + r.Problem
		case r.Why != "":
			verdict += ": " + r.Why
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", r.Claim, cmp.Or(r.Published, "-"), r.Measured, verdict)
	}
	fmt.Fprintln(out)
	return out.Flush()
}

// JSON writes outcomes for programs.
func JSON(w io.Writer, outcomes []*Outcome) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(outcomes)
}
