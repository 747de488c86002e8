package virtual

import (
	"context"

	"github.com/hamadryad/hamadryad/laboratory/traces"
)

// fifoAgainstHFSP prints where HFSP is several times faster than FIFO. No figure was shown of it.
func fifoAgainstHFSP(ctx context.Context, l *Lab, t *table) error {
	w, err := traces.Read(traces.FB2009)
	if err != nil {
		return err
	}
	on := hfspCluster(Launchers, startEarly)
	all, err := l.plays(ctx, game{policy: "fifo", workload: w, on: on}, game{policy: "hfsp", workload: w, on: on},
		game{policy: "hfsp", settings: hfspAnywhere, workload: w, on: on})
	if err != nil {
		return err
	}
	mean := func(game int, class string) float64 { return meanSojourn(w, all[game], class).Seconds() }
	for _, class := range []string{"", "medium", "big"} {
		what := "all"
		if class != "" {
			what = class
		}
		f, h := mean(0, class), mean(1, class)
		what, format := "FIFO against HFSP, FB2009, "+what+" jobs: mean sojourn", "%.1f times (%.1f s against %.1f s)"
		if class != "" {
			t.measure(what, format, f/h, f, h)
			continue
		}
		t.claim(f/h >= 5 && f/h <= 10, what, "5 to 10 times", format, f/h, f, h).because("big jobs wait for nobody under FIFO, and most of the time is theirs")
	}
	// It holds where most of a job's time was waiting for others. Waiting for near input is a part of what is left to it under HFSP.
	f, h, anywhere := mean(0, "small"), mean(1, "small"), mean(2, "small")
	t.measure("FIFO against HFSP, FB2009, small jobs: mean sojourn", "%.1f times (%.1f s against %.1f s); without delay scheduling %.1f times", f/h, f, h, f/anywhere).
		expect(f/h > 5 && f/anywhere > 8 && f/anywhere < 12, "about 10 times")
	if w, err = traces.Read(traces.FB2010); err != nil {
		return err
	}
	if all, err = l.plays(ctx, game{policy: "fifo", workload: w, on: on}, game{policy: "hfsp", workload: w, on: on}); err != nil {
		return err
	}
	f, h = mean(0, ""), mean(1, "")
	t.claim(f/h >= 5 && f/h <= 10, "FIFO against HFSP, FB2010, all jobs: mean sojourn", "5 to 10 times", "%.1f times (%.0f min against %.0f min)", f/h, f/60, h/60).
		because("each of its jobs fills the cluster under both")
	return nil
}
