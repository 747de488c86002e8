package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/report/drawing"
)

// Bounds of drawings. A drawing mentions what it leaves out.
const (
	// StepsDrawn bounds the steps of a stack; more are averaged.
	StepsDrawn = 600
	// PartiesDrawn bounds the parties shown in a stack or Gantt chart: those that held most. The
	// others are shown as one.
	PartiesDrawn = 7
	// LanesDrawn and BarsDrawn bound the lanes and bars of a Gantt chart.
	LanesDrawn = 60
	BarsDrawn  = 3000
	// PoliciesDrawn bounds the policies with charts over time.
	PoliciesDrawn = 8
)

// Drawing is a picture. Name is its file name, without .svg.
type Drawing struct {
	Name string
	SVG  []byte
}

// Drawings are the comparison's drawings. They show the distributions of sojourn times, of all jobs
// and by class, over all seeds, and of slowdowns. For each policy's first seed they show the slots
// held over time, by pool and by job, the attempts on launchers, and the numbers of the policy's
// status. Jobs that did not succeed are not in the distributions.
func (c *Comparison) Drawings() []Drawing {
	list := c.overall()
	for i := range c.Policies[:min(len(c.Policies), PoliciesDrawn)] {
		p := &c.Policies[i]
		if r := p.Runs[0]; r.recorder != nil {
			list.stacks(r)
			list.add("attempts "+p.Name, r.gantt())
			if r.HasStatus() {
				list.statusCharts(r)
			}
		}
	}
	return list
}

// overall are the drawings that have all policies, the caller's first.
func (c *Comparison) overall() (list pictures) {
	for _, d := range c.More {
		list.add(d.Name, d.SVG)
	}
	sojourn := func(j *Job) float64 { return j.Sojourn().Seconds() }
	list.add("sojourn", c.distributions("Sojourn time of all jobs", "sojourn time (s)", nil, sojourn))
	for _, class := range c.classes() {
		list.add("sojourn "+partOf(class), c.distributions("Sojourn time, "+partOf(class), "sojourn time (s)", &class, sojourn))
	}
	list.add("slowdown", c.distributions("Slowdown of all jobs", "slowdown", nil, func(j *Job) float64 { return j.Slowdown }))
	return list
}

// classes are the classes of all runs.
func (c *Comparison) classes() (names []string) {
	for _, p := range c.Policies {
		for _, r := range p.Runs {
			for _, class := range r.Summary.Classes {
				if !slices.Contains(names, class.Name) {
					names = append(names, class.Name)
				}
			}
		}
	}
	return names[:min(len(names), ClassesMax)]
}

// distributions draws a sample for each policy, of the succeeded jobs of a class; nil: of all.
func (c *Comparison) distributions(title, x string, class *string, of func(*Job) float64) []byte {
	d := drawing.Distributions{Title: title, X: x}
	for _, p := range c.Policies {
		s := drawing.Sample{Name: p.Name}
		for _, r := range p.Runs {
			for i := range r.Jobs {
				if j := &r.Jobs[i]; j.Succeeded() && (class == nil || j.Class == *class) && of(j) > 0 {
					s.Values = append(s.Values, of(j))
				}
			}
		}
		d.Samples = append(d.Samples, s)
	}
	return d.SVG()
}

// pictures are drawings with valid file names.
type pictures []Drawing

func (p *pictures) add(name string, svg []byte) {
	plain := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name), "-")
	plain = plain[:min(len(plain), fileMax)]
	name = plain
	for n := 2; slices.ContainsFunc(*p, func(d Drawing) bool { return d.Name == name }); n++ {
		name = fmt.Sprint(plain, "-", n)
	}
	*p = append(*p, Drawing{name, svg})
}

// fileMax is how long the names are.
const fileMax = 80

// stacks draws the holders of slots: by pool where there are several, and by job where jobs are
// distinguished or there is nothing else.
func (p *pictures) stacks(r *Run) {
	for _, kind := range r.recorder.Kinds() {
		pools, jobs := r.recorder.Pools(kind), r.recorder.Jobs(kind)
		if len(jobs.changes)+len(jobs.bins) == 0 {
			continue
		}
		most := 0
		for _, u := range r.Summary.Utilization {
			if u.Kind == kind {
				most = u.Slots
			}
		}
		what := fmt.Sprintf("%s slots under %s, seed %d, by ", kind, r.Policy, r.Seed)
		if len(pools.Parties) > 1 {
			p.add("slots "+r.Policy+" "+kind+" by pool", stack(what+"pool", pools, most))
		}
		if len(pools.Parties) == 1 || len(jobs.Parties) <= PartiesMax {
			p.add("slots "+r.Policy+" "+kind+" by job", stack(what+"job", jobs, most))
		}
	}
}

