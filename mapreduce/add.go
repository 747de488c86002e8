package mapreduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Source is an input of a job, which may have its own mapper.
type Source struct {
	// Patterns are files, folders and patterns of stored files, such as logs/**/{web,mail}-*.gz;
	// job.Files documents the syntax.
	Patterns []string
	// Suffixes are the endings of the names of files that are read, such as .csv; nil is all.
	Suffixes []string
	// Map reads this source; nil: the job's own Map does.
	Map func(t *Task, emit *Emitter) error
	// WholeSuffixes are the endings of the names of files that are never split.
	WholeSuffixes []string
}

// MapOnly as the number of Reducers leaves out the reduce: each map task writes the pairs that it
// emits, unsorted, to an output file of its own.
const MapOnly = -1

// port names both ends of the shuffle's connection.
const port = "pairs"

// Add adds the job to a graph, for jobs with arguments of their own. Definition is Add with all
// arguments but the last as one source. out is the output folder. A graph takes one such job.
func (j Bytes) Add(g *job.Graph, out string, sources ...Source) error {
	if err := j.check(sources); err != nil {
		return err
	}
	var tasks []job.Task
	maps := make([]mapFunc, 0, len(sources)) // by task
	for i, s := range sources {
		files, err := g.Files(job.Files{Patterns: s.Patterns, Suffixes: s.Suffixes, SplitBytes: j.SplitBytes, WholeSuffixes: s.WholeSuffixes})
		if err != nil {
			return fmt.Errorf("source %d: %w", i+1, err)
		}
		tasks = append(tasks, files...)
		for range files {
			if s.Map == nil {
				s.Map = j.Map
			}
			maps = append(maps, s.Map)
		}
	}
	if err := j.planShared(g); err != nil {
		return err
	}
	j.stages(g, g.Output(out), tasks, func(task int) mapFunc { return maps[task] })
	return nil
}

type mapFunc func(t *Task, emit *Emitter) error

// stages makes the graph.
func (j Bytes) stages(g *job.Graph, out job.Folder, tasks []job.Task, mapOf func(task int) mapFunc) {
	reducers := j.reducers(tasks)
	ranged := j.TotalOrder && reducers > 1
	program := func(ctx context.Context, n *job.Node) error {
		j := j
		if ranged {
			var err error
			if j.Partition, err = rangePartition(ctx, n, j.keyOrder(), j.SplitKeys); err != nil {
				return err
			}
		}
		return j.mapProgram(ctx, n, out, mapOf(n.Info().Index))
	}
	mapper := g.Stage("map", len(tasks), program).Read(tasks).Memory(j.Memory).Files(j.Files...).Expect(j.MapExpected)
	askFor(mapper, j.Resources)
	if j.NoSuspend {
		mapper.NoSuspend()
	}
	takeSlots(mapper, j.MapSlots, mapKind)
	if j.Reducers == MapOnly {
		return
	}
	if ranged {
		j.sampled(g, mapper, tasks, reducers, mapOf)
	}
	width, channel := reducers, job.Channel{Kind: job.File, Codec: j.Codec, SlowStart: max(cmp.Or(j.SlowStart, SlowStartDefault), 0)}
	if j.ReduceBytes > 0 {
		channel.SlowStart, channel.Adapt = 0, job.Adapt{Partitions: reducers, Bytes: j.ReduceBytes, Split: j.SplitKeys && !j.TotalOrder}
		if channel.Adapt.Split {
			width *= 2 // readers for the pieces of large partitions
		}
	}
	combiner := j.combineStage(g, len(tasks)) // between the two
	reducer := g.Stage("reduce", width, j.reduceProgram(out)).Memory(j.Memory).Files(j.Files...).Shuffles().Expect(j.ReduceExpected)
	askFor(reducer, j.Resources)
	if j.NoSuspend {
		reducer.NoSuspend()
	}
	takeSlots(reducer, j.ReduceSlots, reduceKind)
	if combiner != nil {
		channel.SlowStart = 0
		g.AllToAll(combiner.Out(port), reducer.In(port), channel)
		channel.Aggregate, reducer = job.Aggregate{By: cmp.Or(j.AggregateBy, job.Machine), Bytes: j.AggregateBytes}, combiner
	}
	g.AllToAll(mapper.Out(port), reducer.In(port), channel)
}

