package policyhost

import (
	"log/slog"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// refusalLogEvery is the least time between two lines about refused decisions: a
// bad policy has thousands refused in a second.
const refusalLogEvery = time.Second

// refusalLog logs refused decisions of the policy. Used by the core's goroutine only.
type refusalLog struct {
	last  time.Time
	count int // since the last line
}

// round counts the refusals of a round, and writes a line when it is due.
func (l *refusalLog) round(log *slog.Logger, r *scheduler.Round) {
	var example scheduler.Outcome
	for _, e := range r.Events {
		if o, ok := e.(scheduler.Outcome); ok && !o.Accepted {
			l.count++
			example = o
		}
	}
	if example.At == 0 || time.Since(l.last) < refusalLogEvery {
		return
	}
	log.Warn("decisions of the policy were refused", "count", l.count, "last", example.Kind.String(),
		"reason", example.Reason.String(), "detail", example.Detail, "round", example.Round)
	l.last, l.count = time.Now(), 0
}
