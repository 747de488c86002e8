package preemptivefair

import (
	"fmt"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
)

// exhausted says why nothing is taken back for a newcomer that lacks slots of its first share.
// It counts other jobs' spared launches, by reason. It is "" if slots are being taken, or none
// is lacking.
func (d *assignment) exhausted(c *request, kind scheduler.SlotKind) string {
	id := c.job.ID()
	if c.left == 0 || d.taking[id] || float64(c.held) >= d.share(kind) {
		return ""
	}
	if !d.options.mayTake(&c.job.Info) {
		return "; nothing is taken back for it (preemption)"
	}
	if n := d.memory.newcomer(id); n.Refused >= refusedMax {
		return fmt.Sprintf("; nothing more is taken back for it, because the manager refused %d times in a row", n.Refused)
	}
	var optedOut, atShare, spared, protected, unsuspended int
	for _, j := range d.view.Jobs() {
		if j == c.job.Job {
			continue
		}
		held := d.held(j, kind)
		for _, u := range preemption.Units(j, kind, d.stopping) {
			switch {
			case !d.options.mayLose(&j.Info, &c.job.Info):
				optedOut++
			case u.Bundle.ProtectedUntil > d.view.Now():
				protected++
			case d.mode() == scheduler.PreemptSuspend && u.Bundle.NoSuspend():
				unsuspended++
			case d.spared(u.Bundle) && held <= u.Slots:
				spared++
			case d.options.AttemptLoses != newestInCluster && float64(held-u.Slots) < d.share(kind)-0.5:
				atShare++
			}
		}
	}
	var all []string
	say := func(n int, format string, args ...any) {
		if n > 0 {
			all = append(all, fmt.Sprintf("%d ", n)+fmt.Sprintf(format, args...))
		}
	}
	say(atShare, "belong to jobs that have no more than their share")
	say(protected, "are protected by the manager, because they were preempted a short while ago (protectFor)")
	say(spared, "were preempted %d times (times-max) and are the last of their jobs", d.options.TimesMax)
	say(optedOut, "may not lose to it (preemptible, only-higher-priority)")
	say(unsuspended, "cannot be suspended")
	if len(all) == 0 {
		return ""
	}
	return "; of its first share it lacks some, and of the attempts of other jobs " + strings.Join(all, ", ")
}