func stack(title string, s *Series, most int) []byte {
	names, of := largest(s.Parties, s.Held())
	d := drawing.Stack{Title: title, Y: "slots held", Most: float64(most), Parties: names}
	for _, step := range s.Steps(StepsDrawn) {
		held := make([]float64, len(names))
		for p, n := range step.Slots {
			held[of[p]] += n
		}
		d.Steps = append(d.Steps, drawing.Step{At: step.At, To: step.To, Held: held})
	}
	return d.SVG()
}

// largest keeps the parties that held most, in their order, and merges the others. of maps each
// party to its new index.
func largest(parties []string, held []float64) (names []string, of []int) {
	order := make([]int, len(parties))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(held[b], held[a]) })
	of = make([]int, len(parties))
	if len(parties) <= PartiesDrawn+1 {
		for i := range of {
			of[i] = i
		}
		return parties, of
	}
	for i := range of {
		of[i] = PartiesDrawn
	}
	kept := order[:PartiesDrawn]
	slices.Sort(kept)
	for place, i := range kept {
		names, of[i] = append(names, parties[i]), place
	}
	return append(names, "all others"), of
}

// gantt draws the launchers on which attempts held slots, job by job.
func (r *Run) gantt() []byte {
	spans, left := r.recorder.Spans()
	names, held := make([]string, len(r.Jobs)), make([]float64, len(r.Jobs))
	for i := range r.Jobs {
		names[i] = r.Jobs[i].ID
	}
	for i := range spans {
		held[spans[i].Job] += float64(spans[i].Slots) * (spans[i].To - spans[i].From).Seconds()
	}
	g := drawing.Gantt{Title: fmt.Sprintf("Attempts under %s, seed %d", r.Policy, r.Seed)}
	parties, of := largest(names, held)
	g.Parties = parties
	slices.SortStableFunc(spans, func(a, b Span) int {
		return cmp.Or(cmp.Compare(len(a.Launcher), len(b.Launcher)), cmp.Compare(a.Launcher, b.Launcher), cmp.Compare(a.Kind, b.Kind))
	})
	var lanes lanes
	for len(spans) > 0 {
		n := slices.IndexFunc(spans, func(s Span) bool { return s.Launcher != spans[0].Launcher })
		if n < 0 {
			n = len(spans)
		}
		taken, with := lanes.launcher(spans[:n])
		if len(lanes.names) > 0 && (len(taken) < n || len(g.Bars)+n > BarsDrawn) {
			break // launchers are drawn whole, except a single launcher that is too large
		}
		lanes = with
		taken = taken[:min(len(taken), BarsDrawn)]
		for i, lane := range taken {
			g.Bars = append(g.Bars, r.bar(&spans[i], lane, of[spans[i].Job]))
		}
		left += n - len(taken)
		spans = spans[n:]
	}
	left += len(spans)
	g.Lanes = lanes.names
	g.Note = []string{"pale: suspended, stopped or lost"}
	if left > 0 {
		g.Note = append(g.Note, fmt.Sprintf("%d more are left out", left))
	}
	return g.SVG()
}

func (r *Run) bar(s *Span, lane, party int) drawing.Bar {
	return drawing.Bar{
		Lane: lane, Party: party, From: s.From, To: s.To, Pale: s.End != Finished,
		Text: fmt.Sprintf("%s, stage %d, task %d, %s to %s s: %s", printable(r.Jobs[s.Job].ID), s.Stage, s.Task, seconds(s.From), seconds(s.To), s.End),
	}
}

// lanes gives overlapping spans of one launcher and kind separate lanes. Spans come launcher by
// launcher and kind by kind, in order of their beginnings.
type lanes struct {
	names []string
	kind  string
	first int // lane of the launcher's kind
	free  []time.Duration
}

// launcher finds the lanes of a launcher's spans, up to the first span without room, and the lanes
// after them. It does not change l.
func (l lanes) launcher(spans []Span) (taken []int, with lanes) {
	l.names, l.free = slices.Clone(l.names), slices.Clone(l.free)
	for i := range spans {
		lane, ok := l.take(&spans[i])
		if !ok {
			break
		}
		taken = append(taken, lane)
	}
	return taken, l
}

// take finds a span's lane; false: there is no room for a further lane.
func (l *lanes) take(s *Span) (int, bool) {
	if n := len(l.names); n == 0 || l.names[n-1] != s.Launcher || l.kind != s.Kind {
		l.first, l.kind = n, s.Kind
	}
	for i := l.first; i < len(l.names); i++ {
		if l.free[i] <= s.From {
			l.free[i] = s.To
			return i, true
		}
	}
	if len(l.names) == LanesDrawn {
		return 0, false
	}
	l.names, l.free = append(l.names, s.Launcher), append(l.free, s.To)
	return len(l.names) - 1, true
}
