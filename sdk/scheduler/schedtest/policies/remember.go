package policies

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Remember puts the jobs of the user who has used least first, counting also
// what ended jobs used. No snapshot tells that, so it is kept in a checkpoint.
func Remember() scheduler.TaskScheduler {
	p := &remember{base: base{about: scheduler.Description{Name: "remember", Version: "1", Abilities: scheduler.AbilityCheckpoint}}}
	p.decide, p.loaded = p.round, p.load
	return p
}

type remember struct {
	base
	used map[string]time.Duration // running time of ended attempts, by user
}

func (p *remember) load(s scheduler.Snapshot) error {
	p.used = map[string]time.Duration{}
	since := 0
	if s.Checkpoint != nil && s.Checkpoint.Version == 1 {
		if err := json.Unmarshal(s.Checkpoint.Data, &p.used); err != nil {
			return err
		}
		since = s.Since
	}
	// What ended before the checkpoint is in it already.
	counted := 0
	for _, e := range s.Events[:since] {
		if _, ok := e.(scheduler.AttemptEnded); ok {
			counted++
		}
	}
	p.count(p.Ended()[counted:])
	return nil
}

func (p *remember) count(ended []view.Ended) {
	for _, e := range ended {
		p.used[e.Job().Info.User] += e.Event.Work.Running
	}
}

func (p *remember) round(_ scheduler.Round, d *scheduler.Decisions) {
	p.count(p.Ended())
	if len(p.Ended()) > 0 {
		if data, err := json.Marshal(p.used); err == nil {
			d.Checkpoint = &scheduler.Checkpoint{Version: 1, Data: data}
		}
	}
	jobs := slices.Clone(p.Jobs())
	slices.SortStableFunc(jobs, func(a, b *view.Job) int { return cmp.Compare(p.used[a.Info.User], p.used[b.Info.User]) })
	p.fill(jobs, d)
}
