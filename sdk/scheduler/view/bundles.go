package view

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func (v *View) ready(e scheduler.BundleReady) error {
	j, err := v.job(e.Job)
	if err != nil {
		return err
	}
	if len(e.Groups) == 0 {
		return fmt.Errorf("bundle %d of %s has no groups", e.Bundle, e.Job)
	}
	for _, g := range e.Groups {
		if int(g.Stage) >= len(j.Counts) {
			return fmt.Errorf("bundle %d of %s names stage %d of %d", e.Bundle, e.Job, g.Stage, len(j.Counts))
		}
	}
	b := v.bundles.Get(e.Bundle)
	switch {
	case b == nil:
		b = &Bundle{ID: e.Bundle, Job: j}
		v.bundles.Set(e.Bundle, b)
		j.bundles = append(j.bundles, b)
	case b.Job != j:
		return fmt.Errorf("bundle %d is of %s and not of %s", e.Bundle, b.Job.ID(), e.Job)
	case b.State != Waiting:
		return fmt.Errorf("bundle %d of %s is ready again while it is %s", e.Bundle, e.Job, b.State)
	}
	b.State, b.Groups, b.Avoid, b.Since = Ready, e.Groups, e.Avoid, e.At
	b.turn++
	j.index(b)
	return nil
}

func (v *View) withdrawn(e scheduler.BundleWithdrawn) error {
	b, err := v.bundle(e.Job, e.Bundle)
	if err != nil {
		return err
	}
	if b.State != Ready {
		return fmt.Errorf("bundle %d of %s is withdrawn while it is %s", e.Bundle, e.Job, b.State)
	}
	b.Job.unindex(b)
	b.State = Waiting
	return nil
}

func (v *View) wantedAgain(e scheduler.BundleWantedAgain) error {
	b, err := v.bundle(e.Job, e.Bundle)
	if err != nil {
		return err
	}
	if b.State != Finished {
		return fmt.Errorf("bundle %d of %s is wanted again while it is %s", e.Bundle, e.Job, b.State)
	}
	b.move(Waiting)
	return nil
}

func (v *View) speculationOffered(e scheduler.SpeculationOffered) error {
	b, err := v.bundle(e.Job, e.Bundle)
	if err != nil {
		return err
	}
	if b.State != Launched || b.SpeculationOffered || len(e.Groups) != len(b.Groups) {
		return fmt.Errorf("bundle %d of %s (%s, %d groups) cannot have a second attempt of %d groups",
			e.Bundle, e.Job, b.State, len(b.Groups), len(e.Groups))
	}
	b.SpeculationOffered, b.Groups, b.Avoid, b.Since = true, e.Groups, e.Avoid, e.At
	b.Job.index(b)
	return nil
}

func (v *View) protected(e scheduler.BundleProtected) error {
	b, err := v.bundle(e.Job, e.Bundle)
	if err == nil {
		b.ProtectedUntil = e.Until
	}
	return err
}

// move changes a bundle's state and the counts of its stages with it.
func (b *Bundle) move(to BundleState) {
	if b.stages == nil {
		b.stages = b.oneStage[:0]
		for i := range b.Groups {
			b.stages = append(b.stages, b.Groups[i].Stage)
		}
	}
	for _, s := range b.stages {
		c := &b.Job.Counts[s]
		*c.of(b.State)--
		*c.of(to)++
	}
	b.State = to
}

func (c *Counts) of(s BundleState) *int {
	switch s {
	case Launched:
		return &c.Running
	case Finished:
		return &c.Finished
	}
	return &c.Waiting
}

// index makes a bundle findable: for its job, and by the places of its input
// when it is a single group. Gangs are placed as a whole and have no one place.
func (j *Job) index(b *Bundle) {
	j.ready.add(b)
	for i := range b.Groups {
		j.addKind(b.Groups[i].Kind).slots += b.Groups[i].Slots
	}
	j.addKind(b.Groups[0].Kind).list.add(b)
	if len(b.Groups) > 1 {
		j.gangs.add(b)
		return
	}
	for _, p := range b.Groups[0].Places {
		listOf(j.byHost, p.Host).add(b)
		if p.Rack != "" {
			listOf(j.byRack, p.Rack).add(b)
		}
	}
}

func (j *Job) unindex(b *Bundle) {
	j.ready.remove(b.ID)
	for i := range b.Groups {
		j.addKind(b.Groups[i].Kind).slots -= b.Groups[i].Slots
	}
	j.addKind(b.Groups[0].Kind).list.remove(b.ID)
	if len(b.Groups) > 1 {
		j.gangs.remove(b.ID)
		return
	}
	for _, p := range b.Groups[0].Places {
		if l := j.byHost[p.Host]; l != nil {
			l.remove(b.ID)
		}
		if l := j.byRack[p.Rack]; l != nil {
			l.remove(b.ID)
		}
	}
}

func listOf(m map[string]*list, key string) *list {
	l := m[key]
	if l == nil {
		l = &list{}
		m[key] = l
	}
	return l
}
