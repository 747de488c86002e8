package virtual

import (
	"context"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/laboratory/report/drawing"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// Seeds is how often figure 6 is made with each error, as published.
const Seeds = 20

// Jobs is how many both workloads have, FB2009 and that of skewed tasks.
const Jobs = 100

// Errors are the parts of themselves by which estimates are wrong at most, α of figure 6.
func Errors() []float64 { return []float64{0.1, 0.3, 0.5, 0.7, 0.9, 1} }

// errorful is one error with the mean sojourn times that came of it, in seconds, by seed.
type errorful struct {
	alpha float64
	means []float64
}

func (e *errorful) mean() float64 {
	sum := 0.0
	for _, m := range e.means {
		sum += m
	}
	return sum / float64(max(len(e.means), 1))
}

// robustness plays figure 6: FB2009 without its reduces, with estimates that are wrong on purpose.
func robustness(ctx context.Context, l *Lab, t *table) error {
	w, err := l.fb2009Jobs()
	if err != nil {
		return err
	}
	mapsOnly(w)
	on := hfspCluster(l.Launchers, startLate)
	games := []game{{policy: "fair", workload: w, on: on}, {policy: "hfsp", workload: w, on: on}}
	for _, alpha := range l.Errors {
		for seed := range l.Seeds {
			games = append(games, game{policy: "hfsp", settings: fmt.Sprintf("estimate-error: %g\nestimate-seed: %d\n", alpha, seed+1), workload: w, on: on})
		}
	}
	results, err := l.plays(ctx, games...)
	if err != nil {
		return err
	}
	mean := func(r *simulation.Result) float64 { return meanSojourn(w, r, "").Seconds() }
	fair, right := mean(results[0]), mean(results[1])
	var all []errorful
	for i, alpha := range l.Errors {
		e := errorful{alpha: alpha}
		for _, r := range results[2+i*l.Seeds:][:l.Seeds] {
			e.means = append(e.means, mean(r))
		}
		all = append(all, e)
	}
	t.figure6(fair, right, all)
	return l.drawFigure6(fair, right, all)
}

// mapsOnly leaves the first stage of each job.
func mapsOnly(w *workload.Workload) {
	for i := range w.Jobs {
		w.Jobs[i].Stages = w.Jobs[i].Stages[:1]
	}
}

// slightly is by how much a time is longer at most that is slightly affected: the figure says no number.
const slightly = 1.1

func (t *table) figure6(fair, right float64, all []errorful) {
	for i := range all {
		e := &all[i]
		mean := e.mean()
		what := fmt.Sprintf("HFSP fig. 6, map-only FB2009, estimates wrong by up to %.0f %%, %d seeds: mean sojourn", 100*e.alpha, len(e.means))
		got := fmt.Sprintf("%.1f s, %.1f to %.1f; %+.1f %% (without errors %.1f s, FAIR %.1f s)", mean, slices.Min(e.means), slices.Max(e.means), 100*(mean/right-1), right, fair)
		r := t.claim(mean < slightly*right, what, "slightly affected", "%s", got)
		switch e.alpha {
		case 0.7:
			r.expect(mean < slightly*right, "under 10 % worse")
		case 1:
			r.expect(mean < fair, "below FAIR")
		}
	}
}

func (l *Lab) drawFigure6(fair, right float64, all []errorful) error {
	level := func(name string, y float64) drawing.Points {
		return drawing.Points{Name: name, At: []drawing.Point{{X: 0, Y: y}, {X: 1, Y: y}}}
	}
	wrong := drawing.Points{Name: "HFSP, wrong estimates"}
	for i := range all {
		wrong.At = append(wrong.At, drawing.Point{X: all[i].alpha, Y: all[i].mean()})
	}
	d := drawing.Lines{
		Title: "HFSP, figure 6: FB2009 without reduces, estimates that are wrong", X: "estimates are wrong by this part of them at most", Y: "mean sojourn time (s)",
		Lines: []drawing.Points{level("FAIR", fair), level("HFSP, right estimates", right), wrong},
	}
	return l.draw("hfsp-figure6", d.SVG())
}