// reducers returns the number of partitions for the reduce.
func (j Bytes) reducers(tasks []job.Task) int {
	if j.Reducers != 0 || j.ReduceBytes == 0 {
		return cmp.Or(j.Reducers, min((len(tasks)+1)/2, ReducersMax))
	}
	var bytes int64
	for _, t := range tasks {
		bytes += t.Bytes()
	}
	most := max(min(PartitionsMax, pairsMax/max(len(tasks), 1)), 1)
	return int(min(bytes/max(j.ReduceBytes/4, 1)+1, int64(most)))
}

// pairsMax bounds the pairs of a map task and a partition. The manager keeps a size of each, and
// refuses jobs with four times as many.
const pairsMax = 1 << 20

// The kinds of slots that tasks take where a cluster has them, as in Hadoop before YARN.
const (
	mapKind    scheduler.SlotKind = "map"
	reduceKind scheduler.SlotKind = "reduce"
)

// takeSlots sets a stage's kind of slot to the one that the author names. Without one, the stage
// prefers the usual kind where the cluster has it.
func takeSlots(s *job.Stage, named string, usual scheduler.SlotKind) {
	if named != "" {
		s.Kind(named)
		return
	}
	s.PreferKind(usual)
}

func (j Bytes) check(sources []Source) error {
	if len(sources) == 0 {
		return errors.New("the job has no source: name at least one input")
	}
	for i, s := range sources {
		if j.Map == nil && s.Map == nil {
			return fmt.Errorf("the job has no Map, nor has its source %d", i+1)
		}
	}
	switch {
	case j.SkipBad < 0:
		return fmt.Errorf("SkipBad is %d: use 0 for none, or more", j.SkipBad)
	case j.SkipBad > 0 && !j.typed:
		return errors.New("SkipBad is for the typed Job: the Map of Bytes reads its records itself, and must skip the bad ones itself")
	case j.Reducers < MapOnly:
		return fmt.Errorf("%d reducers: use 0 for the default, MapOnly for none, or more", j.Reducers)
	case j.Reducers == MapOnly && (j.Reduce != nil || j.ReduceAll != nil || j.Combine != nil || j.Compare != nil || j.Group != nil || j.Partition != nil):
		return errors.New("the job is MapOnly: it can't have a Reduce, Combine, Compare, Group or Partition")
	case j.ReduceAll != nil && (j.Reduce != nil || j.Group != nil):
		return errors.New("the job has a ReduceAll: it can't have a Reduce or a Group, since ReduceAll finds the groups itself")
	case j.Reducers != MapOnly && j.Reduce == nil && j.ReduceAll == nil:
		return errors.New("the job has no Reduce: set one, or MapOnly as the number of Reducers")
	case j.ReduceBytes < 0:
		return fmt.Errorf("ReduceBytes is %d: use 0 for one reduce task for each partition, or more", j.ReduceBytes)
	case j.ReduceBytes > 0 && j.Reducers == MapOnly:
		return errors.New("the job is MapOnly: it has no reduce tasks that ReduceBytes could choose, so leave that out")
	case j.ReduceBytes > 0 && j.SlowStart > 0:
		return errors.New("the job has ReduceBytes and SlowStart: its reduce tasks are chosen when all map tasks have finished, so leave one of the two out")
	case j.SplitKeys && j.ReduceBytes == 0 && !j.TotalOrder:
		return errors.New("the job has SplitKeys, and neither ReduceBytes nor TotalOrder: set ReduceBytes too, to ReduceBytesUsual for example")
	case j.TotalOrder && (j.Reducers == MapOnly || j.Partition != nil):
		return errors.New("the job is to be in total order: it can't be MapOnly, and TotalOrder is its Partition")
	case j.Group != nil && j.Partition == nil && j.Reducers != 1 && !j.TotalOrder:
		return errors.New("the job has a Group and no Partition: keys of one group would go by their hash to different reducers; set Partition so that it looks only at what Group looks at, or TotalOrder, or use 1 reducer")
	}
	return j.checkAggregate()
}

// askFor makes each task of a stage take countable resources.
func askFor(s *job.Stage, r scheduler.Resources) {
	for _, c := range r.Counts() {
		s.Resource(c.Kind, c.Count)
	}
}
