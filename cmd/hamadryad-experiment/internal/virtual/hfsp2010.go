package virtual

import (
	"context"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/report/drawing"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/traces"
)

// fb2010 plays FB2010 under fair and HFSP: figure 4, and figure 5's gap.
func fb2010(ctx context.Context, l *Lab, t *table) error {
	w, err := traces.Read(traces.FB2010)
	if err != nil {
		return err
	}
	on := hfspCluster(Launchers, startEarly)
	both, err := l.pairs(ctx, w, on)
	if err != nil {
		return err
	}
	large := &both[0]
	t.figure4(large)
	if err := l.drawFigure4(large); err != nil {
		return err
	}
	if w, err = traces.Read(traces.FB2009); err != nil {
		return err
	}
	if both, err = l.pairs(ctx, w, on); err != nil {
		return err
	}
	small := &both[0]
	fair, hfsp := large.means()
	t.claim(large.ratio() > small.ratio(), "HFSP fig. 5 on FB2010: FAIR/HFSP, mean sojourn", "a larger gap than FB2009's",
		"%.2f (%.0f min against %.0f min); FB2009 on the same cluster %.2f", large.ratio(), fair/60, hfsp/60, small.ratio()).must()
	return nil
}

// figure4 holds both against what was published.
func (t *table) figure4(p *pair) {
	const what = "HFSP fig. 4, FB2010, "
	all := len(p.workload.Jobs)
	f, h := endedBy(p.fair, time.Hour), endedBy(p.hfsp, time.Hour)
	t.claim(5*h > all, what+"HFSP: jobs ended after 60 min", "over 20 %", "%d of %d", h, all).must()
	t.claim(f == 1, what+"FAIR: jobs ended after 60 min", "1", "%d of %d", f, all).expect(f <= 4, "4 or fewer")
	at := whenEnded(p.hfsp, (8*all+9)/10)
	part := 100 * float64(endedBy(p.fair, at)) / float64(all)
	t.claim(part >= 10 && part <= 20, what+"FAIR: jobs ended when HFSP has 80 %", "about 15 %", "%.1f %% (after %.0f min)", part, at.Minutes()).must()
	fairMap, hfspMap := median(phases(p.fair, 0)), median(phases(p.hfsp, 0))
	t.claim(fairMap > 2*hfspMap, what+"median map phase, FAIR/HFSP", "more than halved", "%.2f (%.0f min against %.0f min)", fairMap.Minutes()/hfspMap.Minutes(), fairMap.Minutes(), hfspMap.Minutes()).must()
	fairReduce, hfspReduce := median(phases(p.fair, 1)), median(phases(p.hfsp, 1))
	less := (fairReduce - hfspReduce).Minutes()
	t.claim(less >= 20 && less <= 40, what+"median reduce phase, FAIR less HFSP", "about 30 min", "%.0f min (%.0f against %.0f)", less, fairReduce.Minutes(), hfspReduce.Minutes()).
		because("fair starts reduces early, and they wait for maps where they run")
	fairRest, hfspRest := median(rests(p.fair)), median(rests(p.hfsp))
	t.measure(what+"median from the last map to the last reduce, FAIR less HFSP", "%.0f min (%.0f against %.0f)", (fairRest - hfspRest).Minutes(), fairRest.Minutes(), hfspRest.Minutes())
	suspended, reduces, attempts, jobs := suspensions(p.hfsp)
	t.claim(10*suspended <= attempts, what+"HFSP: tasks that were suspended", "at most 10 %", "%.2f %% (%d of %d; of the reduces %.1f %%)",
		100*float64(suspended)/float64(attempts), suspended, attempts, 100*float64(suspended)/float64(max(reduces, 1))).must()
	t.claim(jobs == 10, what+"HFSP: jobs of which tasks were suspended", "10", "%d", jobs).because("which jobs come when is not published, and these are ours")
}

// drawFigure4 draws how long both phases take, and whole jobs.
func (l *Lab) drawFigure4(p *pair) error {
	for _, of := range []struct {
		name, title string
		times       func(*simulation.Result) []time.Duration
	}{
		{"hfsp-figure4a", "map phase", func(r *simulation.Result) []time.Duration { return phases(r, 0) }},
		{"hfsp-figure4b", "reduce phase", func(r *simulation.Result) []time.Duration { return phases(r, 1) }},
		{"hfsp-figure4c", "whole jobs", func(r *simulation.Result) []time.Duration { return sojourns(p.workload, r, "") }},
	} {
		d := drawing.Distributions{
			Title: "HFSP, figure 4: FB2010, " + of.title, X: "time (min)",
			Samples: []drawing.Sample{sample("FAIR", of.times(p.fair), time.Minute), sample("HFSP", of.times(p.hfsp), time.Minute)},
		}
		if err := l.draw(of.name, d.SVG()); err != nil {
			return err
		}
	}
	return nil
}

// endedBy counts the jobs that ended by then.
func endedBy(r *simulation.Result, at time.Duration) (n int) {
	for i := range r.Jobs {
		if r.Jobs[i].Ended <= at {
			n++
		}
	}
	return n
}

// whenEnded is when so many jobs had ended.
func whenEnded(r *simulation.Result, n int) time.Duration {
	var ends []time.Duration
	for i := range r.Jobs {
		ends = append(ends, r.Jobs[i].Ended)
	}
	slices.Sort(ends)
	return ends[n-1]
}

// phases are how long jobs took from when their stage's first attempt began, or from their submission for the first stage, until its last one ended.
func phases(r *simulation.Result, stage int) (list []time.Duration) {
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if stage >= len(j.Stages) {
			continue
		}
		began := j.Stages[stage].Began
		if stage == 0 {
			began = j.Submitted
		}
		list = append(list, j.Stages[stage].Ended-began)
	}
	return list
}

// rests are how long jobs with reduces took from the end of their last map to that of their last reduce.
func rests(r *simulation.Result) (list []time.Duration) {
	for i := range r.Jobs {
		if j := &r.Jobs[i]; len(j.Stages) > 1 {
			list = append(list, j.Stages[1].Ended-j.Stages[0].Ended)
		}
	}
	return list
}

// suspensions counts attempts that were suspended, those of later stages than the first, all attempts, and the jobs of which some were suspended.
func suspensions(r *simulation.Result) (suspended, reduces, attempts, jobs int) {
	for i := range r.Jobs {
		before := suspended
		for k, s := range r.Jobs[i].Stages {
			suspended += s.Suspended
			attempts += s.Attempts
			if k > 0 {
				reduces += s.Attempts
			}
		}
		if suspended > before {
			jobs++
		}
	}
	return suspended, reduces, attempts, jobs
}
