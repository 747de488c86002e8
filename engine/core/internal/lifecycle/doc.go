// Package lifecycle moves jobs, bundles and attempts from their start to their end.
//
//   - Admission: a job is reserved an id, submitted, checked, admitted or refused. It may wait for
//     other jobs before.
//   - Jobs: bundles commit, reopen when their output is lost; the last group publishes or cleans.
//   - Bundles: a bundle is offered to the policy when its inputs open, and withdrawn when they
//     close.
//   - Speculation: a bundle that straggles is offered for a second attempt.
//   - Attempts: an attempt is launched, started, suspended, resumed, and ends.
//   - Finishers: the last group of a job is started on a launcher.
//
// Admission uses Jobs, Jobs use Bundles, Attempts use all three and Speculation, Finishers use
// Attempts.
//
// # Invariants
//
// A refused submission leaves no state. A repeated submission gets the same answer.
//
// A bundle commits once, by the first of its attempts whose end is accepted, unless it is reopened.
// Of several attempts at a bundle at most one has the commit grant. A bundle attempt that loses a
// member is stopped whole.
//
// A bundle of a running job with an id and without missing inputs is ready, running or finished.
// The policy knows each ready bundle and the launchers that it excludes.
//
// An attempt holds slots from its launch until its end was reported or its launcher was lost,
// except while it is suspended or held ahead. A job that ends starts only its last group, and none
// of its attempts runs when it is over.
//
// # Launches ahead
//
// A launch ahead gives a launcher an attempt that it holds. Such an attempt has no slots, and is
// assigned. When an attempt of its job and stage ends at the launcher by itself, the launcher
// starts it in the same process. The report of that end names it (AttemptEnded.next). The core then
// hands it all that the ended one had, in the same step. So what is free and what job and user hold
// does not change, and no slot has two holders.
//
// A launcher that names none has not got the command yet, or its process ended. Then the core picks
// the one that was launched first, and sends its command again without "ahead".
//
// There is room ahead of attempts of bundles of one group, without countable resources, and of
// stages whose attempts are short: core.aheadMax for each. There is none where something is reserved
// or suspended, or is about to be. A closed launcher has none either. A launch ahead that finds no
// room and free slots takes these: while the policy decided, what it was to wait for ended.
//
// An attempt that is held is withdrawn by a stop, as any other is stopped. It ends when its
// launcher has confirmed. If the launcher had started it before, its report says so. Then the
// attempt gets its slots, and gives them up when it ends. The beneficiary of a preemption gets them,
// where there is one.
//
// These withdraw what is held on a launcher: a preemption, a suspension or a reservation there, a
// drain, an exclusion, and another policy. One that was held for core.aheadFor is withdrawn, too.
//
// Other reports of an attempt that is held come after a lost report of the end before, which is
// sent again. They change nothing, and come again too.
//
// # Jobs that are announced
//
// A submitter announces a job, with its outputs and a secret, before it submits. When it is killed
// in between, it leaves an empty temporary folder. After preparedFor the manager removes that
// folder, if it is empty, local and visible to the manager (manager/internal/api/announced.go). A
// manager that restarted since does not know of it.
//
// A job's number belongs to the user to whom it was announced: no other user can submit under it.
// The pool is checked at submission, and again when the policy admits the job into another pool
// (Admit.Pool). Only a policy that may put jobs elsewhere asks for admission, since no job starts
// while such a policy is down. A move is checked against the pool that it names. A policy that
// would put the job elsewhere leaves it in its pool.
//
// CheckSubmission decides what depends on the submission and the settings alone: access, proof,
// names and outputs. The manager's edge calls it too, before it stores a large job's graph, to fail
// early.
//
// If the last policy that was no fallback had an authenticator, the core refuses a job without a
// proof. It does so also while the fallback decides. Jobs that wait for the policy's answer keep
// waiting. core.admitWithoutPolicy opens admission, and never the authenticator.
//
// # Jobs that wait for others
//
// A submission may name jobs that have to end first (JobSpec.after). It is answered at once, and the
// job has the phase JobWaiting. The policy is not asked about it, and its bundles have no ids. The
// end of a dependency marks the jobs that wait for it, and later steps go on with those whose wait is
// over. They ask for the admission, or fail. A job that ends before its admission goes to its last
// group as others do, which removes the folders that its submitter made. The policy never hears of
// it. A policy that is down when the wait ends is waited for, as no client could submit again.
//
// The core forgets ended jobs. So the manager's edge adds to the submission the ended jobs that
// history knows (Submit.ended). They are logged with it, and a replay decides the same.
//
// # The last group
//
// When all bundles have committed, a last group publishes the outputs. After a failure or a kill it
// cleans instead. The core starts it without the policy. It takes no slot, and none of the memory
// that launchers have for tasks. core.finishersMax (4) bounds how many run on one launcher. A
// killed job has the state "killing" until that group has ended.
//
// The publisher asks for an explicit grant, which is logged. The log may have lost a grant. So when
// a job outlived a life of the manager, the cleaning group first looks whether the outputs are
// published already.
//
// A publishing job can be killed. Its publisher is stopped. The cleaning group renames the
// temporary folder, so that no publisher can finish any more, and then looks. When all outputs are
// there, the kill came too late and the job has succeeded. An output that is there although the job
// did not succeed stays, and the job's failure names it.
//
// # Errors of the store
//
// An error that another try meets again (storage.Stays), such as a permission or a quota, may come
// from a bad mount of one launcher. So another launcher tries, and the job avoids the first. The
// job fails:
//
//   - when a second launcher sees the same error (Failure.refusal) and the store took nothing of
//     the job,
//   - when eight launchers are refused,
//   - or at once when there is no other launcher.
//
// The failure names launcher and path. When another launcher succeeds, the launchers that were
// refused are held at fault. Other errors are tried again publishTries times, and blame no
// launcher.
//
// A full store is no fault of a launcher or a job. A bundle that met one waits, and status shows
// that. One bundle is tried after storeFullRetryAfter, and the time doubles up to
// storeFullRetryMax. When it could write, others follow. A job that waited storeFullMax (30
// minutes) in all since the store last took files fails with that name.
//
// When publishing failed for good, the parts stay. The last group writes a list of the parts that
// count beside them, or into its log when the store takes no file. The job's failure names the
// folder, from which "hamadryad publish" makes the output once the cause is removed. The submitting
// program leaves alone what the job's status lists as kept.
//
// # Failures
//
// A failed attempt is tried again elsewhere, attemptsMax times, unless its error is permanent
// (job.Permanent). Lost attempts are tried again and not counted against the program.
//
// A launcher on which several jobs fail is excluded for a while (excludeJobs, excludeFor), and the
// policy gets an event. Jobs of one user that run one program (by its hash) have one vote together,
// since that program may be broken. A job that succeeds elsewhere has a vote of its own. At most
// 100 votes against a launcher are kept. "hamadryad launchers" shows for which jobs, and until
// when; "hamadryad undrain" readmits it. When a bundle's program fails by itself on two launchers,
// its job is at fault, and that job's votes against launchers are withdrawn.
//
// A job with a bundle that no set of launchers could ever hold fails after unplaceableAfter. The
// message says what the bundle needs and what there is. Status says at once that a bundle does not
// fit. All groups of a bundle are placed together (internal/packing), and view.View.Fit does so too
// where a gang does not fit at first.
package lifecycle
