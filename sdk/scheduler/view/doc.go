// Package view mirrors the manager's state from the events and offers that a policy receives. It
// has the jobs with the counts of their stages, launchable bundles, live attempts, and launchers
// with their free and reserved slots.
//
// A policy starts a View with its Snapshot, applies every Round, and decides:
//
//	err := v.Apply(round)
//	for b := range v.Ready() {
//		if where, ok := v.Fit(b); ok {
//			d.Launch = append(d.Launch, v.Launch(b, where))
//		}
//	}
//
// View has the lists, the searches for a place (Fit and its relatives) and Launch. Job.Ready and
// its relatives walk the bundles of one job. View.Capacity has what is free and what is reserved.
//
// # Rules of the mirror
//
// The manager keeps these rules; a round that breaks one is an error.
//
//   - A bundle is unknown until its first BundleReady. It then is Ready, and
//     leaves ready when the Outcome of a launch says accepted: its attempts are
//     Assigned from then on. BundleWithdrawn takes it out of ready.
//   - AttemptStarted moves an attempt to Running, AttemptSuspended to Suspended,
//     AttemptResumed back. A suspended attempt holds memory and no slots.
//     AttemptEnded removes the attempt, whatever its state.
//   - A bundle is Finished when all attempts of one launch of it ended Finished;
//     attempts of different launches do not add up. If all its attempts are gone and it
//     is not Finished, it is Waiting; BundleReady (or JobFinished) follows.
//   - BundleReopened turns Finished to Waiting.
//   - BundleGivenUp turns Waiting to Finished without an attempt that finished, and back. The
//     bundle may be unknown.
//   - SpeculationOffered makes a Launched bundle launchable a second time, with
//     its own Avoid. Job.Seconds walks such bundles, Ready and its relatives do
//     not. The offer ends when it is launched, by SpeculationWithdrawn, or when an
//     attempt of it ends or is preempted. The groups of both attempts count once.
//   - BundleProtected sets until when attempts of a bundle may not be preempted.
//   - LauncherLost removes the launcher and its offer; AttemptEnded with
//     outcome Lost follows for each of its attempts before it joins again.
//   - JobFinished comes when the job has no live attempt, and removes it.
//   - In a Snapshot the same holds, and a finished attempt may name a launcher
//     that is gone. A live attempt may not.
//   - An accepted preemption marks its victims Leaving until they are ended or
//     suspended, or SuspensionFailed says that they run on. AttemptStopping marks an
//     attempt Stopping until it is ended, as does a preemption that does not suspend it.
//   - An attempt that was launched ahead (Attempt.Ahead) holds nothing, and is in Job.Ahead and
//     Bundle.Attempts alone, until AttemptTookSlots.
//
// # What a decision costs
//
// While it decides, a policy takes capacity tentatively with Fit and Capacity.Take, so that the
// launches of one round do not collide. The next Apply discards all tentative changes: the offers
// of that round include what was accepted.
//
// Applying a round costs in proportion to what it lists. Iteration is in order of id everywhere, so
// equal histories give equal decisions. A View belongs to one goroutine; what it returns is valid
// until the next Apply and must not be changed.
//
// Policies keep their shares, queues and excluded launchers by events, so that a round costs only
// what changed.
package view
