package virtual

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/traces"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// hfspLaunchers is the published cluster's size; section 4.1.
const hfspLaunchers = 100

// Sizes are the numbers of launchers that FB2009 is played on.
func Sizes() []int { return []int{10, 20, 30, 60, hfspLaunchers} }

// hfspCluster is the published one, of another size and slow-start: four slots for maps and two for
// reduces on each launcher, three replicas, and heartbeats of three seconds, as Hadoop had them then.
func hfspCluster(launchers int, slowStart float64) *cluster.Cluster {
	c := cluster.Default(launchers, map[string]int{"map": 4, "reduce": 2})
	c.Replicas, c.Model.Heartbeat, c.Model.SlowStart = 3, 3*time.Second, slowStart
	return c
}

// workloads counts the jobs of both workloads by the cells of table 1.
func workloads(_ context.Context, _ *Lab, t *table) error {
	small, err := traces.Read(traces.FB2009)
	if err != nil {
		return err
	}
	classes := map[string]int{}
	for i := range small.Jobs {
		classes[small.Jobs[i].Class]++
	}
	got := fmt.Sprintf("%d/%d/%d", classes["small"], classes["medium"], classes["big"])
	t.that(got == "53/41/6", "HFSP table 1, FB2009: small/medium/big", "53/41/6 %", "53/41/6", "%s", got)
	large, err := traces.Read(traces.FB2010)
	if err != nil {
		return err
	}
	var cells [6]int
	for i := range large.Jobs {
		cells[cellOf(&large.Jobs[i])]++
	}
	got = strings.Trim(strings.ReplaceAll(fmt.Sprint(cells), " ", "/"), "[]")
	t.that(got == "39/16/11/10/7/10", "HFSP table 1, FB2010: jobs of each cell", "39/16/11/10/7/10", "the same", "%s", got)
	return nil
}

// cellOf is the row of FB10 in table 1 that a job is counted in.
func cellOf(j *workload.Job) int {
	maps, reduces := len(j.Stages[0].Tasks), 0
	if len(j.Stages) > 1 {
		reduces = len(j.Stages[1].Tasks)
	}
	switch {
	case maps > 2500:
		return 5
	case maps > 1500 && reduces > 100:
		return 4
	case maps > 1500:
		return 3
	case reduces > 100:
		return 2
	case reduces > 10:
		return 1
	}
	return 0
}

// fb2009 plays FB2009 under fair and HFSP on clusters of several sizes.
func fb2009(ctx context.Context, l *Lab, t *table) error {
	w, err := traces.Read(traces.FB2009)
	if err != nil {
		return err
	}
	var ratios []float64
	for _, launchers := range l.Sizes {
		fair, hfsp, err := l.fairAndHFSP(ctx, w, hfspCluster(launchers, 1))
		if err != nil {
			return err
		}
		ratio := meanSojourn(w, fair, "").Seconds() / meanSojourn(w, hfsp, "").Seconds()
		ratios = append(ratios, ratio)
		expected, holds := "at least 1", ratio >= 1
		switch launchers {
		case 10:
			expected, holds = "about 1.8", ratio > 1.6 && ratio < 2
		case hfspLaunchers:
			expected, holds = "about 1.1", ratio >= 1 && ratio < 1.25
			t.classes(w, fair, hfsp)
		}
		t.that(holds, fmt.Sprintf("HFSP fig. 5, FB2009 on %d launchers: FAIR/HFSP, mean sojourn", launchers), "gap grows as launchers get scarce", expected,
			"%.2f (%.1f s against %.1f s)", ratio, meanSojourn(w, fair, "").Seconds(), meanSojourn(w, hfsp, "").Seconds())
	}
	t.that(slices.IsSortedFunc(ratios, func(a, b float64) int { return int(100*b) - int(100*a) }), "HFSP fig. 5: the gap over the sizes", "grows", "grows", "%.2f", ratios)
	return nil
}

// classes are the medians by class that figure 3 draws.
func (t *table) classes(w *workload.Workload, fair, hfsp *simulation.Result) {
	for _, class := range []string{"small", "medium", "big"} {
		f, h := median(sojourns(w, fair, class)), median(sojourns(w, hfsp, class))
		published := "much shorter"
		if class == "small" {
			published = "slightly better"
		}
		t.show("HFSP fig. 3, FB2009, "+class+": median sojourn, FAIR and HFSP", published, "%.1f s, %.1f s", f.Seconds(), h.Seconds())
	}
}

// Work waits so long for its input's machine, and then for its rack, under both policies.
const (
	fairDelays = "locality: {node-delay: 15s, rack-delay: 15s}\n"
	hfspDelays = "locality: time\nnode-delay: 15s\nrack-delay: 15s\n"
)

// local plays FB2009 with delays of 15 s, and says how much was local.
func local(ctx context.Context, l *Lab, t *table) error {
	w, err := traces.Read(traces.FB2009)
	if err != nil {
		return err
	}
	for _, p := range []struct {
		name, settings, published, expected string
		least                               float64
	}{
		{"fair", fairDelays, "98 %", "98 % or more", 98},
		{"hfsp", hfspDelays, "100 %", "99.9 % or more", 99.9},
	} {
		r, err := l.play(ctx, p.name, p.settings, w, hfspCluster(hfspLaunchers, 1))
		if err != nil {
			return err
		}
		t.that(nodeLocal(r) >= p.least, "HFSP locality, FB2009, "+p.name+" with delays of 15 s", p.published, p.expected, "%.2f %%", nodeLocal(r))
	}
	return nil
}

