package policyhost

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// listedTooLong is for how long a policy's status may name a job that has ended: the policy
	// hears of the end in its next round, and may compute its order from time to time.
	listedTooLong = 10 * time.Second
	// listedNamedMax bounds the jobs that a problem names.
	listedNamedMax = 5
)

// listedJobs are the jobs that a generation's status names although they are not live, each since
// when. Only the goroutine that asks for the status uses it.
type listedJobs struct {
	since map[scheduler.JobID]time.Time
	told  bool // it is told once for a generation
}

// update takes the missing jobs of a status in, and returns those that it has named for too long.
func (l *listedJobs) update(now time.Time, missing []scheduler.JobID) (late []scheduler.JobID) {
	since := make(map[scheduler.JobID]time.Time, len(missing))
	for _, j := range missing {
		since[j] = begun(l.since[j], now)
		if now.Sub(since[j]) >= listedTooLong {
			late = append(late, j)
		}
	}
	l.since = since
	return late
}

// checkJobs checks the jobs that a generation's status names. Jobs that are not live are a problem,
// told once for each generation.
func (s *statusPoll) checkJobs(h *policyProcess, status scheduler.Status) {
	if s.needs.Missing == nil || h.listed.told {
		return
	}
	ids := make([]scheduler.JobID, len(status.Queue))
	for i := range status.Queue {
		ids[i] = status.Queue[i].Job
	}
	missing, err := s.needs.Missing(s.ctx, ids)
	if err != nil {
		return
	}
	late := h.listed.update(time.Now(), missing)
	if len(late) == 0 {
		return
	}
	if late = s.notInCore(late); len(late) == 0 {
		return
	}
	h.listed.told = true
	text := listedText(h.name, late)
	s.needs.problem(ConditionJobs, h.name, 0, text)
	s.needs.Log.Warn("the policy's status names jobs that are not live", "policy", h.name, "generation", h.generation, "problem", text)
}

// notInCore returns those of some jobs that the core does not have either: the manager's views are
// behind the core while the log's disk is slow.
func (s *statusPoll) notInCore(jobs []scheduler.JobID) (missing []scheduler.JobID) {
	ctx, cancel := context.WithTimeout(s.ctx, explainTimeout)
	defer cancel()
	list := make(chan []scheduler.JobID, 1)
	err := s.needs.Inbox.ReadNow(ctx, func(c *core.Core) {
		list <- slices.DeleteFunc(slices.Clone(jobs), c.JobLives)
	})
	if err != nil {
		return nil
	}
	return <-list
}

// listedText is the problem of a policy whose status names jobs that are not live.
func listedText(policy string, jobs []scheduler.JobID) string {
	var names []string
	for _, j := range jobs[:min(len(jobs), listedNamedMax)] {
		names = append(names, j.String())
	}
	if more := len(jobs) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("the status of the policy %s has named jobs in its queue for %v that do not exist or have ended: %s", policy, listedTooLong, strings.Join(names, ", "))
}
