// Package virtual makes published figures anew in virtual time, with the policies' own
// programs, and holds what comes out against what was published.
package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// experiments are made in virtual time, with the plug-ins' own programs.
var experiments = []struct {
	name, about string
	run         func(context.Context, *Lab, *table) error
}{
	{"hammr-figure5", "Hammr, figure 5: three pools of weights 1, 2 and 3 share six slots", figure5},
	{"hammr-table1", "Hammr, table 1: local maps with and without placement", table1},
	{"disco", "Disco, section 4: a production job beside a research job, with and without preemption", disco},
	{"dynamic-share", "Dynamic priority: what a bid gets of all", dynamicShare},
	{"single-server", "Exact disciplines on a single server, which HFSP follows", exact},
	{"hfsp-order", "HFSP, figures 1 and 2: in which order three jobs end", order},
	{"hfsp-workloads", "HFSP, table 1: the jobs of both workloads", workloads},
	{"hfsp-fb2009", "HFSP, figures 3 and 5: FB2009 on 10 to 100 launchers", fb2009},
	{"hfsp-fb2009-early", "the same with reduces that start when 5 % of the maps have ended", fb2009Early},
	{"hfsp-locality", "HFSP, section 4.3: what part of FB2009's maps is local", local},
	{"hfsp-fifo", "HFSP, section 4.2: FIFO against HFSP on FB2009", fifoAgainstHFSP},
	{"hfsp-errors", "HFSP, figure 6: FB2009 without reduces, estimates that are wrong", robustness},
	{"hfsp-preemption", "HFSP, figure 7: a large job gives way to four small ones", preemption},
	{"hfsp-swapping", "HFSP, figure 8: what suspending and resuming takes", swapping},
	{"hfsp-skew", "HFSP, future work: tasks of very unequal length", skewed},
	{"hfsp-fb2010", "HFSP, figure 4: FB2010 on 100 launchers", fb2010},
}

// Lab is where they are made.
type Lab struct {
	Bin      string    // folder of the policies' programs
	Out      string    // folder of drawings
	Log      io.Writer // for people
	Progress io.Writer // how far plays are, for those who wait; nil: is not said
	Runs     int       // of Hammr's table 1
	Sizes    []int     // numbers of launchers that FB2009 is played on
	// Placements is how often figure 3 is made, each time with the input elsewhere.
	Placements int
	Errors     []float64 // of HFSP's estimates, in figure 6
	Seeds      int       // of each of these errors
	Launchers  int       // that figure 6 is played on
	Jobs       int       // of FB2009 in figures 3, 5 and 6, and of the skewed workload: the first so many
}

// Names lists the experiments, and what each is about.
func Names() (names, about []string) {
	for _, e := range experiments {
		names, about = append(names, e.name), append(about, e.about)
	}
	return names, about
}

// Run makes the experiments named, or all, and prints one table. The error names what does
// not hold.
func (l *Lab) Run(ctx context.Context, names []string) error {
	for _, n := range names {
		known := false
		for _, e := range experiments {
			known = known || e.name == n
		}
		if !known {
			return fmt.Errorf("there is no virtual experiment %q: --help lists them", n)
		}
	}
	var t table
	for _, e := range experiments {
		if len(names) > 0 && !slices.Contains(names, e.name) {
			continue
		}
		fmt.Fprintf(l.Log, "%s ...\n", e.about)
		if err := e.run(ctx, l, &t); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", e.name, err), t.print(l.Log)) // what there is
		}
	}
	fmt.Fprintln(l.Log)
	return t.print(l.Log)
}

// meanSojourn is that of all jobs, or of those of a class.
func meanSojourn(w *workload.Workload, r *simulation.Result, class string) time.Duration {
	sum, n := time.Duration(0), 0
	for i := range r.Jobs {
		if class == "" || w.Jobs[i].Class == class {
			sum += r.Jobs[i].Sojourn()
			n++
		}
	}
	return sum / time.Duration(max(n, 1))
}

// median of durations; 0 of none.
func median(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// nodeLocal is the part of finished maps whose input was on the machine, in percent.
func nodeLocal(r *simulation.Result) float64 {
	near, all := 0, 0
	for _, j := range r.Jobs {
		for _, s := range j.Stages {
			near += s.Near[scheduler.NodeLocal]
			for _, n := range s.Near {
				all += n
			}
		}
	}
	return 100 * float64(near) / float64(max(all, 1))
}
