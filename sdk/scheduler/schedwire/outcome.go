package schedwire

import "github.com/hamadryad/hamadryad/sdk/scheduler"

// lastDecision is the last kind of decision that this version knows.
const lastDecision = DecisionKind_DECISION_KIND_SPECULATE

func (c *Outcome) add(w *writer, e *scheduler.Outcome) {
	c.Round = append(c.Round, e.Round)
	c.Kind = append(c.Kind, DecisionKind(checked(w, "decision kind", e.Kind, scheduler.DecisionRefuse, scheduler.DecisionKind(lastDecision))))
	c.Index, c.Accepted = append(c.Index, int64(e.Index)), append(c.Accepted, e.Accepted)
	addIDs(&c.Attempts, e.Attempts)
	c.LaunchBundle = append(c.LaunchBundle, uint64(e.Launch.Bundle))
	addIDs(&c.LaunchLaunchers, e.Launch.Launchers)
	c.LaunchAhead = addAhead(c.LaunchAhead, len(c.Round), e.Launch.Ahead)
	c.Reason = append(c.Reason, RefusalReason(checked(w, "refusal reason", e.Reason, scheduler.NotRefused, scheduler.UserAtLimit)))
	c.Detail = append(c.Detail, w.str(e.Detail))
	switch e.Kind {
	case scheduler.DecisionRefuse:
		get(&c.Refuse, empty).add(w, &e.Refuse)
	case scheduler.DecisionAdmit:
		get(&c.Admit, empty).add(w, &e.Admit)
	case scheduler.DecisionPreempt:
		get(&c.Preempt, empty).add(w, &e.Preempt)
	case scheduler.DecisionResume:
		get(&c.Resume, empty).add(&e.Resume)
	case scheduler.DecisionReserve:
		get(&c.Reserve, empty).add(&e.Reserve)
	case scheduler.DecisionSpeculate:
		get(&c.Speculate, empty).add(&e.Speculate)
	}
}

// outcomeRows are the parts of outcomes that are not one value for each.
type outcomeRows struct {
	attempts  idRows[scheduler.AttemptID]
	launchers idRows[scheduler.LauncherID]

	// The decisions, one for each outcome of their kind, in order. An earlier manager sends
	// preemptions only.
	refuse  []scheduler.Refuse
	admit   []scheduler.Admit
	preempt []scheduler.Preempt
	resume  []scheduler.Resume
	reserve []scheduler.Reserve

	speculate []scheduler.Speculate
}

// check reads the parts of n outcomes.
func (c *Outcome) check(r *reader, n int) outcomeRows {
	r.same("outcome", n, len(c.GetRound()), len(c.GetKind()), len(c.GetIndex()), len(c.GetAccepted()),
		len(c.GetLaunchBundle()), len(c.GetReason()), len(c.GetDetail()))
	var kinds [lastDecision + 1]int
	for _, kind := range c.GetKind() {
		if kind > 0 && kind <= lastDecision {
			kinds[kind]++
		}
	}
	if len(c.GetLaunchAhead()) > 0 {
		r.same("outcome launch ahead", n, len(c.LaunchAhead))
	}
	r.same("outcome preempt", kinds[DecisionKind_DECISION_KIND_PREEMPT], len(c.GetPreempt().GetMode()))
	return outcomeRows{
		attempts:  readIDs(r, "outcome attempts", n, c.GetAttempts(), &r.mem.attempts),
		launchers: readIDs(r, "outcome launchers", n, c.GetLaunchLaunchers(), &r.mem.launchers),
		preempt:   c.GetPreempt().values(r),
		refuse:    allOrNone(r, "outcome refuse", kinds[DecisionKind_DECISION_KIND_REFUSE], c.GetRefuse().values(r)),
		admit:     allOrNone(r, "outcome admit", kinds[DecisionKind_DECISION_KIND_ADMIT], c.GetAdmit().values(r)),
		resume:    allOrNone(r, "outcome resume", kinds[DecisionKind_DECISION_KIND_RESUME], c.GetResume().values()),
		reserve:   allOrNone(r, "outcome reserve", kinds[DecisionKind_DECISION_KIND_RESERVE], c.GetReserve().values(r)),
		speculate: allOrNone(r, "outcome speculate", kinds[DecisionKind_DECISION_KIND_SPECULATE], c.GetSpeculate().values()),
	}
}

// allOrNone returns rows of which there are n, or none from an earlier manager.
func allOrNone[T any](r *reader, where string, n int, rows []T) []T {
	if len(rows) > 0 {
		r.same(where, n, len(rows))
	}
	return rows
}

// row returns the i-th outcome.
func (c *Outcome) row(r *reader, i int, at scheduler.Time, rows *outcomeRows) scheduler.Outcome {
	o := scheduler.Outcome{
		At: at, Round: c.Round[i], Index: int(c.Index[i]), Accepted: c.Accepted[i], Detail: r.str(c.Detail[i]),
		Kind:     scheduler.DecisionKind(known(r, "decision kind", c.Kind[i], DecisionKind_DECISION_KIND_REFUSE, lastDecision)),
		Attempts: rows.attempts.next(),
		Launch:   scheduler.Launch{Bundle: scheduler.BundleID(c.LaunchBundle[i]), Launchers: rows.launchers.next()},
		Reason:   scheduler.RefusalReason(known(r, "refusal reason", c.Reason[i], RefusalReason_REFUSAL_REASON_UNSPECIFIED, RefusalReason_REFUSAL_REASON_USER_AT_LIMIT)),
	}
	if len(c.LaunchAhead) > 0 {
		o.Launch.Ahead = c.LaunchAhead[i]
	}
	switch o.Kind {
	case scheduler.DecisionRefuse:
		o.Refuse = shift(&rows.refuse)
	case scheduler.DecisionAdmit:
		o.Admit = shift(&rows.admit)
	case scheduler.DecisionPreempt:
		o.Preempt = shift(&rows.preempt)
	case scheduler.DecisionResume:
		o.Resume = shift(&rows.resume)
	case scheduler.DecisionReserve:
		o.Reserve = shift(&rows.reserve)
	case scheduler.DecisionSpeculate:
		o.Speculate = shift(&rows.speculate)
	}
	return o
}

// shift removes the first row and returns it; the zero value if there is none.
func shift[T any](rows *[]T) (first T) {
	if len(*rows) > 0 {
		first, *rows = (*rows)[0], (*rows)[1:]
	}
	return first
}
