package faultypolicies

import (
	"math"
	"strings"

	"github.com/hamadryad/hamadryad/policytest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Misshown are policies that decide well and show nonsense: in a field of a status, of an
// explanation, or of an answer. A manager shows what it can of that, and is not harmed.
func Misshown() []FaultyPolicy {
	pool := func(caught string, spoil func(*scheduler.PoolStatus)) FaultyPolicy {
		return shows(`Status can't be shown: pool 0 ("a"): `+caught, func(s *scheduler.Status) { spoil(&s.Pools[0]) })
	}
	return []FaultyPolicy{
		pool("Weight is +Inf", func(p *scheduler.PoolStatus) { p.Weight = math.Inf(1) }),
		pool("Weight is -1", func(p *scheduler.PoolStatus) { p.Weight = -1 }),
		pool("MinShare is -2", func(p *scheduler.PoolStatus) { p.MinShare = -2 }),
		pool("MaxShare is 9.2", func(p *scheduler.PoolStatus) { p.MaxShare = math.MaxInt64 }),
		pool("FairShare is NaN", func(p *scheduler.PoolStatus) { p.FairShare = math.NaN() }),
		pool("FairShare is -0.5", func(p *scheduler.PoolStatus) { p.FairShare = -0.5 }),
		pool("FairShare is 1e+300", func(p *scheduler.PoolStatus) { p.FairShare = 1e300 }),
		pool("Demand is -1", func(p *scheduler.PoolStatus) { p.Demand = -1 }),
		pool("Running is -9.2", func(p *scheduler.PoolStatus) { p.Running = math.MinInt64 }),
		pool("Jobs is -1", func(p *scheduler.PoolStatus) { p.Jobs = -1 }),
		pool(`Kind is "map\n"`, func(p *scheduler.PoolStatus) { p.Kind = "map\n" }),
		pool(`no pool before it has the name of its Parent, "b"`, func(p *scheduler.PoolStatus) { p.Parent = "b" }),
		shows(`pool 0 ("a\a"): Name is "a\a"`, func(s *scheduler.Status) { s.Pools[0].Name = "a\a" }),
		shows(`pool 1 ("a"): another pool has the same Name and Kind`, func(s *scheduler.Status) { s.Pools = append(s.Pools, s.Pools[0]) }),
		shows(`fact 1 ("share"): Value is "NaN of 4"`, func(s *scheduler.Status) {
			s.Facts = append(s.Facts, scheduler.Property{Name: "share", Value: "NaN of 4"})
		}),
		shows(`fact 1 ("\x1b[2J"): Name is`, func(s *scheduler.Status) { s.Facts = append(s.Facts, scheduler.Property{Name: "\x1b[2J"}) }),
		shows("value has 5000 bytes", func(s *scheduler.Status) { s.Facts[0].Value = strings.Repeat("x", 5000) }),
		explains("Detail is \"next\\r", func(x *scheduler.Explanation) { x.Detail = "next\r" }),
		explains("Place is -1", func(x *scheduler.Explanation) { x.Place = -1 }),
		explains("no WaitReason is 77", func(x *scheduler.Explanation) { x.Reason = 77 }),
		explains(`fact 0 ("lacks"): Value is "+Inf slots"`, func(x *scheduler.Explanation) {
			x.Facts = []scheduler.Property{{Name: "lacks", Value: "+Inf slots"}}
		}),
		answers("the reason for waiting of job-1: Detail is \"\\xff\"", policies.Remember, func(r scheduler.Round, d *scheduler.Decisions) {
			for _, e := range r.Events {
				if s, ok := e.(scheduler.JobSubmitted); ok {
					d.Waiting = append(d.Waiting, scheduler.Waiting{Job: s.Job.ID, Reason: scheduler.WaitTurn, Detail: "\xff"})
				}
			}
		}),
		answers("Reason is \"no\\tjobs", policies.Admit, func(_ scheduler.Round, d *scheduler.Decisions) {
			for i := range d.Refuse {
				d.Refuse[i].Reason = "no\tjobs"
			}
		}),
		answers("ContentType is \"text/html\\r\\n", policies.Pages, func(_ scheduler.Round, d *scheduler.Decisions) {
			for i := range d.Answers {
				d.Answers[i].ContentType = "text/html\r\nSet-Cookie: a=b"
			}
		}),
		answers("what its Body is said to be, JSON, it is not", policies.Pages, func(_ scheduler.Round, d *scheduler.Decisions) {
			for i := range d.Answers {
				d.Answers[i].ContentType, d.Answers[i].Body = "application/json; charset=utf-8", []byte(`{"share": NaN}`)
			}
		}),
		answers("it is left to Later", policies.Pages, func(_ scheduler.Round, d *scheduler.Decisions) {
			for i := range d.Answers {
				a := d.Answers[i]
				d.Answers[i].Later = func() scheduler.Answer { return a }
			}
		}),
		answers("Message is \"bad\\a", policies.Remember, func(_ scheduler.Round, d *scheduler.Decisions) {
			for _, v := range d.Settings {
				for i := range v.Problems {
					v.Problems[i].Message = "bad\a"
				}
			}
		}),
	}
}

// shower shows wrong values.
type shower struct {
	scheduler.TaskScheduler
	status  func(*scheduler.Status)
	explain func(*scheduler.Explanation)
}

// shows falsifies a status of one pool and one fact.
func shows(caught string, spoil func(*scheduler.Status)) FaultyPolicy {
	return FaultyPolicy{caught, func() scheduler.TaskScheduler {
		return shower{policies.Remember(), spoil, func(*scheduler.Explanation) {}}
	}, caught, true}
}

func explains(caught string, spoil func(*scheduler.Explanation)) FaultyPolicy {
	return FaultyPolicy{caught, func() scheduler.TaskScheduler {
		return shower{policies.Remember(), func(*scheduler.Status) {}, spoil}
	}, "can't be shown: " + caught, true}
}

func answers(caught string, good func() scheduler.TaskScheduler, spoil func(scheduler.Round, *scheduler.Decisions)) FaultyPolicy {
	return FaultyPolicy{caught, func() scheduler.TaskScheduler { return creature{good(), spoil} }, caught, true}
}

// Status is spoilt.
func (s shower) Status() (scheduler.Status, error) {
	x := scheduler.Status{Pools: []scheduler.PoolStatus{{Name: "a", Weight: 1, FairShare: 2.5}}, Facts: []scheduler.Property{{Name: "b", Value: "c"}}}
	s.status(&x)
	return x, nil
}

// Explain is the good policy's, spoilt.
func (s shower) Explain(j scheduler.JobID) (scheduler.Explanation, error) {
	x, err := s.TaskScheduler.Explain(j)
	s.explain(&x)
	return x, err
}