func sojourns(w *workload.Workload, r *simulation.Result, class string) (list []time.Duration) {
	for i := range r.Jobs {
		if w.Jobs[i].Class == class {
			list = append(list, r.Jobs[i].Sojourn())
		}
	}
	return list
}

func (l *Lab) fairAndHFSP(ctx context.Context, w *workload.Workload, on *cluster.Cluster) (fair, hfsp *simulation.Result, err error) {
	if fair, err = l.play(ctx, "fair", "", w, on); err != nil {
		return nil, nil, err
	}
	hfsp, err = l.play(ctx, "hfsp", "", w, on)
	return fair, hfsp, err
}

// fifoAgainstHFSP prints where HFSP is several times faster than FIFO. No figure was shown of it.
func fifoAgainstHFSP(ctx context.Context, l *Lab, t *table) error {
	w, err := traces.Read(traces.FB2009)
	if err != nil {
		return err
	}
	on := hfspCluster(hfspLaunchers, 0.05)
	fifo, err := l.play(ctx, "fifo", "", w, on)
	if err != nil {
		return err
	}
	hfsp, err := l.play(ctx, "hfsp", "", w, on)
	if err != nil {
		return err
	}
	for _, class := range []string{"small", "medium", "big"} {
		f, h := meanSojourn(w, fifo, class), meanSojourn(w, hfsp, class)
		t.show("FIFO against HFSP, FB2009, "+class+" jobs: mean sojourn", "5 to 10 times, of all jobs", "%.1f times (%.1f s against %.1f s)", f.Seconds()/h.Seconds(), f.Seconds(), h.Seconds())
	}
	return nil
}

// fb2010 plays FB2010 under fair and HFSP.
func fb2010(ctx context.Context, l *Lab, t *table) error {
	w, err := traces.Read(traces.FB2010)
	if err != nil {
		return err
	}
	fair, hfsp, err := l.fairAndHFSP(ctx, w, hfspCluster(hfspLaunchers, 0.05))
	if err != nil {
		return err
	}
	const what = "HFSP fig. 4, FB2010, "
	f, h := endedBy(fair, time.Hour), endedBy(hfsp, time.Hour)
	t.that(h >= 19, what+"HFSP: jobs ended after 60 min", "over 20 %", "19 or more", "%d of %d", h, len(w.Jobs))
	t.that(f <= 4, what+"FAIR: jobs ended after 60 min", "1", "4 or fewer", "%d of %d", f, len(w.Jobs))
	at := whenEnded(hfsp, (8*len(w.Jobs)+9)/10)
	part := 100 * float64(endedBy(fair, at)) / float64(len(w.Jobs))
	t.that(part >= 10 && part <= 20, what+"FAIR: jobs ended when HFSP has 80 %", "about 15 %", "10 to 20 %", "%.1f %% (after %.0f min)", part, at.Minutes())
	fairMap, hfspMap := median(phases(fair, 0)), median(phases(hfsp, 0))
	t.that(fairMap > 2*hfspMap, what+"median map phase, FAIR/HFSP", "more than halved", "over 2", "%.2f (%.0f min against %.0f min)", fairMap.Minutes()/hfspMap.Minutes(), fairMap.Minutes(), hfspMap.Minutes())
	fairReduce, hfspReduce := median(phases(fair, 1)), median(phases(hfsp, 1))
	t.show(what+"median reduce phase, FAIR less HFSP", "about 30 min", "%.0f min (%.0f against %.0f)", (fairReduce - hfspReduce).Minutes(), fairReduce.Minutes(), hfspReduce.Minutes())
	suspended, attempts, jobs := suspensions(hfsp)
	t.that(10*suspended <= attempts, what+"HFSP: tasks that were suspended", "at most 10 %", "under 10 %", "%.2f %% (%d of %d), in %d jobs (published: 10)", 100*float64(suspended)/float64(attempts), suspended, attempts, jobs)
	ratio := meanSojourn(w, fair, "").Seconds() / meanSojourn(w, hfsp, "").Seconds()
	t.show("HFSP fig. 5 on FB2010: FAIR/HFSP, mean sojourn", "a larger gap than FB2009's", "%.2f (%.0f min against %.0f min)", ratio, meanSojourn(w, fair, "").Minutes(), meanSojourn(w, hfsp, "").Minutes())
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

// suspensions counts attempts that were suspended, all attempts, and the jobs of the former.
func suspensions(r *simulation.Result) (suspended, attempts, jobs int) {
	for i := range r.Jobs {
		before := suspended
		for _, s := range r.Jobs[i].Stages {
			suspended += s.Suspended
			attempts += s.Attempts
		}
		if suspended > before {
			jobs++
		}
	}
	return suspended, attempts, jobs
}
