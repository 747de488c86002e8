package preemption

import (
	"fmt"
	"strings"

	"github.com/hamadryad/hamadryad/plugins/fair/allocation"
	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
)

// Exhausted says why nothing is taken back for a pool that may take back slots of a kind. It counts
// the attempts elsewhere that are spared, by reason. It is "" while the pool is owed nothing, or
// slots are on their way. It looks at all attempts.
func (p *State) Exhausted(x *shares.Pool, k pooltree.Kind) string {
	due := p.lack(x, k)
	if due.all == 0 || p.Config.Preemption == allocation.PreemptOff {
		return ""
	}
	t := p.startTaking()
	if due = due.less(t.coming[x.Node.Of(k)]); due.all <= 0 {
		return ""
	}
	var n [reasons]int
	for _, v := range p.View.Jobs() {
		for _, a := range v.Attempts() {
			if c, ok := t.candidate(p.Jobs[v.ID()], a); ok && a.Need.Kind == p.World.Kinds[k] {
				if why, elsewhere := t.whyNot(x, k, c, due.minimum > 0); elsewhere {
					n[why]++
				}
			}
		}
	}
	what := "fair share"
	if due.minimum > 0 {
		what = "minimum share"
	}
	return fmt.Sprintf("lacks %d %s slots of its %s for longer than its timeout: %s", due.all, p.World.Kinds[k], what, t.listed(n))
}

// reason is why an attempt is not preempted.
type reason int

const (
	atShare     reason = iota // its pool has no more than its fair share
	byManager                 // the manager protects it
	byProtect                 // it was preempted recently
	byTimes                   // it was preempted too often
	unsuspended               // it cannot be suspended
	outOfMax                  // it is outside of a pool that is at its maximum share, in which the starved one lies
	noFit                     // the freed slots are not the needed ones
	reasons
)

// whyNot says why a victim is spared, and whether it is in another pool at all.
func (t *taking) whyNot(x *shares.Pool, k pooltree.Kind, v victim, guaranteed bool) (why reason, elsewhere bool) {
	switch {
	case contains(x.Node, v.job.Node):
		return 0, false
	case t.beyondMax(x, k, v):
		return outOfMax, true
	case v.protected:
		return byManager, true
	case !t.spendable(x, v):
		return atShare, true
	case guaranteed || v.spared == notSpared && (!v.killed || t.Mode() != scheduler.PreemptSuspend):
		return noFit, true
	case v.spared == byTime:
		return byProtect, true
	case v.spared == byTimesMax:
		return byTimes, true
	}
	return unsuspended, true
}

// beyondMax says whether a victim lies outside a pool at its maximum share that contains the
// starved pool.
func (t *taking) beyondMax(x *shares.Pool, k pooltree.Kind, v victim) bool {
	for n := x.Node.Parent; n != nil; n = n.Parent {
		if t.over(n.Of(k), 1) > 0 && !contains(n, v.job.Node) {
			return true
		}
	}
	return false
}

// listed says in words how many attempts are left alone for which reason.
func (t *taking) listed(n [reasons]int) string {
	texts := [reasons]string{
		atShare:     "%d belong to pools that have no more than their fair share",
		byManager:   "%d are protected by the manager, because they were preempted a short while ago (protectFor)",
		byProtect:   fmt.Sprintf("%%d were preempted less than %s ago (protect)", t.Config.Protect),
		byTimes:     fmt.Sprintf("%%d were preempted %d times (times-max)", t.Config.TimesMax),
		unsuspended: "%d cannot be suspended",
		outOfMax:    "%d are outside of the pool above it that is at its maximum share",
		noFit:       "%d may be taken, as soon as what they free fits waiting work",
	}
	var all []string
	for why, count := range n {
		if count > 0 {
			all = append(all, fmt.Sprintf(texts[why], count))
		}
	}
	if len(all) == 0 {
		return "no attempt of another pool runs"
	}
	return "of the attempts of other pools " + strings.Join(all, ", ")
}
