package virtual

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/report/drawing"
	"github.com/hamadryad/hamadryad/laboratory/traces"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// Sizes are the numbers of launchers that FB2009 is played on.
func Sizes() []int { return []int{10, 20, 30, 60, Launchers} }

// fb2009 plays FB2009 under fair and HFSP on clusters of several sizes: figure 5, and, on the published one, figure 3.
func fb2009(ctx context.Context, l *Lab, t *table) error {
	all, err := l.sizes(ctx, startLate)
	if err != nil {
		return err
	}
	t.figure5(l.Sizes, all)
	return l.figures3And5(t, all, startLate)
}

// fb2009Early is the same with readers that start early, of which no figure follows.
func fb2009Early(ctx context.Context, l *Lab, t *table) error {
	all, err := l.sizes(ctx, startEarly)
	if err != nil {
		return err
	}
	for i, launchers := range l.Sizes {
		fair, hfsp := all[i].means()
		t.show(fmt.Sprintf("HFSP fig. 5 with slow-start %g, on %d launchers: FAIR/HFSP", startEarly, launchers), "gap grows as launchers get scarce", "%.2f (%.1f s against %.1f s)", fair/hfsp, fair, hfsp)
	}
	return l.figures3And5(t, all, startEarly)
}

// sizes plays FB2009 under both on clusters of the lab's sizes.
func (l *Lab) sizes(ctx context.Context, slowStart float64) ([]pair, error) {
	w, err := l.fb2009Jobs()
	if err != nil {
		return nil, err
	}
	var on []*cluster.Cluster
	for _, launchers := range l.Sizes {
		on = append(on, hfspCluster(launchers, slowStart))
	}
	return l.pairs(ctx, w, on...)
}

// fb2009Jobs are FB2009's, or the first of them.
func (l *Lab) fb2009Jobs() (*workload.Workload, error) {
	w, err := traces.Read(traces.FB2009)
	if err != nil {
		return nil, err
	}
	w.Jobs = w.Jobs[:min(len(w.Jobs), l.Jobs)]
	return w, nil
}

// figure5 holds the mean sojourn times on clusters of some sizes against each other.
func (t *table) figure5(sizes []int, all []pair) {
	var ratios []float64
	for i, launchers := range sizes {
		ratio := all[i].ratio()
		ratios = append(ratios, ratio)
		expected, holds := "at least 1", ratio >= 1
		switch launchers {
		case 10:
			expected, holds = "about 1.8", ratio > 1.6 && ratio < 2
		case Launchers:
			expected, holds = "about 1.1", ratio >= 1 && ratio < 1.25
		}
		fair, hfsp := all[i].means()
		t.that(holds, fmt.Sprintf("HFSP fig. 5, FB2009 on %d launchers: FAIR/HFSP, mean sojourn", launchers), "gap grows as launchers get scarce", expected,
			"%.2f (%.1f s against %.1f s)", ratio, fair, hfsp)
	}
	t.that(slices.IsSortedFunc(ratios, func(a, b float64) int { return int(100*b) - int(100*a) }), "HFSP fig. 5: the gap over the sizes", "grows", "grows", "%.2f", ratios)
}

// figures3And5 draws mean sojourn times over the sizes, and those of each class on the published one, of which it prints the medians.
func (l *Lab) figures3And5(t *table, all []pair, slowStart float64) error {
	at := fmt.Sprintf("slow-start %g", slowStart)
	file := fmt.Sprintf("-start-%g", slowStart)
	fair, hfsp := drawing.Points{Name: "FAIR"}, drawing.Points{Name: "HFSP"}
	for i, launchers := range l.Sizes {
		f, h := all[i].means()
		fair.At = append(fair.At, drawing.Point{X: float64(launchers), Y: f})
		hfsp.At = append(hfsp.At, drawing.Point{X: float64(launchers), Y: h})
	}
	lines := drawing.Lines{Title: "HFSP, figure 5: FB2009 on clusters of several sizes, " + at, X: "launchers", Y: "mean sojourn time (s)", Lines: []drawing.Points{fair, hfsp}}
	if err := l.draw("hfsp-figure5"+file, lines.SVG()); err != nil {
		return err
	}
	i := slices.Index(l.Sizes, Launchers)
	if i < 0 {
		return nil
	}
	for _, class := range classesOf2009 {
		fair, hfsp := sojourns(all[i].workload, all[i].fair, class), sojourns(all[i].workload, all[i].hfsp, class)
		published := "much shorter"
		if class == "small" {
			published = "slightly better"
		}
		t.show("HFSP fig. 3, FB2009, "+class+", "+at+": median sojourn, FAIR and HFSP", published, "%.1f s, %.1f s", median(fair).Seconds(), median(hfsp).Seconds())
		d := drawing.Distributions{
			Title: "HFSP, figure 3: FB2009, " + class + " jobs, " + at, X: "sojourn time (s)",
			Samples: []drawing.Sample{sample("FAIR", fair, time.Second), sample("HFSP", hfsp, time.Second)},
		}
		if err := l.draw("hfsp-figure3-"+class+file, d.SVG()); err != nil {
			return err
		}
	}
	return nil
}
