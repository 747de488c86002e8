package virtual

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/report/drawing"
	"github.com/hamadryad/hamadryad/laboratory/traces"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// Sizes are the numbers of launchers that FB2009 is played on.
func Sizes() []int { return []int{10, 20, 30, 60, Launchers} }

// Placements is how often FB2009 is played for figure 3, each time with its blocks elsewhere.
const Placements = 8

// fb2009 plays FB2009 under fair and HFSP on clusters of several sizes: figure 5, and, on the published one, figure 3.
func fb2009(ctx context.Context, l *Lab, t *table) error {
	all, err := l.sizes(ctx, startLate)
	if err != nil {
		return err
	}
	t.figure5(l.Sizes, all)
	return l.figures3And5(ctx, t, all, startLate)
}

// fb2009Early is the same with readers that start early, of which no figure follows.
func fb2009Early(ctx context.Context, l *Lab, t *table) error {
	all, err := l.sizes(ctx, startEarly)
	if err != nil {
		return err
	}
	var ratios []float64
	for i, launchers := range l.Sizes {
		fair, hfsp := all[i].means()
		ratios = append(ratios, fair/hfsp)
		t.measure(fmt.Sprintf("HFSP fig. 5 with slow-start %g, on %d launchers: FAIR/HFSP", startEarly, launchers), "%.2f (%.1f s against %.1f s)", fair/hfsp, fair, hfsp)
	}
	t.claim(grow(ratios), fmt.Sprintf("HFSP fig. 5 with slow-start %g: the gap over the sizes", startEarly), "grows as launchers get scarce", "%.2f", ratios)
	return l.figures3And5(ctx, t, all, startEarly)
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

// muchShorter is the part of a time at which another one is much shorter: the figure says no
// number.
const muchShorter = 0.8

// figure5 holds the mean sojourn times on clusters of some sizes against each other.
func (t *table) figure5(sizes []int, all []pair) {
	var ratios []float64
	for i, launchers := range sizes {
		ratio := all[i].ratio()
		ratios = append(ratios, ratio)
		expected, near := "at least 1", ratio >= 1
		switch launchers {
		case 10:
			expected, near = "about 1.8", ratio > 1.6 && ratio < 2
		case Launchers:
			expected, near = "about 1.1", ratio >= 1 && ratio < 1.25
		}
		fair, hfsp := all[i].means()
		t.claim(ratio > 1, fmt.Sprintf("HFSP fig. 5, FB2009 on %d launchers: FAIR/HFSP, mean sojourn", launchers), "over 1", "%.2f (%.1f s against %.1f s)", ratio, fair, hfsp).
			expect(near, expected)
	}
	t.claim(grow(ratios), "HFSP fig. 5: the gap over the sizes", "grows as launchers get scarce", "%.2f", ratios).must()
}

// grow says whether ratios are larger the fewer launchers there are. They are in order of
// launchers, and read to a hundredth.
func grow(ratios []float64) bool {
	return slices.IsSortedFunc(ratios, func(a, b float64) int { return int(100*b) - int(100*a) })
}

// figures3And5 draws mean sojourn times over the sizes, and those of each class on the published
// one, of which it prints the medians. Where a job's blocks lie decides how small jobs fare, so
// that they are means over several placements.
func (l *Lab) figures3And5(ctx context.Context, t *table, all []pair, slowStart float64) error {
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
	placed, err := l.placements(ctx, all[i].workload, slowStart)
	if err != nil {
		return err
	}
	for _, class := range classesOf2009 {
		t.figure3(class, at, placed)
		fair, hfsp := sojourns(all[i].workload, all[i].fair, class), sojourns(all[i].workload, all[i].hfsp, class)
		d := drawing.Distributions{
			Title: "HFSP, figure 3: FB2009, " + class + " jobs, " + at, X: "sojourn time (s)",
			Samples: []drawing.Sample{sample("FAIR", fair, time.Second), sample("HFSP", hfsp, time.Second)},
		}
		if err := l.draw("hfsp-figure3-"+class+file, d.SVG()); err != nil {
			return err
		}
	}
	var f, h float64
	for i := range placed {
		f, h = f+nodeLocal(placed[i].fair)/float64(len(placed)), h+nodeLocal(placed[i].hfsp)/float64(len(placed))
	}
	t.claim(math.Round(f) == 98, "HFSP locality, FB2009, "+at+", FAIR with its defaults", "98 %", "%.2f %%", f)
	t.claim(math.Round(h) == 100 && h > f, "HFSP locality, FB2009, "+at+", HFSP with its defaults", "100 %, more than FAIR", "%.2f %%", h).must()
	return nil
}

// placements plays a workload on the published cluster, each time with its blocks elsewhere.
func (l *Lab) placements(ctx context.Context, w *workload.Workload, slowStart float64) ([]pair, error) {
	var on []*cluster.Cluster
	for seed := range l.Placements {
		c := hfspCluster(Launchers, slowStart)
		c.Seed = uint64(seed) + 1 //nolint:gosec // it is not negative
		on = append(on, c)
	}
	return l.pairs(ctx, w, on...)
}

// figure3 holds the medians of a class against each other.
func (t *table) figure3(class, at string, placed []pair) {
	var f, h float64
	for i := range placed {
		p, n := &placed[i], float64(len(placed))
		f += median(sojourns(p.workload, p.fair, class)).Seconds() / n
		h += median(sojourns(p.workload, p.hfsp, class)).Seconds() / n
	}
	published, shown := "much shorter under HFSP", h <= muchShorter*f
	if class == "small" {
		published, shown = "slightly better under HFSP", h < f
	}
	r := t.claim(shown, fmt.Sprintf("HFSP fig. 3, FB2009, %s, %s: median sojourn, FAIR and HFSP, %d placements of blocks", class, at, len(placed)), published, "%.1f s, %.1f s", f, h)
	if class == "small" {
		r.because("both wait for a slot near the one or two blocks that such a job reads").expect(h <= slightly*f, "at most a tenth worse")
		return
	}
	r.must()
}
