// Package policytest is the conformance kit that every policy runs, in process and
// as a plug-in. It plays on the manager's own core with simulated launchers, in virtual time.
//
//	func TestConformance(t *testing.T) {
//		policytest.Run(t, fifo.New, policytest.Options{})
//	}
//
// The kit plays games with a policy: the stories in testdata/stories, and random
// games from seeds, on the core of the manager (package cluster). It demands
//
//   - answers without error, in time and within the limits;
//   - decisions that the policy could know to be right: nothing launched that is
//     not ready, twice, half, or beyond the offer, except when the world moved
//     while it thought;
//   - no second attempt of a straggler, or of what was suspended for long, once that is
//     taken off, goes on or has ended; whether the policy takes such an offer is its choice;
//   - that every job ends once no more come, unless it was refused;
//   - the same decisions for the same rounds; also after restarts from a snapshot
//     (and a checkpoint, with the ability) at random rounds, where reasons for
//     waiting are compared by what stands, not by when they were sent;
//   - that Explain knows every live job, and that Explain, Status and the pages of a
//     PageHandler change nothing: they are called in one play of a game and not in the other;
//   - pages within their bounds that are the same when they are asked for twice, from before the
//     first round on, whatever the query is and whoever asks. An authenticator is in a plug-in's
//     shell, which the kit does not start: it asks as authenticators would say who it is;
//   - strict settings: an unknown key is refused with its line by Check, by Start,
//     and as a new version, which leaves the old one in force;
//   - an answer to settings that change while a game goes on, to others that Check
//     accepts; a policy that starts has those in force;
//   - every admission and page answered, refusals with a reason;
//   - nothing shown that can't be: a number that is not finite, negative or larger than
//     anything there is, text that is no text, steers a terminal or has several lines, a
//     page that is said to be JSON and is not;
//   - an end when it is told to terminate;
//   - no slot that idles while ready work fits it (see Free slots).
//
// Report.Warnings tells of what breaks none of these and may be a mistake, such as a
// reservation that is never used.
//
// Jobs of random games have users, pools, priorities and properties of all kinds, and
// such as the settings mention, or Options.Properties.
//
// # Free slots
//
// No slot may idle for longer than a heartbeat of virtual time while ready work fits it. After each
// answer the kit compares the free slots with the ready bundles of one group. A bundle of
// several groups that fits whole, on what is free for all and what is reserved for it, must be
// launched within a heartbeat, too: so slots that were taken back for it are not kept in vain. The
// kit counts no slot
//
//   - that a ready bundle could use which needs more than is free, or an attempt that is
//     suspended there;
//   - of a job for which the policy gave a reason that slots stay free: WaitAtLimit,
//     WaitLocality, WaitBudget, WaitPreempting, or WaitHeld for all others (Decisions.Waiting).
//     WaitPreempting is no reason for what fits whole, and WaitLocality counts for
//     Options.LocalityMax (30 s) since the job last launched something;
//   - of a launcher whose machine is told to be busy, with AbilityLoad;
//   - that idled while the policy thought and the world moved.
//
// The kit believes reasons. So a policy that holds slots back on purpose passes if it says so;
// one that does not is told which slot idled, and for which work.
//
// What a policy is for is not the kit's to know. Play puts one on the core for tests of what it
// decides.
//
// Check is the same without package testing, for commands; Compare plays one game
// through two drivers, such as a value and its plug-in, and demands the same
// decisions.
package policytest
