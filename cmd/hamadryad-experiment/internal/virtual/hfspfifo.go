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
	both, err := l.plays(ctx, game{policy: "fifo", workload: w, on: on}, game{policy: "hfsp", workload: w, on: on})
	if err != nil {
		return err
	}
	for _, class := range append([]string{""}, classesOf2009...) {
		f, h := meanSojourn(w, both[0], class).Seconds(), meanSojourn(w, both[1], class).Seconds()
		what := "all"
		if class != "" {
			what = class
		}
		t.show("FIFO against HFSP, FB2009, "+what+" jobs: mean sojourn", "5 to 10 times, of all jobs", "%.1f times (%.1f s against %.1f s)", f/h, f, h)
	}
	return nil
}
