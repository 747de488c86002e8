package launcher

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// timeoutSlack is how long an attempt may run on after its stage's timeout and its worker's grace
// period, before the launcher ends it.
const timeoutSlack = 5 * time.Second

// timeout is until when an attempt may run, in running time without suspensions. A worker ends its
// attempt itself by then. The launcher ends it if the whole process hangs.
type timeout struct {
	limit *wire.AttemptLimit // as its worker reported it; nil: there is none
	ends  time.Duration
	why   *wire.Failure // why the launcher ended it; nil: it did not
}

// set takes in for how long the nodes of an attempt may run that has run for ran already.
func (t *timeout) set(l *wire.AttemptLimit, ran time.Duration) {
	if l.TimeoutNs <= 0 {
		return
	}
	ends := ran
	for _, d := range []time.Duration{time.Duration(l.TimeoutNs), time.Duration(max(l.GraceNs, 0)), timeoutSlack} {
		if ends += d; ends < 0 {
			return // more than 290 years
		}
	}
	*t = timeout{limit: l, ends: ends}
}

// passes reports whether the timeout of an attempt that ran for so long has passed. It is true
// once.
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

// failure returns why the launcher ended the attempt; nil: it did not.
func (t *timeout) failure() *wire.Failure { return t.why }
