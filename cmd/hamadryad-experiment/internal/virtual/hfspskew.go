package virtual

import (
	"context"
	"fmt"

	"github.com/hamadryad/hamadryad/laboratory/workload/synthetic"
)

// launchersOfSkew is a cluster on which the workload's jobs are in each other's way.
const launchersOfSkew = 20

// skewed plays a workload whose tasks are of very unequal length, which the paper leaves to future work (sections 5 and 7), and
// beside it the same one with tasks of even length: what a job's tasks take together is alike.
func skewed(ctx context.Context, l *Lab, t *table) error {
	for _, s := range []struct {
		what         string
		map1, reduce synthetic.Skew
	}{
		{"even tasks", synthetic.Skew{}, synthetic.Skew{}},
		{"skewed tasks", synthetic.Skew{Kind: "lognormal", Sigma: 1.5}, synthetic.Skew{Kind: "zipf", Exponent: 1}},
	} {
		spec := synthetic.Default()
		spec.Jobs = l.Jobs
		for i := range spec.Classes {
			spec.Classes[i].MapSkew, spec.Classes[i].ReduceSkew = s.map1, s.reduce
		}
		w, err := spec.Generate()
		if err != nil {
			return err
		}
		both, err := l.pairs(ctx, w, hfspCluster(launchersOfSkew, startEarly))
		if err != nil {
			return err
		}
		for _, class := range []string{"", "small", "medium", "large"} {
			of := class
			if class == "" {
				of = "all"
			}
			fair, hfsp := meanSojourn(w, both[0].fair, class).Seconds(), meanSojourn(w, both[0].hfsp, class).Seconds()
			t.measure(fmt.Sprintf("HFSP future work, %s, %s jobs: mean sojourn, FAIR/HFSP", s.what, of), "%.2f (%.1f s against %.1f s)", fair/hfsp, fair, hfsp)
		}
	}
	return nil
}
