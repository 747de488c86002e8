package mapreduce

import (
	"context"
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// MapPartName is the name of the output file of a map task of a map-only job,
// before its format's suffix.
func MapPartName(task int) string { return fmt.Sprintf("part-m-%05d", task) }

// mapOnly is a map task of a map-only job: it writes pairs as they are emitted.
func (j Bytes) mapOnly(ctx context.Context, n *job.Node, out job.Folder, mapper mapFunc) error {
	f, err := j.create(ctx, n, out, MapPartName(n.Info().Index))
	if err != nil {
		return err
	}
	w, err := newWriter(f, j.Output)
	if err != nil {
		return err
	}
	n.Executing()
	t, e := j.newTask(ctx, n, out, 'm'), &Emitter{ctx: ctx, direct: w}
	if err = t.begin(); err == nil {
		err = mapper(t, e)
	}
	e.over = true
	if e.Err() != nil {
		err = e.Err()
	}
	if err != nil {
		return err
	}
	t.countInput()
	n.Count(MapOutputRecords, w.calls.Load())
	if err := w.close(); err != nil {
		return err
	}
	return t.finish()
}
