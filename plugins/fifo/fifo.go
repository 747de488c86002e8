package fifo

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality/placement"
	"github.com/hamadryad/hamadryad/sdk/scheduler/policy"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// options are the policy's settings.
type options struct {
	CollectAfter time.Duration     `yaml:"collect-after"`
	Locality     locality.Settings `yaml:"locality"`
}

type (
	pass = policy.Pass[options, state]
	look = policy.Look[options, state]
)

var fifo = policy.Policy[options, state]{
	Name: "fifo", Version: "1",
	Options: options{
		CollectAfter: settings.CollectAfterDefault,
		Locality:     locality.New(locality.ModeNearest, locality.ModeFlow, locality.ModeNearest, locality.ModeNone),
	},
	Check: func(o *options) error {
		var c settings.Checks
		c.CollectAfter(o.CollectAfter)
		return c.Err()
	},
	Start: func(p *pass) error {
		for _, j := range p.Jobs() {
			p.State().enqueue(j)
		}
		return nil
	},
	Assign: assign, Explain: explain, Status: status, Reports: true, NoCheckpoint: true, Ahead: true,
}

// New returns a FIFO policy.
func New() scheduler.TaskScheduler { return fifo.New() }

func assign(p *pass) error {
	s := p.State()
	s.update(p)
	a := assignment{view: p.View(), options: p.Options(), queue: s.queue}
	detail := a.detail
	for _, j := range s.waiting {
		a.next(j)
		p.Report(j, a.reason, detail)
	}
	s.placer.Place(&a.options.Locality, placement.Round{View: a.view}, a.launches)
	a.kept.Release(a.view)
	s.waiting = slices.DeleteFunc(s.waiting, func(j *view.Job) bool { return j.LaunchableCount() == 0 })
	p.Decisions().Launch = a.launches
	if i := slices.IndexFunc(s.waiting, func(j *view.Job) bool { return j.FirstReady() != nil }); i >= 0 {
		p.NextSlots(s.waiting[i])
	}
	return nil
}

// explain adds a job's place in the queue.
func explain(l look, j *view.Job) scheduler.Explanation {
	s, x := l.State(), l.Explain(j)
	x.Place = placeIn(s.queue, j)
	x.Detail = fmt.Sprintf("number %d of %d in the queue (priority %s), %s%s", x.Place, len(s.queue), j.Info.Priority, x.Detail, s.placer.Over())
	x.AddFact("queue", len(s.queue))
	return x
}

// status shows the queue beside the pool of all jobs.
func status(l look) scheduler.Status {
	s, o, x := l.State(), l.Options(), l.Status()
	for place, j := range s.queue {
		if j.LaunchableCount() > 0 && len(x.Queue) < scheduler.QueueMax {
			why := fmt.Sprintf("priority %s, then submission; %d jobs that live come before it", j.Info.Priority, place)
			x.Queue = append(x.Queue, scheduler.Queued{Job: j.ID(), Why: why})
		}
	}
	x.Facts = s.placer.Facts(&o.Locality)
	x.AddFact("collect-after", o.CollectAfter)
	return x
}
