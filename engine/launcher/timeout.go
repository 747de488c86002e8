package launcher

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// timeoutSlack is how much longer than the timeout of its stage, and the time that its worker may
// take to end it, an attempt may run before the launcher ends it.
const timeoutSlack = 5 * time.Second

// timeout is until when an attempt may run, in time that it ran without suspensions. A worker ends
// its attempt itself by then. The launcher does where the whole process hangs, so that no part of it
// runs.
type timeout struct {
	limit *wire.AttemptLimit // as its worker told it; nil: it has none
	ends  time.Duration
	why   *wire.Failure // why the launcher ended it; nil: it did not
}

// set takes in for how long the nodes of an attempt may run, which has run for a while.
func (t *timeout) set(l *wire.AttemptLimit, ran time.Duration) {
	if l.TimeoutNs <= 0 {
		return
	}
	ends := ran
	for _, d := range []time.Duration{time.Duration(l.TimeoutNs), time.Duration(max(l.GraceNs, 0)), timeoutSlack} {
		if ends += d; ends < 0 {
			return // it is in more than 290 years
		}
	}
	*t = timeout{limit: l, ends: ends}
}

// passes says whether the timeout has passed of an attempt that ran for so long. It is true once.
func (t *timeout) passes(ran time.Duration) bool {
	if t.limit == nil || t.why != nil || ran < t.ends {
		return false
	}
	t.why = &wire.Failure{
		Kind: wire.ErrorKind_ERROR_KIND_PROGRAM, Stage: beginning(t.limit.Stage), Index: t.limit.Index,
		Message: fmt.Sprintf("its program ran for longer than %v, which is the timeout of its stage (Stage.Timeout); its worker did not end it, so the launcher ended the worker", time.Duration(t.limit.TimeoutNs)),
	}
	return true
}

// failure is why the launcher ended the attempt; nil: it did not.
func (t *timeout) failure() *wire.Failure { return t.why }
