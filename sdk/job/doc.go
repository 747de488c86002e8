// Package job is the DAG API: a job is a graph of nodes joined by channels.
//
// A builder makes stages (nodes cloned from one program), and joins their ports. The same builder
// runs where the job is submitted and again in every worker, so programs are ordinary closures.
// Therefore it must do no I/O of its own, and build the same graph each time from the same
// arguments.
//
//	func build(g *job.Graph, args []string) error {
//		tasks, err := g.Files(job.Files{Patterns: args[:1]})
//		if err != nil {
//			return err
//		}
//		out := g.Output(args[1])
//		grep := g.Stage("grep", len(tasks), grepProgram).Read(tasks)
//		count := g.Stage("count", 1, countProgram(out))
//		g.AllToAll(grep.Out("hits"), count.In("hits"), job.Channel{Kind: job.File})
//		return nil
//	}
//
// If a program returns an error, the engine runs it again, on another node, a few times. If the
// error is Permanent, the job fails at once.
//
// There is no runtime in this package: the engine's worker implements Runtime.
//
// # Progress
//
// Status shows how much of a stage is done. MapReduce and streaming report the fraction of the
// merged pairs that the reduce function has received. Other programs may report with Node.Progress.
//
// # Processors
//
// A worker's programs may use all processors that it has. While one stage's programs each end within
// two milliseconds, GOMAXPROCS is 1: that is faster for them. A program that runs longer, or a stage
// that is another, gets all processors back. What a program sets itself stays.
package job
