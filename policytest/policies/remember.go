package policies

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Remember puts the jobs of the user with the least use first, counting ended jobs too. A snapshot
// lacks ended jobs' use, so a checkpoint keeps it: each user's use, and then, appended to it, the
// use since.
func Remember() scheduler.TaskScheduler {
	p := &remember{base: base{about: scheduler.Description{Name: "remember", Version: "1", Abilities: scheduler.AbilityCheckpoint}}}
	p.decide, p.loaded = p.round, p.load
	return p
}

type remember struct {
	base
	used map[string]time.Duration // running time of ended attempts, by user
	size int                      // bytes of the checkpoint
}

func (p *remember) load(s scheduler.Snapshot) error {
	p.used, p.size = map[string]time.Duration{}, 0
	since := 0
	if s.Checkpoint != nil && s.Checkpoint.Version == 2 {
		parts := json.NewDecoder(bytes.NewReader(s.Checkpoint.Data))
		for {
			var part map[string]time.Duration
			if err := parts.Decode(&part); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return err
			}
			for user, d := range part {
				p.used[user] += d
			}
		}
		since, p.size = s.Since, len(s.Checkpoint.Data)
	}
	// Attempts that ended before the checkpoint are in it already.
	counted := 0
	for _, e := range s.Events[:since] {
		if _, ok := e.(scheduler.AttemptEnded); ok {
			counted++
		}
	}
	p.count(p.Ended()[counted:])
	return nil
}

// count adds the use of ended attempts, and returns it.
func (p *remember) count(ended []view.Ended) map[string]time.Duration {
	part := map[string]time.Duration{}
	for _, e := range ended {
		part[e.Job().Info.User] += e.Event.Work.Running
	}
	for user, d := range part {
		p.used[user] += d
	}
	return part
}

// rememberMost is the size in bytes from which a checkpoint is rewritten.
const rememberMost = 512

// save appends the use since the last checkpoint, or rewrites it.
func (p *remember) save(part map[string]time.Duration) *scheduler.Checkpoint {
	data, err := json.Marshal(part)
	if err == nil && p.size > 0 && p.size+len(data) <= rememberMost {
		p.size += len(data)
		return &scheduler.Checkpoint{Version: 2, Data: data, Append: true}
	}
	if data, err = json.Marshal(p.used); err != nil {
		return nil
	}
	p.size = len(data)
	return &scheduler.Checkpoint{Version: 2, Data: data}
}

func (p *remember) round(_ scheduler.Round, d *scheduler.Decisions) {
	if part := p.count(p.Ended()); len(p.Ended()) > 0 {
		d.Checkpoint = p.save(part)
	}
	jobs := slices.Clone(p.Jobs())
	slices.SortStableFunc(jobs, func(a, b *view.Job) int { return cmp.Compare(p.used[a.Info.User], p.used[b.Info.User]) })
	p.fill(jobs, d)
}
