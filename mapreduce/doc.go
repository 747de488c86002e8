// Package mapreduce is MapReduce on the DAG API. A map reads stored input, and its pairs are
// partitioned by hash or by a function. Keys are sorted for each reducer, and a reduce writes text
// or any Output.
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
// The job's arguments are INPUT... OUTPUT. Inputs are files, folders or patterns such as
// logs/**/{web,mail}-*.gz; job.Files documents the syntax. Source can choose files by suffix. Bytes
// is the fast form: keys and values are byte strings, and nothing is decoded or allocated for a
// record.
//
// How it runs: if there is a combiner, a map task folds equal keys in a table. It sends its pairs
// by hash of the key. A reduce task gathers them, sorts within its memory, with sorted runs on disk
// beyond that, and calls Reduce key by key. The order of a key's values is not specified, except
// that with Group they come in the order of the whole key (secondary sort). A combiner folds only
// values of equal byte strings, whatever Compare and Group say. Add puts a job into a graph, with a
// mapper for each of its sources; MapOnly leaves out the reduce. Settings has the rest: hooks of a
// task, files shared by all tasks, a bound of bad records to skip. ReduceBytes chooses the
// reduce tasks by the bytes of their partitions. AggregateBytes combines the output of a machine or
// a rack once more, before reducers read it. Task.Named writes further outputs. Bytes.ReduceAll reads
// all pairs of a reducer. Package streaming runs commands in any language.
//
// # Types of keys and values
//
// The pairs that Map emits are encoded as bytes, and Reduce gets equal values. A type may be made
// of booleans, numbers (complex ones too), strings, arrays, slices, maps, pointers and structs,
// named or not. It may be a time.Time. Opaque types, such as netip.Addr, need MarshalBinary and
// UnmarshalBinary. Unexported fields travel as others do, strings need not be UTF-8, and nil slices
// and maps stay nil. Only a nil []byte that is a whole key or value comes back empty. A time comes
// back without its monotonic clock, and as a key in UTC. Two pointers to one value come back as
// pointers to two values. A job of any other type is refused when it is submitted; the error names
// the field and the remedy. Refused are interfaces (any), channels, functions, types that contain
// themselves, and pointers in unexported fields.
//
// Keys are sorted by value. Numbers, durations and times go from low to high, and false goes before
// true. Strings and byte slices are sorted as byte strings. Structs are sorted by their fields in
// order, arrays and slices by their items. Pointers are sorted by what they point at, nil first. A
// field with the tag `mapreduce:"desc"` is sorted from high to low. So a struct is all that a
// secondary sort needs besides Group and Partition:
//
//	type reading struct {
//		Station string
//		Degrees float64 `mapreduce:"desc"`
//	}
//
// Equal values are one key. Of a float, -0 is the same key as 0, and comes back as 0. All NaNs are
// one key, sorted last. Values keep their bits, -0 and NaN too. One instant in two zones is one
// key. A big.Int is sorted by value. Structs of other modules with unexported fields, such as
// big.Float, are refused as keys: only their package knows which are equal. Types with maps and
// those that encode themselves have no order: as keys they need a KeyCodec or a Compare. Compare
// needs the keys decoded, so sorting takes longer.
//
// JSON and Gob are codecs for some of the refused types, and Codec shows how to write one. Text
// output is formatted as fmt prints a value (%v). A type that fmt would print as an address is
// refused.
//
// # Limits
//
// Key and value together are at most a quarter of the task's memory (job.RecordLimit; 64 MiB by
// default), and below 1 GiB. The bound holds for combined values too. Values of a key are streamed:
// there may be any number of them, as long as those of one reducer fit on its disk. A larger record
// fails the job at once.
package mapreduce
