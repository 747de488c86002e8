// Package scheduler is the contract between the manager and a scheduling policy: what runs next,
// and where.
//
// A policy is a deterministic state machine. It learns of the world only through the events of a
// Round, time comes inside those events, and it answers with Decisions. The same policy value
// therefore schedules a real cluster, runs a simulated week in seconds and replays a recorded log.
// A policy must not read a clock, a file, a socket or a random source while it decides; its
// Environment gives it a seed.
//
// The smallest useful policy keeps a view (package view), and in AssignTasks walks the ready
// bundles and the offers:
//
//	func (p *policy) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
//		var d scheduler.Decisions
//		if err := p.view.Apply(r); err != nil {
//			return d, err
//		}
//		for b := range p.view.Ready() {
//			if where, ok := p.view.Fit(b); ok {
//				d.Launch = append(d.Launch, p.view.Launch(b, where))
//			}
//		}
//		return d, nil
//	}
//
// The manager checks every decision against its own state, which has moved on meanwhile. It answers
// each with exactly one Outcome in the next round. A decision without an outcome never happened.
//
// The package imports only the standard library. Values of it are plain data: they are not safe for
// concurrent mutation, and the SDK makes one call of a policy at a time.
//
// # Rounds
//
// One round is in flight at a time. An answer carries its round and the policy's generation; others
// are dropped. Decisions are applied in this order: refuse and admit, preempt, resume, launch,
// reserve, speculate.
// Optional parts of the contract are abilities: to judge submissions, to receive progress or
// machines' load. A policy declares them at its start, and again with settings that it accepts.
//
// An answer to Explain or Status only shows something. One that is too large, not finite or not
// printable (Status.Check) is refused with its place, and harms nothing. Rounds wait while a policy
// explains a job, so each watch of a job asks once a second at most.
//
// A suspended attempt that its launcher can't resume is lost, and queued again; the launcher is not
// excluded. A second attempt may race one that has been suspended for core.speculationSuspended:
// the manager offers it. Attempts of a stage with job.Stage.NoSuspend are never suspended, nor is
// what runs together with them. JobSubmitted names the stages that a stage reads from, so no policy
// takes an early reader for one that has all of its input.
package scheduler
