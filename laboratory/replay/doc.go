// Package replay reads the event log of a manager: a site's recorded days.
//
//	r, err := replay.Open("data/manager")
//	v, err := replay.Verify(ctx, r, replay.VerifyOptions{Host: host})
//
//	d, err := replay.Extract(ctx, r, seed, nil)
//
// Verify sends each recorded round to a policy again, and compares its answers with the recorded
// ones. Extract converts the log to a workload and a cluster, so that laboratory/simulation can
// play the day under another policy.
//
// The batches of the log go through the manager's own core again, which reproduces the rounds and
// snapshots. A file opens with a checkpoint of the core, so a log whose first files are gone is
// read from there on. Records that can't be restored are counted and reported.
//
// A Recording changes nothing, and may read the log of a running manager. It is for one goroutine.
//
// # What the log has
//
// The log says which settings were in force. It has the core's at each start of the manager and at
// each change. It has a policy's at each of its starts, and at each change that it is asked to
// accept. Verify sends each policy process the recorded input, and compares each answer. The
// environment says that it is a replay (scheduler.Environment.Replayed). The policy decides as
// usual, its shell does not run, and it writes nothing beside its decisions. When a log's first
// files are gone, the core continues from a checkpoint, and a policy from its next start. Rounds
// before that are counted and not compared.
//
// # A day as a workload
//
// Jobs come at the time, and with the graphs, of their submission, so groups and bundles are those
// of the day. Launchers have their names, hosts and racks, and come and go as they did. A task's
// work is the time that its successful attempt held its slot once its program ran. The wait of an
// early reader for its last writer is subtracted, and so is the cost of distance from its input.
// That cost is the median over stages that read near and far. A task that never finished draws the
// time of one of its stage that did.
//
// A policy's answer takes the median recorded time. When a round was still unanswered at that time
// in the log, it takes as long as it did then, as on a busy machine. So under its own policy each
// job takes about as long as it took. Ties remain: two slots that become free at nearly the same
// moment may be assigned the other way round.
//
// Failures of programs, changes of a job's pool or priority, and drains are not played. Each is
// counted and reported.
package replay
