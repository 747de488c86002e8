// Package check holds the alert rules and the dashboard beside it against Prometheus' own
// parsers, and against the metrics that there are. It is a module of its own, because those
// parsers bring much that no program of ours needs.
package check

import (
	"encoding/json"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// metric is METRICS.md's description of a metric.
type metric struct {
	kind   string
	labels []string
}

var line = regexp.MustCompile("(?m)^\\| `([^`]*)` \\| ([^|]*) \\| ([^|]*) \\|")

// known are the metrics of METRICS.md, which other tests hold against real processes, and what
// Prometheus itself adds.
func known(t *testing.T) map[string]metric {
	t.Helper()
	text, err := os.ReadFile("../METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]metric{"up": {kind: "gauge"}}
	for _, m := range line.FindAllStringSubmatch(string(text), -1) {
		all[m[1]] = metric{m[2], strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' || r == ' ' })}
	}
	if len(all) < 50 {
		t.Fatalf("METRICS.md has only %d metrics: has its form changed?", len(all))
	}
	return all
}

// of finds the metric of a series: that of a histogram has several.
func of(all map[string]metric, series string) (metric, bool) {
	if m, ok := all[series]; ok {
		return m, m.kind != "histogram"
	}
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(series, part); ok && all[base].kind == "histogram" {
			m := all[base]
			if part == "_bucket" {
				m.labels = append(slices.Clone(m.labels), "le")
			}
			return m, true
		}
	}
	return metric{}, false
}

// check fails for an expression that Prometheus refuses, or that names a metric or label that
// nobody exports, or asks for the rate of what is no counter.
func check(t *testing.T, all map[string]metric, what, expression string) {
	t.Helper()
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		t.Errorf("%s: %s: %v", what, expression, err)
		return
	}
	named := 0
	parser.Inspect(e, func(n parser.Node, above []parser.Node) error {
		s, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		named++
		m, ok := of(all, s.Name)
		if !ok {
			t.Errorf("%s names %q, which METRICS.md has not", what, s.Name)
			return nil
		}
		for _, l := range s.LabelMatchers {
			if !slices.Contains(append([]string{labels.MetricName, "job", "instance"}, m.labels...), l.Name) {
				t.Errorf("%s asks for the label %q of %s, which has %v", what, l.Name, s.Name, m.labels)
			}
		}
		for _, a := range above {
			if c, ok := a.(*parser.Call); ok && (c.Func.Name == "rate" || c.Func.Name == "increase") && m.kind == "gauge" {
				t.Errorf("%s asks for the %s of %s, which is a gauge", what, c.Func.Name, s.Name)
			}
		}
		return nil
	})
	if named == 0 {
		t.Errorf("%s names no metric: %s", what, expression)
	}
}

func TestAlerts(t *testing.T) {
	groups, errs := rulefmt.ParseFile("../alerts.yaml", false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	all, names := known(t), map[string]bool{}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			if names[r.Alert] || r.Alert == "" {
				t.Errorf("two rules are called %q, or one has no name", r.Alert)
			}
			names[r.Alert] = true
			check(t, all, r.Alert, r.Expr)
			for _, a := range []string{"summary", "description"} {
				if r.Annotations[a] == "" {
					t.Errorf("%s has no %s", r.Alert, a)
				}
			}
			if s := r.Labels["severity"]; s != "warning" && s != "critical" {
				t.Errorf("%s has the severity %q", r.Alert, s)
			}
		}
	}
	if len(names) < 10 {
		t.Errorf("there are only %d rules", len(names))
	}
}

// onDashboard are metrics that the dashboard must show: who gets slots, who lacks them, and what waits.
var onDashboard = []string{
	"hamadryad_pool_slots_held", "hamadryad_pool_slots_share", "hamadryad_pool_slots_minimum", "hamadryad_pool_slots_demand",
	"hamadryad_pool_below_minimum_seconds", "hamadryad_pool_below_share_seconds", "hamadryad_jobs_waiting",
}

func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			ID          int
			Type, Title string
			Description string
			Targets     []struct{ Expr, LegendFormat string }
			GridPos     struct{ X, Y, W, H int }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	all, ids, shown := known(t), map[int]bool{}, 0
	for _, p := range d.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s: its id is another's, or it is beyond the right edge", p.Title)
		}
		ids[p.ID] = true
		if p.Type != "row" && (p.Description == "" || len(p.Targets) == 0) {
			t.Errorf("%s says nothing of itself, or shows nothing", p.Title)
		}
		for _, x := range p.Targets {
			shown++
			check(t, all, p.Title, strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(x.Expr))
		}
	}
	if shown < 30 {
		t.Errorf("only %d expressions are shown", shown)
	}
	for _, name := range onDashboard {
		if !regexp.MustCompile(`\b` + name + `\b`).Match(text) {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}
