package streaming

import (
	"cmp"
	"io"
	"os"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/internal/sorting"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// combining sorts what a mapper printed, on disk beyond its memory, and passes it to the combiner
// once. All partitions go through one command: each key still arrives as one sequence.
type combining struct {
	j      *Job
	t      *mapreduce.Task
	sorter *sorting.Sorter
	batch  *job.Batch
	pairs  int64
	folder string
}

const (
	// combineShare is the divisor of a task's memory that gives the share of pairs that wait for
	// the combiner.
	combineShare = 2
	// memoryUnknown is the memory assumed for a node whose memory is unknown, in bytes.
	memoryUnknown = 64 << 20
)

func (j *Job) newCombining(t *mapreduce.Task) (*combining, error) {
	info := t.Node().Info()
	// Use a separate folder: all names in the scratch folder belong to the commands.
	folder, err := os.MkdirTemp(info.Scratch, ".combine-")
	if err != nil {
		return nil, err
	}
	o := sorting.Options{Folder: folder, Memory: cmp.Or(info.Memory, memoryUnknown) / combineShare}
	if j.settings.compares {
		o.Compare = j.settings.sorter.compare
	}
	return &combining{j: j, t: t, sorter: sorting.NewSorter(o), batch: job.GetBatch(), folder: folder}, nil
}

// add adds a pair.
func (c *combining) add(key, value []byte) error {
	c.batch.Data = sorting.AppendPair(c.batch.Data, key, value)
	c.batch.Seal()
	c.pairs++
	if len(c.batch.Data) < job.BatchBytes {
		return nil
	}
	return c.flush()
}

func (c *combining) flush() error {
	b := c.batch
	c.batch = job.GetBatch()
	return c.sorter.Add(b)
}

// finish runs the combiner over all pairs and emits what it prints.
func (c *combining) finish(emit *mapreduce.Emitter) error {
	if c.pairs == 0 {
		return nil
	}
	if err := c.flush(); err != nil {
		return err
	}
	m, err := c.sorter.Merge()
	if err != nil {
		return err
	}
	defer m.Close()
	combined := int64(0)
	err = c.j.run(c.t, c.j.combiner, nil, func(w io.Writer) error {
		return c.j.feedPairs(w, func() (key, value []byte, ok bool, err error) {
			if ok, err = m.Next(); !ok {
				return nil, nil, false, err
			}
			return m.Key(), m.Value(), true, nil
		})
	}, func(line []byte) error {
		combined++
		emit.Pair(c.j.settings.reduceOut.cut(line))
		return emit.Err()
	})
	// The emitter counts the combiner's output as the map's output, which must be its input.
	c.t.Count(mapreduce.MapOutputRecords, c.pairs-combined)
	c.t.Count(mapreduce.CombineInputRecords, c.pairs)
	c.t.Count(mapreduce.CombineOutputRecords, combined)
	return err
}

// close removes the files on disk.
func (c *combining) close() {
	_ = c.sorter.Close() // the folder is removed next
	_ = os.RemoveAll(c.folder)
}
