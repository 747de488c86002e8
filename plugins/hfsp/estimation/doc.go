// Package estimation estimates how large the stages of jobs are: section 3.2 of Pastorelli,
// Barbuzzi, Carra, Dell'Amico and Michiardi, "Practical Size-based Scheduling for MapReduce
// Workloads".
//
//	e := estimation.New(estimation.Defaults())
//	s := estimation.NewStage(kind, 100, 1) // 100 tasks of one slot
//	size, trained := e.Size(s)             // of the tasks before it
//	e.Finished(s, task, estimation.Measure{Execute: 40})
//	size, trained = e.Size(s)
//
// A size is the work of all tasks of a stage together, in slot-seconds: a task of two slots that
// takes ten seconds counts twenty. It does not depend on the cluster.
//
// # Before anything is known
//
// The size of k tasks is ξ·k·l. l is the mean of past tasks of the same kind of slot that shuffle,
// or do not, as these do. Before there is any it is a default. With an infinite ξ the size is
// infinite. Where the samples so far took longer than l, their mean replaces l: samples may be
// suspended for long, by stages that seem smaller.
//
// # Samples
//
// The first tasks that are measured are the samples. A stage is trained once there are as many as
// Settings.Samples, or as the stage has tasks. Then a distribution is fitted to the samples'
// empirical distribution by least squares, and the size is k times its mean. Tasks that finish
// later refine it: each counts as one sample more.
//
// The tasks of a stage that shuffles have two parts. The time of the shuffle is the mean of the
// samples, weighted with their input; the time of execution is fitted. Tasks may be long. So one
// that has executed for Settings.Delta without an end counts as a sample of elapsed/progress, until
// it ends.
//
// # Wrong on purpose
//
// Section 4.3 of the paper studies wrong estimates. With Settings.Error α each stage has a factor
// of its own, drawn evenly from 1-α to 1+α. All its sizes are multiplied with it, before its
// samples and after. It depends on Settings.ErrorSeed and Stage.Lot alone.
//
// # Limits
//
// Every result is a number, 0 or more, for any input. A length that is negative or no number counts
// as 0, and one above LengthMax as LengthMax. Progress counts up to 1 and never goes back. A
// progress of 0 or no number says nothing: such a task is measured when it has finished. A single
// sample, or equal ones, give just their length. A stage that gets more tasks is larger by them. It
// is not trained while it has too few samples.
//
// Everything is plain data and arithmetic: equal histories give equal sizes, also when they were
// saved and read in between. A value belongs to one goroutine.
package estimation
