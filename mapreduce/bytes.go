package mapreduce

import (
	"errors"

	"github.com/hamadryad/hamadryad/mapreduce/internal/sorting"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// Bytes is a job over byte strings: the fast form.
type Bytes struct {
	Name string
	Help string // what it does, for --help; the arguments are added
	Settings

	// Map runs once for each map task. It reads the task's input by Task.Blocks or
	// Task.Lines, and emits pairs.
	Map func(t *Task, emit *Emitter) error
	// Combine folds two values of a key; nil: all values travel. It returns the sum,
	// for which it may use the memory of acc. It must be associative and
	// commutative, must not keep its arguments, and is called any number of times.
	Combine func(acc, value []byte) []byte
	// Reduce gets each key of its partition once, in order, with all its values. Key
	// and value are valid until the next call of Values.Next, or its return.
	Reduce func(t *Task, key []byte, values *Values, out *Writer) error
	// ReduceAll, in place of Reduce, runs once for each reduce task and reads all its
	// pairs itself: for programs that find the groups on their own, as commands do.
	// What it leaves unread is skipped. Group has no meaning with it.
	ReduceAll func(t *Task, pairs *Pairs, out *Writer) error
	// Partition picks the reducer, 0 to n-1, of a key; by hash when nil.
	Partition func(key []byte, n int) int
	// Compare is the order of keys: as byte strings when nil. It must be an order: a
	// task that finds it is none fails. Keys are compared from many goroutines.
	Compare func(a, b []byte) int
	// Group gives 0 for keys that are one group of Reduce, and else what Compare
	// gives: it looks at less of the keys. So values come sorted by what it leaves
	// out (secondary sort). When nil, only equal byte strings are a group, whatever
	// Compare says. With Group, and more than one reducer, Partition must be set.
	Group func(a, b []byte) int
	// Output is the format of the output files; the zero value is text.
	Output Output[[]byte, []byte]

	shared map[string][]job.Split // of Settings.Shared, when the graph is made
	typed  bool                   // made from a Job
	// decoded is what the Compare of a Job does to keys that are already decoded.
	decoded *sorting.Decoded
	// codecs are those of the Job that it was made from, a codecs[K2, V2]: sources with a
	// MapOf of another Job write by them.
	codecs any
}

// Settings are what all forms of a job can set. Zero values are the defaults.
type Settings struct {
	// Reducers is the number of reduce tasks: half as many as there are map tasks,
	// and at most ReducersMax, when 0; none when MapOnly.
	Reducers int
	// TotalOrder gives each reducer a range of keys, so that the output files one
	// after the other are in order. The ranges are found by a sample of the input:
	// mappers run over some of it beforehand, and must do nothing else than emit. One
	// key goes to one reducer, however frequent it is.
	TotalOrder bool
	// SlowStart is the share of map tasks after which reducers start to gather:
	// SlowStartDefault when 0; a negative one waits for all.
	SlowStart float64
	// SplitBytes is the input of a map task: job.SplitBytesDefault when 0.
	SplitBytes int64
	// Memory is what a task may use, in bytes; the site's default when 0.
	Memory int64
	// NoSuspend says that tasks hold something outside and must not be suspended for other
	// jobs: see job.Stage.NoSuspend.
	NoSuspend bool
	// Codec compresses what travels from map to reduce.
	Codec job.Codec
	// Setup and TearDown, where set, run in every map and every reduce task, before
	// its first and after its last record; TearDown only when all went well. An error
	// fails the task. Tasks may share a process: what Setup makes for its task goes
	// into Task.State. With TotalOrder they run for samples of the input too.
	Setup, TearDown func(t *Task) error
	// Shared are patterns of stored files that every task can read whole, by a name
	// of the author's for Task.Shared: the small side of a join.
	Shared map[string][]string
	// Files are local files that travel with the job into the folders in which tasks
	// run commands (job.Node.Run).
	Files []string
	// SkipBad is how many records a map task of a Job may skip because Map gave an
	// error for them or panicked. They are counted as SkippedRecords and saved as
	// SkippedName says; the error of one more fails the task. What Map emits is held
	// in memory until it returns, so nothing of a bad record gets out but what Map
	// counted or wrote to named outputs. So an emitted value that shares memory with
	// another, as a struct with a slice or a map in it may, must stay as it is until
	// Map returns; byte slices are copied, and may be used again at once. Not for
	// Bytes, whose Map reads records itself.
	SkipBad int64
	// MapSlots and ReduceSlots are the kinds of slots that tasks take. When not set, these are "map"
	// and "reduce" where the cluster has such slots, and else "default".
	MapSlots, ReduceSlots string
}

// Defaults.
const (
	SlowStartDefault = 0.05
	ReducersMax      = 32
)

// Definition makes the job. Its arguments are INPUT... OUTPUT.
func (j Bytes) Definition() job.Definition {
	return job.Definition{Name: j.Name, Help: "INPUT... OUTPUT  " + j.Help, Build: j.build}
}

func (j Bytes) build(g *job.Graph, args []string) error {
	if len(args) < 2 {
		return errors.New("give one or more inputs (files, folders, patterns) and the output folder: INPUT... OUTPUT")
	}
	return j.Add(g, args[len(args)-1], Source{Patterns: args[:len(args)-1]})
}
