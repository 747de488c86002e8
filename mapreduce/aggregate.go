package mapreduce

import (
	"context"
	"errors"
	"fmt"

	"github.com/hamadryad/hamadryad/mapreduce/internal/sorting"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// combineStage adds a stage of combiners, to stand between mappers and reducers; nil: the job has none.
func (j Bytes) combineStage(g *job.Graph, tasks int) *job.Stage {
	if j.AggregateBytes == 0 || tasks < 2 {
		return nil
	}
	combiner := g.Stage("combine", min((tasks+1)/2, AggregatesMax), j.combineProgram).Memory(j.Memory).Expect(j.MapExpected)
	askFor(combiner, j.Resources)
	if j.NoSuspend {
		combiner.NoSuspend()
	}
	takeSlots(combiner, j.MapSlots, mapKind)
	return combiner
}

// combineProgram combines the pairs of some map tasks. Each pair goes to the partition of its key, as
// in a map task.
func (j Bytes) combineProgram(ctx context.Context, n *job.Node) error {
	e, err := j.newEmitter(ctx, n)
	if err != nil {
		return err
	}
	n.Executing()
	if err := e.pairsOf(ctx, n); err != nil {
		e.over = true
		return err
	}
	if err := e.close(); err != nil {
		return err
	}
	n.Count(AggregateInputRecords, e.records)
	n.Count(AggregateOutputRecords, e.sent)
	return nil
}

// pairsOf emits all pairs of a node's input.
func (e *Emitter) pairsOf(ctx context.Context, n *job.Node) error {
	for b, err := range batches(ctx, n, port) {
		if err != nil {
			return err
		}
		for record := range b.All() {
			key, value, err := sorting.Split(record)
			if err != nil {
				return err
			}
			e.records++
			if e.pair(key, value); e.err != nil {
				return e.err
			}
		}
		job.PutBatch(b)
	}
	return nil
}

// checkAggregate checks the settings of combiners between mappers and reducers.
func (j Bytes) checkAggregate() error {
	switch {
	case j.AggregateBytes < 0:
		return fmt.Errorf("AggregateBytes is %d: use 0 for none, or more", j.AggregateBytes)
	case j.AggregateBy > job.Rack:
		return fmt.Errorf("AggregateBy is %d: use job.Machine or job.Rack", j.AggregateBy)
	case j.AggregateBytes == 0 && j.AggregateBy != 0:
		return errors.New("the job has AggregateBy and no AggregateBytes: set that too, to AggregateBytesUsual for example")
	case j.AggregateBytes == 0:
		return nil
	case j.Combine == nil:
		return errors.New("the job has AggregateBytes and no Combine, which it would run: set one, or leave AggregateBytes out")
	case j.ReduceBytes > 0 || j.SlowStart > 0:
		return errors.New("the job has AggregateBytes, which waits for all map tasks before it chooses what to combine: leave ReduceBytes and SlowStart out")
	case j.TotalOrder:
		return errors.New("the job has AggregateBytes and TotalOrder: leave one of the two out")
	}
	return nil
}
