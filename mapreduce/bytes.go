package mapreduce

import (
	"errors"
	"time"

	"github.com/hamadryad/hamadryad/mapreduce/internal/sorting"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Bytes is a job whose keys and values are byte strings: the fast form.
type Bytes struct {
	Name string
	Help string // purpose of the job, for --help; the arguments are added
	Settings

	// Map runs once for each map task. It reads the task's input by Task.Blocks or
	// Task.Lines, and emits pairs.
	Map func(t *Task, emit *Emitter) error
	// Combine folds two values of a key; if nil, all values travel. It returns the sum, which may
	// use the memory of acc. It must be associative and commutative and must not keep its
	// arguments. It is called any number of times.
	Combine func(acc, value []byte) []byte
	// Reduce is called once for each key of its partition, in order, with all values. Key and value
	// are valid until Reduce returns or calls Values.Next again.
	Reduce func(t *Task, key []byte, values *Values, out *Writer) error
	// ReduceAll, in place of Reduce, runs once for each reduce task and reads all its pairs itself.
	// It is for programs that find the groups on their own, as commands do. Pairs that it leaves
	// unread are skipped. Group has no meaning with it.
	ReduceAll func(t *Task, pairs *Pairs, out *Writer) error
	// Partition picks the reducer of a key, 0 to n-1; if nil, the key's hash does.
	Partition func(key []byte, n int) int
	// Compare is the order of keys; if nil, byte strings are compared. It must be a consistent
	// order: a task that finds a contradiction fails. It is called from many goroutines.
	Compare func(a, b []byte) int
	// Group returns 0 for two keys of one group of Reduce, and otherwise Compare's result. It looks
	// at less of the keys than Compare, so values arrive sorted by the rest (secondary sort). If
	// nil, only equal byte strings form a group, whatever Compare says. With Group, and more than
	// one reducer, Partition must be set.
	Group func(a, b []byte) int
	// Output is the format of the output files; the zero value is text.
	Output Output[[]byte, []byte]

	shared map[string][]job.Split // files of Settings.Shared, set when the graph is made
	typed  bool                   // converted from a Job
	// decoded is a Job's Compare, for keys that are already decoded.
	decoded *sorting.Decoded
	// codecs is a codecs[K2, V2] of the Job that this was converted from. A source whose MapOf
	// comes from another Job encodes its pairs by them.
	codecs any
}

// Settings are common to all forms of a job. Zero values are the defaults.
type Settings struct {
	// Reducers is the number of reduce tasks. 0 is half the number of map tasks, at most
	// ReducersMax. MapOnly is none.
	Reducers int
	// ReduceBytes, if it is not 0, chooses the reduce tasks when all map tasks have finished, by the
	// sizes of their partitions: those that lie side by side are joined while they have at most so
	// many bytes, as they are stored (compressed). ReduceBytesUsual suits most jobs. A reduce task then
	// has the keys of several partitions, in order, and writes one file. Reducers is the number of
	// partitions, so the most tasks; 0 is one for each fourth of ReduceBytes of the input. The files
	// are numbered from 0 without holes. Reduce tasks don't start early, so SlowStart has to be 0.
	ReduceBytes int64
	// SplitKeys, beside ReduceBytes or TotalOrder, shares a key with many records among several reduce
	// tasks. Each gets the pairs of some of the map tasks. So Reduce may be called for one key in several
	// tasks, with some of its values in each, and each writes its own file. Set it where that is right:
	// where each value is handled alone, or where whoever reads the output adds up what has the same key.
	// Where Reduce adds up, set Combine instead: then a map task sends one value of a key.
	//
	// With ReduceBytes a partition is shared that has more than five times the bytes of the median, and
	// more than 256 MiB. With TotalOrder a key is shared that fills more than a task's range in the
	// sample. The output files in sequence are in order all the same.
	SplitKeys bool
	// AggregateBytes, if it is not 0, combines once more between map and reduce, where that saves bytes
	// on the network: on each machine whose map tasks, at least two, together stored at least so many
	// bytes (compressed). AggregateBytesUsual suits most jobs with few keys and many map tasks. The
	// machines are chosen when all map tasks have finished, and reduce tasks start after that. It needs
	// a Combine.
	AggregateBytes int64
	// AggregateBy, beside AggregateBytes, is job.Rack to combine the output of a rack in one task, where
	// launchers have racks. The default is job.Machine.
	AggregateBy job.Level
	// TotalOrder gives each reducer a range of keys, so that the output files in sequence are in
	// order. The ranges come from a sample of the input: mappers run over parts of it beforehand,
	// so they must do nothing but emit. One key goes to one reducer, however frequent it is, unless
	// SplitKeys is set. Each map task holds the first key of each range, up to 4 MiB in all: where keys
	// are larger there are fewer ranges, and the other reducers get nothing.
	TotalOrder bool
	// SlowStart is the share of finished map tasks at which reducers start to gather:
	// SlowStartDefault when 0. A negative value waits for all map tasks.
	SlowStart float64
	// SplitBytes is the size of a map task's input, in bytes: job.SplitBytesDefault when 0.
	SplitBytes int64
	// Memory is how much a task may use, in bytes; the site's default when 0.
	Memory int64
	// Resources are the countable resources that each task takes, such as GPUs and cores. See
	// job.Stage.Resource.
	Resources scheduler.Resources
	// MapExpected and ReduceExpected are how long tasks are expected to run, for policies; unknown when
	// 0. See job.Stage.Expect.
	MapExpected, ReduceExpected time.Duration
	// NoSuspend excludes tasks that hold external resources from suspension in favour of other
	// jobs: see job.Stage.NoSuspend.
	NoSuspend bool
	// Codec compresses the pairs that travel from map to reduce.
	Codec job.Codec
	// Setup and TearDown run in every map and reduce task, before its first and after its last
	// record. TearDown runs only if the task's work succeeded. An error fails the task. Tasks may
	// share a process: what Setup makes for its task belongs into Task.State. With TotalOrder they
	// run for samples of the input too.
	Setup, TearDown func(t *Task) error
	// Shared maps names, for Task.Shared, to patterns of stored files that every task can read
	// whole: the small side of a join.
	Shared map[string][]string
	// Files are local files that travel with the job into the folders in which tasks run commands
	// (job.Node.Run).
	Files []string
	// SkipBad is the number of records that a map task of a Job may skip after Map returned an
	// error for them or panicked. Skipped records are counted as SkippedRecords and saved in the
	// file of SkippedName. One more error fails the task. Pairs that Map emits are held in memory
	// until it returns. So a bad record leaves nothing but what Map counted or wrote to named
	// outputs. A value that shares memory with another, such as a struct with a slice or a map,
	// must not change until Map returns. Byte slices are copied, and may be reused at once. Not for
	// Bytes, whose Map reads records itself.
	SkipBad int64
	// MapSlots and ReduceSlots are the kinds of slots that tasks take. If not set, these are "map"
	// and "reduce" where the cluster has such slots, and otherwise "default".
	MapSlots, ReduceSlots string
}

// Defaults.
const (
	SlowStartDefault = 0.05
	ReducersMax      = 32
	ReduceBytesUsual = 64 << 20
	PartitionsMax    = 1000 // with ReduceBytes and without Reducers; fewer for very many map tasks

	AggregateBytesUsual = 16 << 20
	AggregatesMax       = 1000 // tasks that combine between map and reduce
)

// Definition returns the job's definition. Its arguments are INPUT... OUTPUT.
func (j Bytes) Definition() job.Definition {
	return job.Definition{Name: j.Name, Help: "INPUT... OUTPUT  " + j.Help, Build: j.build}
}

func (j Bytes) build(g *job.Graph, args []string) error {
	if len(args) < 2 {
		return errors.New("give one or more inputs (files, folders, patterns) and the output folder: INPUT... OUTPUT")
	}
	return j.Add(g, args[len(args)-1], Source{Patterns: args[:len(args)-1]})
}
