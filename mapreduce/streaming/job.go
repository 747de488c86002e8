package streaming

import (
	"math"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// Name is the job's name in its program.
const Name = "streaming"

// Definition returns the job. Its arguments are a streaming command line, as Parse takes it.
func Definition() job.Definition {
	return job.Definition{
		Name: Name,
		Help: "Hadoop streaming's options: -input PATH -output PATH -mapper COMMAND -reducer COMMAND ...",
		Build: func(g *job.Graph, args []string) error {
			j, err := Parse(args)
			if err != nil {
				return err
			}
			return j.add(g)
		},
	}
}

// add adds the job to a graph.
func (j *Job) add(g *job.Graph) error {
	s := &j.settings
	b := mapreduce.Bytes{Name: Name, Map: j.runMap, Output: j.outputFormat()}
	b.Reducers, b.SlowStart, b.Codec, b.NoSuspend = s.reducers, s.slowStart, s.shuffle, j.noSuspend
	b.ReduceBytes, b.SplitKeys = j.reduceBytes, j.splitKeys
	if s.splitMax < math.MaxInt64 || s.splitMin > 0 {
		b.SplitBytes = max(min(s.splitMax, job.SplitBytesDefault), s.splitMin)
	}
	for _, f := range j.files {
		b.Files = append(b.Files, f.path)
	}
	if s.reducers != mapreduce.MapOnly {
		j.addReduce(&b)
	}
	if name := j.conf.get("mapreduce.job.name"); name != "" {
		g.Property("mapreduce.job.name", name)
	}
	return b.Add(g, j.output, mapreduce.Source{Patterns: j.inputs})
}

// addReduce sets what only a job with a reduce needs.
func (j *Job) addReduce(b *mapreduce.Bytes) {
	switch j.reducer.class {
	case classAggregate:
		b.Reduce = aggregate
	case classIdentity:
		b.ReduceAll = reduceIdentity
	default:
		b.ReduceAll = j.runReduce
	}
	if j.settings.byField {
		b.Partition = j.settings.partitioner.partition
	}
	if j.settings.compares {
		b.Compare = j.settings.sorter.compare
	}
}

// constants describe the job to its commands by environment variables, besides the settings of the
// command line: the same in every task.
func (j *Job) constants() []setting {
	s := &j.settings
	return []setting{
		{"mapreduce.job.name", Name},
		{"mapreduce.job.reduces", strconv.Itoa(max(s.reducers, 0))},
		{"stream.map.input.field.separator", string(s.mapIn)},
		{"stream.reduce.input.field.separator", string(s.reduceIn)},
		{"stream.map.output.field.separator", string(s.mapOut.separator)},
		{"stream.reduce.output.field.separator", string(s.reduceOut.separator)},
		{"stream.num.map.output.key.fields", strconv.Itoa(s.mapOut.fields)},
		{"stream.num.reduce.output.key.fields", strconv.Itoa(s.reduceOut.fields)},
		{"mapreduce.input.fileinputformat.inputdir", strings.Join(j.inputs, ",")},
		{"mapreduce.output.fileoutputformat.outputdir", j.output},
	}
}
