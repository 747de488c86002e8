package workloads

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/laboratory/workload/synthetic"
)

func generate(out io.Writer) *cobra.Command {
	spec, s := "", synthetic.Default()
	over := synthetic.Default()
	cmd := &cobra.Command{
		Use: "generate TO", Short: "Make a workload by lot", Args: cobra.ExactArgs(1),
		Long: `Draws a workload and writes it to TO; - is standard output. The same
specification and seed give the same bytes on any machine. Without --spec jobs are
like those of a production cluster: many small, some larger, few large ones.

A specification is YAML:
  jobs: 200
  seed: 1
  arrivals: {kind: bursty, gap: 10s, burst: 20, within: 500ms}   # or poisson, even
  users: {count: 30, skew: 1}       # Zipf: the k-th has 1/k as many jobs as the first
  pools: {count: 4}
  block: 134217728                  # bytes that a map reads
  classes:
  - name: joins
    share: 10                       # in proportion to other classes
    maps: {kind: zipf, min: 20, max: 2000, exponent: 1}
    mapSeconds: {kind: lognormal, median: 25, sigma: 0.4, min: 5, max: 300}
    reduces: {kind: even, min: 5, max: 50}          # kinds: fixed, even, lognormal, zipf
    reduceSeconds: {kind: fixed, value: 90}
    mapSkew: {kind: lognormal, sigma: 0.2}          # how unevenly work lies on tasks
    reduceSkew: {kind: zipf, exponent: 0.5}
    shuffle: 0.8                    # bytes shuffled and written for one of input
    output: 0.3`,
		Example: "  hamadryad workload generate --jobs 500 --gap 5s --arrivals bursty --seed 7 made.jsonl\n  hamadryad workload generate --spec mine.yaml - | hamadryad workload describe - --slots map=40,reduce=20",
		RunE: func(cmd *cobra.Command, args []string) error {
			if spec != "" {
				text, err := os.ReadFile(spec)
				if err != nil {
					return err
				}
				read, err := synthetic.Parse(spec, text)
				if err != nil {
					return err
				}
				s = *read
			}
			set := cmd.Flags().Changed
			take(set("jobs"), &s.Jobs, over.Jobs)
			take(set("seed"), &s.Seed, over.Seed)
			take(set("gap"), &s.Arrivals.Gap, over.Arrivals.Gap)
			take(set("arrivals"), &s.Arrivals.Kind, over.Arrivals.Kind)
			w, err := s.Generate()
			if err != nil {
				return err
			}
			return write(out, args[0], w)
		},
	}
	f := cmd.Flags()
	f.StringVar(&spec, "spec", "", "`FILE` with the specification")
	f.IntVar(&over.Jobs, "jobs", over.Jobs, "number of jobs")
	f.Uint64Var(&over.Seed, "seed", over.Seed, "what draws the lots")
	f.DurationVar(&over.Arrivals.Gap, "gap", over.Arrivals.Gap, "mean time between two jobs")
	f.StringVar(&over.Arrivals.Kind, "arrivals", over.Arrivals.Kind, "`KIND` of arrivals: poisson, even or bursty")
	return cmd
}

func take[T any](set bool, to *T, value T) {
	if set {
		*to = value
	}
}
