// Package streaming is Hadoop streaming: MapReduce whose mapper, reducer and combiner are commands
// in any language. The commands read lines on standard input and print lines.
//
//	hamadryad-streaming -D mapreduce.job.reduces=2 -input logs -output hits \
//	    -mapper 'grep -o GET.*' -reducer 'uniq -c'
//
// Parse reads such a command line, and does no I/O; Definition is the job that it describes. The
// options mean what they mean in Hadoop ("Hadoop Streaming" in its documentation). Where that is
// silent, its classes PipeMapRed, PipeMapper and PipeReducer count. A feature of Hadoop that this
// package lacks is refused; the error says what to do instead. docs/STREAMING.md has the table.
//
// How it runs: a map task writes each of its files to a mapper of its own. If the lines need no
// key, it writes raw blocks. It splits what the mapper prints into pairs, which package mapreduce
// sorts. A reduce task is one reducer that reads "key, separator, value" in order of key. A
// combiner reads a map task's sorted pairs, once. Nothing is allocated per line.
//
// Limits: a line that a command prints has at most 256 MiB; a command has at most 120 counters.
package streaming
