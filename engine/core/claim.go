package core

import (
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// claim keeps what a preemption or a take-back frees for whom it was made: one bundle
// where one is named, else any of its job. It ends when that bundle starts or may not any
// more, or the job has none left that is ready; when reserveMax passes; or when the policy
// changes. What is left is free for all then.
type claim struct {
	id      uint64
	job     scheduler.JobID
	bundle  scheduler.BundleID // 0: any of the job's
	expires scheduler.Time
	victims int     // still to free what they hold
	holds   []*hold // in order of launcher
}

// hold is what a claim keeps on one launcher.
type hold struct {
	launcher *launcher
	claim    *claim
	slots    slotCounts
	memory   int64
}

// drawing are the holds that a bundle may draw on.
type drawing []*hold

func (d drawing) slots(kind string) (n int) {
	for _, h := range d {
		n += h.slots.of(kind)
	}
	return n
}

func (d drawing) memory() (n int64) {
	for _, h := range d {
		n += h.memory
	}
	return n
}

// drawable lists the holds on a launcher for a bundle: first those for it alone.
func (c *Core) drawable(b *bundle, l *launcher) drawing {
	var own, any drawing
	for _, h := range l.holds {
		switch {
		case h.claim.job != b.job.id:
		case h.claim.bundle == b.id:
			own = append(own, h)
		case h.claim.bundle == 0:
			any = append(any, h)
		}
	}
	return append(own, any...)
}

// holdFor returns the hold that takes what an attempt frees, or nil.
func (c *Core) holdFor(a *attempt) *hold {
	if a.claim == 0 {
		return nil
	}
	k := c.claims.get(a.claim)
	if k == nil || a.launcher.draining || a.launcher.blamed {
		return nil
	}
	for _, h := range k.holds {
		if h.launcher == a.launcher {
			return h
		}
	}
	h := &hold{launcher: a.launcher, claim: k}
	k.holds = append(k.holds, h)
	a.launcher.holds = append(a.launcher.holds, h)
	slices.SortFunc(a.launcher.holds, func(x, y *hold) int { return int(int64(x.claim.id) - int64(y.claim.id)) })
	return h
}

// newClaim makes a claim that lasts for reserveMax after the grace that its victims have.
func (c *Core) newClaim(j scheduler.JobID, b scheduler.BundleID, grace time.Duration) *claim {
	c.ids.Claim++
	lasts := grace + c.set.ReserveMax
	k := &claim{id: c.ids.Claim, job: j, bundle: b, expires: c.now.Add(lasts)}
	c.claims.add(k.id, k)
	c.after(lasts, timerClaim, k.id)
	return k
}

// victimDone notes that a victim freed what it held, or never will.
func (c *Core) victimDone(a *attempt) {
	k := c.claims.get(a.claim)
	a.claim = 0
	if k == nil {
		return
	}
	k.victims--
	c.dropIfEmpty(k)
}

// dropIfEmpty ends a claim that holds nothing and will not.
func (c *Core) dropIfEmpty(k *claim) {
	if k.victims > 0 {
		return
	}
	for _, h := range k.holds {
		if h.memory > 0 || slices.ContainsFunc(h.slots, func(s scheduler.SlotCount) bool { return s.Count > 0 }) {
			return
		}
	}
	c.releaseClaim(k)
}

// releaseClaim gives what a claim holds to all.
func (c *Core) releaseClaim(k *claim) {
	for _, h := range k.holds {
		c.releaseHold(h)
	}
	k.holds = nil
	c.claims.remove(k.id)
}

func (c *Core) releaseHold(h *hold) {
	l := h.launcher
	l.holds = slices.DeleteFunc(l.holds, func(x *hold) bool { return x == h })
	for _, s := range h.slots {
		l.free.add(s.Kind, s.Count)
	}
	l.memoryFree += h.memory
	h.slots, h.memory = nil, 0
	c.roomier = true
	c.offerChanged(l)
}

func (c *Core) claimExpired(id uint64) {
	if k := c.claims.get(id); k != nil && c.now >= k.expires {
		c.stats.ClaimsExpired++
		c.releaseClaim(k)
	}
}

// releaseClaimsOf ends the claims made for a bundle that starts or may not any
// more, and those of its job that have no demand left.
func (c *Core) releaseClaimsOf(b *bundle) {
	if c.claims.len() == 0 {
		return
	}
	for k := range c.claims.all() {
		switch {
		case k.job != b.job.id:
		case k.bundle == b.id, k.bundle == 0 && b.job.ready.count == 0:
			c.releaseClaim(k)
		default:
			c.dropIfEmpty(k)
		}
	}
}

func (c *Core) releaseClaimsOfJob(id scheduler.JobID) {
	for k := range c.claims.all() {
		if k.job == id {
			c.releaseClaim(k)
		}
	}
}

// releaseHoldsOn ends what is kept on a launcher that drains, is blamed or gone.
func (c *Core) releaseHoldsOn(l *launcher) {
	for _, h := range slices.Clone(l.holds) {
		k := h.claim
		c.releaseHold(h)
		k.holds = slices.DeleteFunc(k.holds, func(x *hold) bool { return x == h })
		c.dropIfEmpty(k)
	}
}
