package virtual

import (
	"context"
	"fmt"
	"math"

	"github.com/hamadryad/hamadryad/laboratory/queueing"
	"github.com/hamadryad/hamadryad/laboratory/traces"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// exact serves the first jobs of a trace on a single server by exact disciplines, of which policies are approximations,
// and the cases that HFSP's authors test their simulator with.
func exact(_ context.Context, _ *Lab, t *table) error {
	s := workload.DefaultSWIM()
	s.Block, s.ReduceBytes = 1<<50, 1<<50 // bytes are what is looked at, not tasks
	w, err := traces.SWIM(s)
	if err != nil {
		return err
	}
	visits := queueing.Visits(w, 50, 0.9)
	for _, d := range []struct {
		name       string
		discipline queueing.Discipline
		mean       float64
	}{
		{"FIFO", queueing.FIFO, 553.9013},
		{"PS", queueing.PS, 161.9531},
		{"SRPT", queueing.SRPT, 97.6889},
		{"FSP", queueing.FSP, 100.7452},
	} {
		mean := queueing.MeanSojourn(visits, queueing.Serve(d.discipline, visits))
		t.measure("Single server, FB-2009_0's first 50 jobs at load 0.9, "+d.name+": mean sojourn", "%.4f s", mean).
			expect(math.Abs(mean-d.mean) < 0.00005, fmt.Sprintf("%.4f s", d.mean))
	}
	return singleServer(t)
}

// singleServer counts the cases that hold.
func singleServer(t *table) error {
	all, err := queueing.Vectors()
	if err != nil {
		return err
	}
	wrong := ""
	for i := range all {
		if err := all[i].Check(); err != nil {
			wrong += "; " + err.Error()
		}
	}
	got := fmt.Sprintf("all %d hold", len(all))
	if wrong != "" {
		got = "not all" + wrong
	}
	t.measure("Single server, cases of HFSP's authors", "%s", got).expect(wrong == "", "all hold")
	return nil
}
