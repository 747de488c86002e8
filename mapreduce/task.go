package mapreduce

import (
	"context"
	"io"
	"iter"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/text"
)

// The counters of every job.
const (
	MapInputRecords      = "MAP_INPUT_RECORDS" // lines
	MapInputBytes        = "MAP_INPUT_BYTES"
	MapOutputRecords     = "MAP_OUTPUT_RECORDS"
	MapOutputBytes       = "MAP_OUTPUT_BYTES"
	CombineInputRecords  = "COMBINE_INPUT_RECORDS" // of map tasks
	CombineOutputRecords = "COMBINE_OUTPUT_RECORDS"
	ReduceShuffleBytes   = "REDUCE_SHUFFLE_BYTES"
	ReduceInputGroups    = "REDUCE_INPUT_GROUPS"
	ReduceInputRecords   = "REDUCE_INPUT_RECORDS" // after the combiner
	ReduceOutputRecords  = "REDUCE_OUTPUT_RECORDS"
	SpilledRecords       = "SPILLED_RECORDS"
	SkippedRecords       = "SKIPPED_RECORDS" // with Settings.SkipBad

	AggregateInputRecords  = "AGGREGATE_INPUT_RECORDS" // with Settings.AggregateBytes, of tasks between map and reduce
	AggregateOutputRecords = "AGGREGATE_OUTPUT_RECORDS"
)

// Task is a running map or reduce task. It is for one goroutine.
type Task struct {
	ctx  context.Context
	n    *job.Node
	read *text.Reader
	in   inputCounts

	// State is the task's own: what Setup leaves for Map, Reduce and TearDown.
	State any

	job    *Bytes
	out    job.Folder
	letter byte // m or r

	at      int64                  // of the current line
	where   func() (string, int64) // of the current record, if a format reported it
	bad     *Writer                // of skipped records
	skipped int64

	named    map[string]*Writer
	namedErr error // of an output that is not in named
	// sampling means that a mapper runs only to find keys: its other effects must stay invisible.
	sampling bool
}

type inputCounts struct{ records, bytes int64 }

// Locate is for formats that don't read by Lines. The function position returns file and offset of
// the current record, for the file of skipped records. Call Locate once for each file.
func (t *Task) Locate(position func() (path string, offset int64)) { t.where = position }

// Path is the file of Map's current record. It is "" before the first record, in a reduce task, and
// with a Format that neither reads by Lines or Blocks nor calls Locate.
func (t *Task) Path() string {
	path, _ := t.position()
	return path
}

// Offset is where the current record begins in the file of Path, in bytes. For Blocks it is the
// block's offset, for Avro and Parquet that of the record's block or row group. In a compressed
// file it is the offset in the plain text. It is -1 if there is none.
func (t *Task) Offset() int64 {
	_, offset := t.position()
	return offset
}

// Context ends when the task is killed.
func (t *Task) Context() context.Context { return t.ctx }

// Node returns the task's node in the graph.
func (t *Task) Node() *job.Node { return t.n }

// Count adds to a counter of the job.
func (t *Task) Count(name string, delta int64) {
	if !t.sampling {
		t.n.Count(name, delta)
	}
}

// Blocks ranges over a map task's input in blocks of whole lines of one file, with their ends; only
// a file's last line may have none. A block is valid until the next block.
func (t *Task) Blocks() iter.Seq2[[]byte, error] {
	return t.BlocksOf(t.n.Task())
}

// BlocksOf is Blocks over some of the splits of the task's input (Node().Task()), for maps that
// must know where one file ends and the next begins.
func (t *Task) BlocksOf(splits job.Task) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		r := text.NewReaderOf(t.ctx, t.n, splits)
		t.read = r
		defer r.Close()
		defer func() { r.At(r.Offset()) }()
		for {
			block, err := r.Next()
			if err == io.EOF { //nolint:errorlint // only the bare one is the end: a failure may wrap it
				return
			}
			t.in.bytes += int64(len(block))
			t.at = r.Offset()
			if !yield(block, err) || err != nil {
				return
			}
		}
	}
}

// Lines ranges over a map task's input line by line, with the offset of each line in its file and
// without its end. A line is valid until the next line. An error is the last thing it yields.
func (t *Task) Lines() iter.Seq2[Line, error] { return t.LinesOf(t.n.Task()) }

// LinesOf is Lines over some of the splits of the task's input.
func (t *Task) LinesOf(splits job.Task) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		var at int64
		defer func() {
			if t.read != nil {
				t.read.At(at)
			}
		}()
		for block, err := range t.BlocksOf(splits) {
			at = t.read.Offset()
			if err != nil {
				yield(Line{}, err)
				return
			}
			for len(block) > 0 {
				end := lineEnd(block)
				t.in.records++
				t.at = at
				if !yield(Line{at, text.Trim(block[:end])}, nil) {
					return
				}
				at += int64(end)
				block = block[end:]
			}
		}
	}
}

// Line is a line of text input.
type Line struct {
	Offset int64 // of its first byte in its file
	Text   []byte
}

// Read adds to the count of input records, for maps that cut blocks themselves.
func (t *Task) Read(records int64) { t.in.records += records }

func (t *Task) countInput() {
	t.n.Count(MapInputRecords, t.in.records)
	t.n.Count(MapInputBytes, t.in.bytes)
}
