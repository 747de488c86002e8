// Package jobtest runs a whole job in one process, for unit tests of
// applications: no manager, no launcher, nothing to start.
//
//	func TestCount(t *testing.T) {
//		out := t.TempDir() + "/out"
//		result, err := jobtest.Run(t.Context(), wordCount, []string{"testdata", out}, jobtest.Options{})
//		...
//	}
//
// Nodes are goroutines and all channels are queues in memory, so a test's data must fit there. A
// writer of a tcp or shm channel waits for a reader that moves. It goes on without it when the
// reader waits for something else, as on a cluster, which spills. Beyond Options.Spill the job
// fails, and names who waits for whom. Input files are planned and read, and output folders
// published, as on a cluster. Like a cluster it builds the graph twice, and refuses a builder that
// makes another one the second time. Nodes that are joined by tcp or shm channels run together,
// after all that they read by file channels is complete. What it leaves out: retries, preemption,
// slow-start and Stage.Quiet.
package jobtest
