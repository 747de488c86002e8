// Package mapreduce is MapReduce on the DAG API: a map over stored input,
// partitions by hash or by a function, keys sorted for each reducer, and a reduce
// that writes text or any Output.
//
//	var wordCount = mapreduce.TextJob[string, int64]{
//		Name: "wordcount",
//		Map: func(t *mapreduce.Task, offset int64, line string, emit func(string, int64)) error {
//			for _, word := range strings.Fields(line) {
//				emit(word, 1)
//			}
//			return nil
//		},
//		Combine: func(a, b int64) int64 { return a + b },
//		Reduce: func(t *mapreduce.Task, word string, counts iter.Seq[int64], emit func(string, int64)) error {
//			var sum int64
//			for n := range counts {
//				sum += n
//			}
//			emit(word, sum)
//			return nil
//		},
//	}
//
//	func main() { app.Main(wordCount.Definition()) }
//
// The job's arguments are INPUT... OUTPUT. Bytes is the fast form: keys and values
// are byte strings, and nothing is decoded or allocated for a record.
//
// How it runs: a map task folds equal keys in a table where there is a combiner,
// and sends its pairs by hash of the key. A reduce task gathers them, sorts within
// its memory, with sorted runs on disk beyond that, and calls Reduce key by key.
// Nothing is said about the order of a key's values, except that with Compare and
// Group they come in the order of the whole key (secondary sort). A combiner folds
// only values of equal byte strings, whatever Compare and Group say. Add puts a
// job into a graph, with a mapper for each of its sources; MapOnly leaves out the
// reduce. Settings has the rest: hooks of a task, files shared by all tasks, a bound
// of bad records to skip; Task.Named writes further outputs; Bytes.ReduceAll reads
// all pairs of a reducer. Package streaming runs commands in any language.
//
// Limits: key and value together are at most a quarter of the task's memory
// (job.RecordLimit; 64 MiB by default), a combined one too, and below 1 GiB. Values of
// a key are streamed: there may be any number of them, as long as those of one
// reducer fit on its disk. A larger record fails the job at once.
package mapreduce
