// Package scheduler is the contract between the manager and a scheduling
// policy: what runs next, and where.
//
// A policy is a deterministic state machine. It learns of the world only
// through the events of a Round, time comes inside those events, and it answers
// with Decisions. The same policy value therefore schedules a real cluster,
// runs a simulated week in seconds and replays a recorded log. A policy must
// not read a clock, a file, a socket or a random source while it decides; its
// Environment gives it a seed.
//
// The smallest useful policy keeps a view (package view), and in AssignTasks
// walks the ready bundles and the offers:
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
// The manager checks every decision against its own state, which moved on while
// the policy thought, and answers each with exactly one Outcome in the next
// round. A decision without an outcome never happened.
//
// The package imports only the standard library. Values of it are plain data:
// they are not safe for concurrent mutation, and the SDK makes one
// call of a policy at a time.
package scheduler
