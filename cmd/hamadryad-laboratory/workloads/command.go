package workloads

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/laboratory/workload"
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
  swf        the Standard Workload Format (2.2) of the Parallel Workloads Archive. A job is
             a gang of tasks of --swf-task-slots processors each; its requested time is
             its estimate. Jobs that never ran are left out, and counted. MaxProcs and
             MaxNodes of the header, else the processors that jobs held at once, are the
             cluster of simulate where no flag names one
  csv        a table of tasks, or of events of tasks, by --csv-mapping: a file, or
             MAPPINGS
What is wrong is told with file and line, and nothing of such a file is taken.

A line of the form hamadryad is a JSON object. The first is the header:
  form, version    "hamadryad-workload" and 1
  name             of the workload, for people
  jobs, tasks      their numbers; where they stand there, a cut file is found
  imputed          number of tasks whose work comes from a rule
  left_out         number of jobs or tasks of the source that never ran
  processors, nodes, processors_seen
                   size of the recorded machine; the last where jobs show it
Each further line is a job, in order of submission:
  id               unique in the workload
  name, class      for people, and to group results
  user, pool       whose it is; left out: nobody, and the user's pool
  priority         higher is sooner, 0 is usual
  properties       an object of texts, which policies receive
  submit_ns        when it is submitted, from the beginning of the workload
  deadline_ns      by when it should have ended, from its submission, as policies see it
  stages           a list, in topological order
Fields of a stage:
  name, kind       kind is that of its slots: map, reduce, default, or the site's
  after            indexes of the stages that it reads from, from 0
  channel          file (usual): its tasks start after those they read from. tcp: they
                   start with them, as one bundle (a gang). shm: in one process (a group)
  pattern          all-to-all (usual), one-to-one, merge or fork: who reads from whom.
                   fork from 25 tasks to 75 by tcp makes gangs of four
  slow_start       share of writers after whose end readers by file may start
  slots, memory    of each task; memory in bytes
  resources        countable ones that each task takes, such as {"gpu":1}
  estimate_ns      what the author expects of each task; policies receive it as
                   the stage's expected time (Stage.Expected)
  failure_rate     share of attempts that fail in the middle of their work
  work_ns          a list: how long each task works beside its input
  input, shuffle, output
                   lists of bytes: stored input, what other stages wrote, what it writes
  places           a list for each task: hosts of its input, as ["host"] or ["host","rack"]
Times are nanoseconds in such a file. Fields without a value are left out; unknown ones are refused.

A mapping of a table is YAML:
  header: true              # the first line names the columns; else they have numbers from 1
  separator: ","
  columns:
  - {column: job_name, field: job}
  - {column: 6, field: start, unit: ms}       # ns, us, ms, s (usual), min, h
  - {column: 7, field: end, unit: ms}
  - {column: mem, field: memory, unit: GiB}   # B (usual), KB to TB, KiB to TiB, or a factor
  - {column: cpu, field: slots, values: {">24": "32"}}   # values replace texts
  keep: [{column: status, is: [Terminated]}]  # other rows are left out
  graph: alibaba            # stage R3_1_2 reads from stages 1 and 2; left out: from none
  events: {"3": start, "6": end, "5": stop}   # rows are events; also submit
Fields: FIELDS,
or property.NAME. Rows of a job may lie anywhere. A row has job, and work or start and end;
events have event, time and task, and come in order of time. Without submit a job is
submitted at its first start.

--assign gives all jobs a field. Lots are drawn by --assign-seed:
  users=zipf:30          user1 to user30, the k-th with 1/k of the first one's jobs;
                         zipf:30:1.5 is steeper, even:30 is even; likewise pools=
  estimates=exact        each stage's mean task; or that times an error:
                         uniform:0.5 (0.5 to 1.5), lognormal:1
  deadlines=factor:2:5   two to five times what the job takes without any bounds
  failures=0.01          of all attempts 1 % fail
--resample draws the times between jobs anew from those of the workload, in blocks, so
that bursts stay. A simulation with it has other arrivals for each seed. The intervals of
its report then say how much a figure owes to when the jobs of the trace came.`,
		Example: `  hamadryad workload describe FB-2009_samples_24_times_1hr_0.tsv --swim-scale 100/600 --slots map=400,reduce=200
  hamadryad workload convert 19-jobs.trace.json.gz day.jsonl.zst
  hamadryad workload convert day.tsv --assign users=zipf:30 --assign estimates=lognormal:0.5 day.jsonl
  hamadryad workload convert --csv-mapping alibaba2018-task batch_task.csv.gz day.jsonl.zst
  hamadryad workload generate --jobs 500 --gap 5s --seed 7 made.jsonl`,
	}
	cmd.Long = strings.NewReplacer("MAPPINGS", strings.Join(workload.GivenMappings(), ", "), "FIELDS", strings.Join(workload.Fields(), ", ")).Replace(cmd.Long)
	cmd.AddCommand(describe(out), convert(out), generate(out))
	return cmd
}
