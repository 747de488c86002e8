// Package jobtest runs a whole job in one process, for unit tests of applications: no manager, no
// launcher, nothing to start.
//
//	func TestCount(t *testing.T) {
//		out := t.TempDir() + "/out"
//		result, err := jobtest.Run(t.Context(), wordCount, []string{"testdata", out}, jobtest.Options{})
//		...
//	}
//
// Nodes are goroutines and all channels are queues in memory, so a test's data must fit there. A
// writer of a tcp or shm channel waits while its reader makes progress. If the reader waits for
// something else, the writer goes on without it, as on a cluster, which spills. Beyond
// Options.Spill the job fails, and the error names the nodes that wait for each other. Input files
// are planned and read, and output folders published, as on a cluster. Like a cluster it builds the
// graph twice, and refuses a builder that makes another graph the second time. Nodes that are
// joined by tcp or shm channels run together, after all that they read by file channels is
// complete. It leaves out: retries, preemption, slow-start and Stage.Quiet. An element of a job array
// that fails ends the job at once.
package jobtest
