package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// failedShown bounds the failed jobs that are named for people; JSON has all.
const failedShown = 20

// seedsShown is up to how many seeds are named.
const seedsShown = 20

// table is a table for people.
type table struct {
	Title string
	Head  []string
	Rows  [][]string // as long as Head
	Note  string
}

// tables are the tables of a comparison that have rows.
func (c *Comparison) tables() []table {
	var list []table
	if c.ByRows {
		list = append(list, c.byRows())
	} else {
		list = c.byColumns()
	}
	if len(c.Differences) > 0 {
		list = append(list, c.differences())
	}
	if t := c.failed(); len(t.Rows) > 0 {
		list = append(list, t)
	}
	return list
}

// parts are the parts of all measures, the cluster's last.
func (c *Comparison) parts() []string {
	var list []string
	for _, p := range c.Policies {
		for _, e := range p.Estimates {
			if e.Part != ofCluster && !slices.Contains(list, e.Part) {
				list = append(list, e.Part)
			}
		}
	}
	return append(list, ofCluster)
}

// table has the measures of a part in rows and the policies in columns.
func (c *Comparison) table(part string) table {
	t := table{Title: part, Head: []string{""}}
	var order []Measure
	for _, p := range c.Policies {
		t.Head = append(t.Head, p.Name)
		for _, e := range p.Estimates {
			if e.Part == part && !slices.Contains(order, e.Measure) {
				order = append(order, e.Measure)
			}
		}
	}
	for _, m := range order {
		row := []string{m.title()}
		for _, p := range c.Policies {
			row = append(row, shown(estimate(p.Estimates, m)))
		}
		if !nothing(c.Policies, m) {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// nothing reports whether a measure is 0 or missing under all policies. Such rows are left out.
func nothing(policies []Policy, m Measure) bool {
	return !slices.ContainsFunc(policies, func(p Policy) bool {
		e := estimate(p.Estimates, m)
		return e != nil && (e.Mean != 0 || e.Half != 0)
	})
}

// byColumns are tables with a column for each policy, one for each part that has rows.
func (c *Comparison) byColumns() (list []table) {
	for _, part := range c.parts() {
		if t := c.table(part); len(t.Rows) > 0 {
			list = append(list, t)
		}
	}
	return list
}

// byRows has the headlines of each policy in a row.
func (c *Comparison) byRows() table {
	t := table{Title: "policies and values", Head: []string{""}}
	for _, m := range headlines {
		t.Head = append(t.Head, m.title())
	}
	for _, p := range c.Policies {
		row := []string{p.Name}
		for _, m := range headlines {
			row = append(row, shown(estimate(p.Estimates, m)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// differences has pairs of policies in rows.
func (c *Comparison) differences() table {
	t := table{
		Title: "differences between policies over the same seeds", Head: []string{"", "seeds"},
		Note: "What is below 0 is less under the first of the two. An interval that holds 0 proves no difference.",
	}
	for _, m := range headlines {
		t.Head = append(t.Head, m.title())
	}
	for _, d := range c.Differences {
		row := []string{d.Policy + " − " + d.Less, strconv.Itoa(d.Seeds)}
		for _, m := range headlines {
			row = append(row, shown(estimate(d.Estimates, m)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// failed names the jobs that failed.
func (c *Comparison) failed() table {
	t := table{Title: "jobs that did not succeed", Head: []string{"policy", "seed", "job", "name", "state", "why"}}
	n := 0
	for _, p := range c.Policies {
		for _, r := range p.Runs {
			for _, j := range r.Summary.Failed {
				if n++; n <= failedShown {
					t.Rows = append(t.Rows, []string{p.Name, strconv.FormatUint(r.Seed, 10), j.ID, j.Name, j.State, j.Failure})
				}
			}
		}
	}
	if n > failedShown {
		t.Note = fmt.Sprintf("%d more are named in the JSON.", n-failedShown)
	}
	return t
}

// about describes the comparison.
func (c *Comparison) about() string {
	var names, seeds []string
	jobs := map[int]bool{}
	most := 0
	for _, p := range c.Policies {
		for _, r := range p.Runs {
			if n := r.Workload; n != "" && !slices.Contains(names, n) {
				names = append(names, n)
			}
			if s := strconv.FormatUint(r.Seed, 10); !slices.Contains(seeds, s) {
				seeds = append(seeds, s)
			}
			jobs[len(r.Jobs)] = true
			most = max(most, len(r.Jobs))
		}
	}
	text := "workload"
	if len(names) > 0 {
		text += " " + strings.Join(names, ", ")
	}
	if len(jobs) > 1 {
		text += ": up to"
	} else {
		text += ":"
	}
	text += fmt.Sprintf(" %d jobs; ", most)
	if len(seeds) == 1 {
		return text + "seed " + seeds[0]
	}
	which := "seeds " + strings.Join(seeds, ", ")
	if len(seeds) > seedsShown {
		which = fmt.Sprint(len(seeds), " seeds")
	}
	return text + which + "; means ± half of their 95 % confidence intervals"
}

func (m Measure) title() string {
	switch m.Unit {
	case "":
		return m.Name
	case Share:
		return m.Name + " (%)"
	}
	return m.Name + " (" + m.Unit + ")"
}

// shown is an estimate for people, with about four digits.
func shown(e *Estimate) string {
	if e == nil {
		return "–"
	}
	mean, half := e.Mean, e.Half
	if e.Unit == Share {
		mean, half = 100*mean, 100*half
	}
	if e.Count < 2 {
		return short(mean, mean)
	}
	return short(mean, mean) + " ± " + short(half, mean)
}

// short writes a number with as many decimals as like needs for about four digits.
func short(x, like float64) string {
	places := 0
	if like != math.Trunc(like) || x != math.Trunc(x) {
		places = max(0, 3-int(math.Floor(math.Log10(max(math.Abs(like), 0.1)))))
		places = min(places, 3)
	}
	text := strconv.FormatFloat(x, 'f', places, 64)
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-")
	}
	return strings.Replace(text, "-", "−", 1)
}
