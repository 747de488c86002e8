// Package estimation says how large the stages of jobs are: section 3.2 of Pastorelli,
// Barbuzzi, Carra, Dell'Amico and Michiardi, "Practical Size-based Scheduling for
// MapReduce Workloads".
//
//	e := estimation.New(estimation.Defaults())
//	s := estimation.NewStage(kind, 100, 1) // 100 tasks of one slot
//	size, trained := e.Size(s)             // of the tasks before it
//	e.Finished(s, task, estimation.Measure{Execute: 40})
//	size, trained = e.Size(s)
//
// A size is what all tasks of a stage take together, in slot-seconds: a task of two slots
// that takes ten seconds counts twenty. It does not depend on the cluster.
//
// # Before anything is known
//
// The size of k tasks is ξ·k·l, where l is the mean of past tasks of the same kind of slot
// that shuffle, or do not, as these do; a default before there is any. With an infinite
// ξ it is infinite. Where the samples that there are so far took longer than l, their mean is
// in the place of l: samples may be suspended for long, by others that seem smaller.
//
// # Samples
//
// The first tasks that are measured are the samples. Once there are as many as
// Settings.Samples, or as the stage has tasks, the stage is trained: a distribution is
// fitted to the samples' empirical distribution by least squares, and the size is k times its
// mean. Tasks that finish later refine it: each counts as one sample more.
//
// The tasks of a stage that shuffles have two parts. How long they shuffle is the mean of
// the samples, weighted with their input; how long they execute is fitted. They may be
// long, so that one that has executed for Settings.Delta without an end counts as a
// sample that takes elapsed/progress, until it ends.
//
// # Wrong on purpose
//
// Section 4.3 of the paper asks what wrong estimates do. With Settings.Error α each stage has a factor of its own,
// drawn evenly from 1-α to 1+α, that all its sizes are multiplied with: before its samples and after. It
// depends on Settings.ErrorSeed and Stage.Lot alone.
//
// # Odd input
//
// Every result is a number, 0 or more, whatever comes in. A length that is negative or no number counts
// as 0, one above LengthMax as that. Progress counts up to 1, never goes back, and what is
// no number above 0 says nothing: such a task is measured when it has finished. Samples
// that are all equal, and a single one, give just that length. A stage that gets more tasks is
// larger by them, and is trained no more while it has too few samples.
//
// Everything is plain data and arithmetic: equal histories give equal sizes, also when
// they were saved and read in between. A value belongs to one goroutine.
package estimation
