package simulation

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
)

const (
	// LostAfter is after how long without a word the manager gives a launcher up, as a site's does by default.
	LostAfter = 10 * time.Second
	// outagesFor is for how long failures are drawn beyond the last submission.
	outagesFor = 7 * 24 * time.Hour
)

// planOutages schedules the launchers' failures and returns of the cluster.
func (p *player) planOutages() {
	jobs := p.options.Workload.Jobs
	list, err := p.options.Cluster.Outages(jobs[len(jobs)-1].Submit + outagesFor)
	if err != nil {
		p.fail(err)
		return
	}
	p.outages = list
	p.nextOutage()
}

// nextOutage schedules the next outage only: all at once would be very many.
func (p *player) nextOutage() {
	if len(p.outages) == 0 {
		return
	}
	o := p.outages[0]
	p.outages = p.outages[1:]
	p.At(beginning.Add(o.From), func() {
		p.fails(o)
		p.nextOutage()
	})
}

// fails ends a launcher's process: its attempts and stored outputs are gone.
func (p *player) fails(o cluster.Outage) {
	l := p.launchers[o.Launcher]
	lost := &wire.LauncherLost{Launcher: uint64(l.ID), Incarnation: l.Incarnation, Reason: "it failed"}
	var ran []*simcluster.Attempt
	for _, id := range simcluster.Sorted(l.Attempts) {
		ran = append(ran, l.Attempts[id])
	}
	l.Down = true
	l.Restart(false)
	for _, a := range ran {
		p.lose(a)
	}
	p.present(l, false)
	p.After(LostAfter, func() { p.Push(wire.NewInput(lost)) })
	if o.To > 0 {
		p.At(beginning.Add(o.To), func() { p.comesBack(l) })
	}
}

// comesBack begins a new incarnation of a launcher.
func (p *player) comesBack(l *simcluster.Launcher) {
	l.Down = false
	p.present(l, true)
	p.Push(wire.NewInput(&wire.LauncherJoin{Join: l.Message()}))
}
