package workloads

import (
	"io"

	"github.com/spf13/cobra"
)

// Command is "workload", with its subcommands.
func Command(out io.Writer) *cobra.Command {
	cmd := &cobra.Command{
		Use: "workload", Short: "Describe, convert and make workloads: recorded days and such as are drawn",
		Long: `A workload is the jobs that come to a cluster, and when: their stages, and of each
task how long it works, how many bytes it reads and writes, and where its input is.

These forms are read, compressed with gzip, zstd or not at all:
  hamadryad  lines of JSON that "convert" and "generate" write
  facebook   fb2009-100 and fb2010-93, the workloads of the HFSP paper
  swim       traces of SWIM: bytes of jobs. They have no tasks and no times, so flags say
             how bytes become tasks and how long these take
  rumen      job histories of Hadoop, as Rumen, Mumak, Gridmix and the SLS have them
  sls        the JSON of YARN's Scheduler Load Simulator
What is wrong is told with file and line, and nothing of such a file is taken.`,
		Example: `  hamadryad workload describe FB-2009_samples_24_times_1hr_0.tsv --swim-scale 100/600 --slots map=400,reduce=200
  hamadryad workload convert 19-jobs.trace.json.gz day.jsonl.zst
  hamadryad workload generate --jobs 500 --gap 5s --seed 7 made.jsonl`,
	}
	cmd.AddCommand(describe(out), convert(out), generate(out))
	return cmd
}
