package schedwire

import "github.com/hamadryad/hamadryad/sdk/scheduler"

// NewExplanation encodes an explanation as a message. An error names an unknown wait reason.
func NewExplanation(e scheduler.Explanation) (*Explanation, error) {
	w := &writer{}
	m := &Explanation{
		Reason: WaitReason(checked(w, "wait reason", e.Reason, scheduler.WaitNone, scheduler.WaitHeld)),
		Detail: w.str(e.Detail), Place: int64(e.Place), Facts: &Properties{},
	}
	m.Facts.add(w, e.Facts)
	m.Strings = w.table()
	return encoded("explanation", m, w.err)
}

// Decode returns the explanation. The errors wrap ErrBadMessage.
func (m *Explanation) Decode() (scheduler.Explanation, error) {
	r := newReader(m.GetStrings())
	e := scheduler.Explanation{
		Reason: scheduler.WaitReason(known(r, "wait reason", m.GetReason(), WaitReason_WAIT_REASON_UNSPECIFIED, WaitReason_WAIT_REASON_HELD)),
		Detail: r.str(m.GetDetail()), Place: int(m.GetPlace()),
	}
	facts := readProperties(r, "facts", 1, m.GetFacts())
	if r.err == nil {
		e.Facts = facts.next()
	}
	return decoded(r, e)
}

// NewStatus encodes a policy's status as a message.
func NewStatus(s scheduler.Status) (*Status, error) {
	w := &writer{}
	m := &Status{Facts: &Properties{}, AllPools: s.AllPools}
	for i := range s.Pools {
		p, c := &s.Pools[i], get(&m.Pools, empty)
		c.Name, c.Parent, c.Kind = append(c.Name, w.str(p.Name)), append(c.Parent, w.str(p.Parent)), append(c.Kind, w.str(p.Kind))
		c.Weight, c.FairShare = append(c.Weight, p.Weight), append(c.FairShare, p.FairShare)
		c.MinShare, c.MaxShare = append(c.MinShare, int64(p.MinShare)), append(c.MaxShare, int64(p.MaxShare))
		c.Demand, c.Running, c.Jobs = append(c.Demand, int64(p.Demand)), append(c.Running, int64(p.Running)), append(c.Jobs, int64(p.Jobs))
	}
	for _, q := range s.Queue {
		m.Queue, m.QueueWhy = append(m.Queue, uint64(q.Job)), append(m.QueueWhy, w.str(q.Why))
	}
	m.Facts.add(w, s.Facts)
	m.Strings = w.table()
	return encoded("status", m, w.err)
}

// Decode returns the status. The errors wrap ErrBadMessage.
func (m *Status) Decode() (scheduler.Status, error) {
	r := newReader(m.GetStrings())
	c := m.GetPools()
	n := len(c.GetName())
	r.same("pools", n, len(c.GetParent()), len(c.GetKind()), len(c.GetWeight()), len(c.GetMinShare()), len(c.GetMaxShare()),
		len(c.GetFairShare()), len(c.GetDemand()), len(c.GetRunning()), len(c.GetJobs()))
	s := scheduler.Status{Pools: list(r, n, func(i int) scheduler.PoolStatus {
		return scheduler.PoolStatus{
			Name: r.str(c.Name[i]), Parent: r.str(c.Parent[i]), Kind: r.str(c.Kind[i]), Weight: c.Weight[i],
			MinShare: int(c.MinShare[i]), MaxShare: int(c.MaxShare[i]), FairShare: c.FairShare[i],
			Demand: int(c.Demand[i]), Running: int(c.Running[i]), Jobs: int(c.Jobs[i]),
		}
	}), AllPools: m.GetAllPools()}
	queued, why := m.GetQueue(), m.GetQueueWhy()
	if len(why) > 0 { // an older plug-in omits this column
		r.same("queue", len(queued), len(why))
	}
	s.Queue = list(r, len(queued), func(i int) scheduler.Queued {
		q := scheduler.Queued{Job: scheduler.JobID(queued[i])}
		if len(why) > 0 {
			q.Why = r.str(why[i])
		}
		return q
	})
	facts := readProperties(r, "facts", 1, m.GetFacts())
	if r.err == nil {
		s.Facts = facts.next()
	}
	return decoded(r, s)
}
