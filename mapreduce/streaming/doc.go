// Package streaming is Hadoop streaming: MapReduce whose mapper, reducer and
// combiner are commands in any language, that get lines on standard input and
// print lines.
//
//	hamadryad-streaming -D mapreduce.job.reduces=2 -input logs -output hits \
//	    -mapper 'grep -o GET.*' -reducer 'uniq -c'
//
// Parse reads such a command line, purely; Definition is the job that it
// describes. The meaning of the options is that of Hadoop ("Hadoop Streaming" in
// its documentation, and where that says nothing its classes PipeMapRed, PipeMapper
// and PipeReducer); what is known there and can't be done here is refused with what
// to do instead. docs/STREAMING.md has the table.
//
// How it runs: a map task writes each of its files to a mapper of its own, as
// raw blocks where the lines need no key, and splits what that prints into pairs,
// which package mapreduce sorts. A reduce task is one reducer that reads "key,
// separator, value" in order of key. A combiner reads a map task's sorted pairs,
// once. Nothing is allocated per line.
//
// Limits: a line that a command prints has at most 256 MiB; a command has at most
// 120 counters.
package streaming
