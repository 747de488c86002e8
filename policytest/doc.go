// Package policytest is the conformance kit that every policy runs, in process and as a plug-in. It
// plays on the manager's own core with simulated launchers, in virtual time.
//
//	func TestConformance(t *testing.T) {
//		policytest.Run(t, fifo.New, policytest.Options{})
//	}
//
// The kit plays games with a policy: the stories in testdata/stories, and random games from seeds.
// It demands:
//
//   - Answers come without error, in time and within the limits.
//   - The policy makes no decision that it could know to be wrong. It launches nothing that is
//     not ready, twice, half, or beyond the offer, unless the cluster changed while it thought.
//   - An offer of a second attempt is taken while it stands, or not at all. It ends when the first attempt
//     is preempted, is resumed or has ended.
//   - Every job ends once no more are submitted, unless it was refused.
//   - The same rounds bring the same decisions, also after restarts at random rounds. A restart is from a
//     snapshot, and from a checkpoint with that ability. Reasons for waiting are compared by what is in
//     force, not by when they were sent.
//   - Explain knows every live job. Explain, Status and the pages of a PageHandler change nothing: they
//     are called in one play of a game and not in the other.
//   - Pages are within their bounds, and the same when they are asked for twice, whatever the query is and
//     whoever asks. An authenticator is in a plug-in's shell, which the kit does not start: it asks as
//     authenticators would say who it is.
//   - Settings are strict. An unknown key is refused with its line by Check, by Start, and as a new version,
//     which leaves the old one in force.
//   - Settings that change while a game goes on are answered. A policy that starts has those in force.
//   - Every admission and page is answered, and refusals have a reason.
//   - Nothing impossible is shown. No number is negative, not finite, or larger than anything there is.
//     No text steers a terminal, and a page that is said to be JSON is. The queue of a Status has only
//     jobs that the policy was told of and that have not ended.
//   - The policy ends when it is told to terminate.
//   - No slot idles while ready work fits it (see Free slots).
//
// Options.Seeds and Options.For say how many games are played. A game that breaks a rule is made
// short: the kit leaves events out and makes jobs smaller while the same rule is broken.
// Report.Story tells the short game in words.
//
// Report.Warnings lists likely mistakes that break none of these, such as a reservation that is
// never used.
//
// Jobs of random games have users, pools, priorities and properties of all kinds, including those
// in the settings, or Options.Properties.
//
// # Free slots
//
// No slot may idle for longer than a heartbeat of virtual time while ready work fits it. After each
// answer the kit compares the free slots with the ready bundles of one group. A bundle of several
// groups that fits whole, on what is free or reserved for it, must be launched within a heartbeat,
// too. So slots that were preempted for it are not kept in vain. The kit counts no slot
//
//   - that a ready bundle could use which needs more than is free, or an attempt that is
//     suspended there;
//   - of a job for which the policy gave a reason that slots stay free: WaitAtLimit,
//     WaitLocality, WaitBudget, WaitPreempting, or WaitHeld for all others (Decisions.Waiting).
//     WaitPreempting is no reason for what fits whole, and WaitLocality counts for
//     Options.LocalityMax (30 s) since the job last launched something;
//   - of a launcher whose machine is reported busy, with AbilityLoad;
//   - that idled while the policy thought and the cluster changed.
//
// The kit believes reasons. So a policy that holds slots back on purpose passes if it says so. For
// another policy the kit reports the idle slot, and the work that fits it.
//
// The kit does not know a policy's purpose. Play runs a policy on the core for tests of its
// decisions.
//
// Check is the same without package testing, for commands. Compare plays one game through two
// drivers, such as a value and its plug-in, and demands the same decisions.
package policytest
