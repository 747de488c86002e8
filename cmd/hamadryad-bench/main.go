// Command hamadryad-bench runs the project's benchmarks on real processes and prints medians of
// interleaved runs. Each row goes to build/bench.jsonl too.
//
//	make bench                      # all rows but those beside other systems
//	build/bin/hamadryad-bench noop  # rows whose name starts with noop
//	make rivals                     # other systems beside this one
//
// Every row has a baseline and the ratio of the measured value to it. Where the baseline is a
// program or another method, both run in turn in the same call. Where it is a figure that the
// project promises, the row says "stated". It needs the programs of `make build` beside it, runs in
// the project's folder, and builds the hand-written programs of baselines/ itself. Outputs are
// compared in every run, and inputs are in the page cache for both sides.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hamadryad/hamadryad/engine/policy"
)

// benchmark is one family of rows.
type benchmark struct {
	name  string // prefix of its rows' names
	about string // for --help: what it measures, and the disk space of its inputs
	run   func(context.Context, *bench) error
}

var benchmarks = []benchmark{
	{"noop-tasks", "tasks that do nothing, on three clusters: a second, and processor time of each", noopTasks},
	{"noop-clients", "the same from eight programs at once", noopManyClients},
	{"jobs-at-once", "a hundred jobs of ten tasks that one program submits at once", jobsAtOnce},
	{"many-tasks", "a job of 100,000 tasks that do nothing, against one of 10,000, and the memory of manager and policy", manyTasks},
	{"slot", "where the time between two tasks of a slot goes: worker, gathering, step, round, disk, messages", slotParts},
	{"array", "a job array of 100,000 elements that do nothing: its submission and log, whole runs, and runs in which one of a hundred fails", arrays},
	{"small-job", "a word count of 1 KB on a running cluster: median and 99th percentile", smallJob},
	{"start", "starting a cluster and a command, sizes of programs, memory of an idle manager", starts},
	{"shuffle-1000x1000", "1 GB from a thousand writers to a thousand readers, and the manager's memory (3 GB while it runs)", shuffles(1000, 4)},
	{"shuffle-5000x5000", "the same from and to five thousand (3 GB while it runs)", shuffles(5000, 60)},
	{"skew", "1 GB in which one partition has half of all, or 1,000 times the median, against 1.5 times the time of even ones (3 GB while it runs)", skews},
	{"publish-50000", "publishing 50,000 parts: the last step of a job", publishing},
	{"access", "certificates, roles, lists and audit, against a cluster where everybody may do everything (1.5 GB, and 3 GB while it runs)", accessCosts},
	{"viewers", "tasks that do nothing, and assignments, while fifty people look at the pages, against while nobody does", viewersCost},
	{"shadows", "tasks that do nothing beside one shadow, three, and such as hang, leak or are slow, against none: speed, a round's time, and processor time of the manager and of all", shadowCosts},
	{"round", "one round of a policy", rounds},
	{"assign", "the way from the end of an attempt to the next launch, with core, log and policy", assignments},
	{"policy-test", "the tests of policies on twenty days, with recorded decisions", policyTests},
	{"steps", "how long a step of the core takes with a million tasks and twenty thousand launchers (12 GB of memory)", steps},
	{"channel", "a million records through each kind of channel", channels},
	{"wordcount-500mb", "the words of 500 MB, against a hand-written program (0.5 GB)", wordCount500},
	{"sort-1gb", "100-byte records, against GNU sort (1 GB, and 5 GB while it runs)", sorts(gb, sortExample)},
	{"sort-5gb", "the same with 5 GB (5 GB, and 25 GB while it runs)", sorts(5*gb, sortExample)},
	{"sort-mapreduce-1gb", "the same 1 GB by a typed job of package mapreduce with 250 reduce tasks (1 GB, and 5 GB while it runs)", sorts(gb, sortTyped)},
	{"streaming-wordcount", "two awk commands, against a shell pipe (0.1 GB, and 2 GB while it runs)", streamingWordCount},
	{"hdfs-wordcount-1gb", "the words of 1 GB on a small HDFS, against the same from disk (1 GB, and 2 GB while it runs)", onHdfs(hdfsWordCount)},
	{"hdfs-read", "one stream and four out of it, against Hadoop's client (0.25 GB, and 1 GB while it runs)", onHdfs(hdfsReads)},
	{"hdfs-write", "one stream and four into it, likewise (0.25 GB, and 2 GB while it runs)", onHdfs(hdfsWrites)},
	{"scaling-10mb", "a word count on 1 to 4 slots: time and memory (0.01 GB)", scaling(10 * mb)},
	{"scaling-100mb", "the same with 100 MB (0.1 GB)", scaling(100 * mb)},
	{"scaling-1gb", "the same with 1 GB (1 GB)", scaling(gb)},
	{"scaling-5gb", "the same with 5 GB (5 GB)", scaling(5 * gb)},
	{rivalsName, "Ray, Dask and Spark in turn with this project: installs them into the cache folder (1 GB; inputs of 3 GB, and 5 GB while it runs)", compareRivals},
}

// bench is shared by the benchmarks.
type bench struct {
	bin  string // folder of the programs
	data string // folder of the inputs, kept for the next time
	runs int    // of each side; the median is kept
	// policies are the names of the policies to measure.
	policies string
	// transport is how rounds go to plug-ins.
	transport string
	names     []string // requested rows; none: all
	out       *report
}

func main() {
	runs := flag.Int("runs", 5, "runs of each side; the median is printed")
	file := flag.String("o", "build/bench.jsonl", "file for the rows, one JSON object a line")
	data := flag.String("data", "build/bench-data", "folder of the inputs, which are made once, and of outputs while they are compared")
	policies := flag.String("policies", "fair,preemptive-fair,hfsp,dynamic-priority,drf,fifo", "policies of the rows assign-…, joined by commas")
	transport := flag.String("transport", policy.TransportAuto, "of rounds to plug-ins in the rows assign-…: auto, or grpc")
	flag.Usage = usageText
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &bench{runs: max(*runs, 1), data: *data, policies: *policies, transport: *transport, names: flag.Args()}, *file); err != nil {
		fmt.Fprintln(os.Stderr, "hamadryad-bench:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, b *bench, file string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := newReport(file)
	if err != nil {
		return err
	}
	b.bin, b.out = filepath.Dir(self), out
	var errs []error // a family that fails does not prevent the others
	for _, m := range benchmarks {
		if !wanted(m.name, b.names) {
			continue
		}
		if err := m.run(ctx, b); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(append(errs, out.close())...)
}

// usageText prints the help.
func usageText() {
	out := flag.CommandLine.Output()
	fmt.Fprint(out, `usage: hamadryad-bench [flags] [NAME...]

Runs the benchmarks whose names begin with one of the NAMEs, or all but rivals.
Their inputs are made once and stay on the disk, 13 GB for all (in brackets below).

`)
	for _, m := range benchmarks {
		fmt.Fprintf(out, "  %-20s %s\n", m.name, m.about)
	}
	fmt.Fprintln(out)
	flag.PrintDefaults()
}

// wanted reports whether a benchmark was requested by a prefix of its name. Without names all are,
// but the one that installs other systems.
func wanted(name string, names []string) bool {
	for _, n := range names {
		if strings.HasPrefix(name, n) || strings.HasPrefix(n, name) {
			return true
		}
	}
	return len(names) == 0 && name != rivalsName
}
