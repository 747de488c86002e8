package history

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/timeseries"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// sampler keeps the load of pools and the slots of launchers up to date by change rows.
type sampler struct {
	jobs      map[scheduler.JobID]sampled // live ones
	launchers map[scheduler.LauncherID][2]uint64
	pools     map[string]*timeseries.Pool
	slots     [2]uint64 // of launchers that are up: all slots, and free ones
	failed    bool      // the last sample could not be written
}

// sampled is a live job, and its share of its pool's counts.
type sampled struct {
	submitted scheduler.Time
	pool      timeseries.Pool
}

// submitted returns when each live job was submitted.
func (s *sampler) submitted() map[scheduler.JobID]scheduler.Time {
	all := map[scheduler.JobID]scheduler.Time{}
	for id, j := range s.jobs {
		all[id] = j.submitted
	}
	return all
}

func newSampler() sampler {
	return sampler{jobs: map[scheduler.JobID]sampled{}, launchers: map[scheduler.LauncherID][2]uint64{}, pools: map[string]*timeseries.Pool{}}
}

func (s *sampler) sampleStep(n *update) {
	for i := range n.jobs {
		j := &n.jobs[i]
		p := timeseries.Pool{Name: j.Pool, Jobs: 1, Running: uint64(max(j.Running, 0)), Ready: uint64(max(j.Waits.Ready, 0))}
		if j.State == wire.JobState_JOB_STATE_ASKED {
			p.Asked = 1
		}
		s.forget(j.ID)
		s.jobs[j.ID] = sampled{j.Submitted, p}
		s.count(p, 1)
	}
	for _, e := range n.ended {
		s.forget(scheduler.JobID(e.GetSummary().GetJob()))
	}
	for i := range n.launchers {
		l := &n.launchers[i]
		old := s.launchers[l.ID]
		var now [2]uint64
		if delete(s.launchers, l.ID); !l.Gone && l.State != "lost" {
			now = [2]uint64{slots(l.Slots), slots(l.Free)}
			s.launchers[l.ID] = now
		}
		for k := range s.slots {
			s.slots[k] += now[k] - old[k]
		}
	}
}

func slots(counts []scheduler.SlotCount) (n uint64) {
	for _, c := range counts {
		n += uint64(max(c.Count, 0))
	}
	return n
}

func (s *sampler) forget(id scheduler.JobID) {
	if j, known := s.jobs[id]; known {
		s.count(j.pool, -1)
		delete(s.jobs, id)
	}
}

// count adds a job's counts to its pool's, or subtracts them.
func (s *sampler) count(p timeseries.Pool, sign int64) {
	pool := s.pools[p.Name]
	if pool == nil {
		pool = &timeseries.Pool{Name: p.Name}
		s.pools[p.Name] = pool
	}
	by := uint64(sign) // -1 wraps around, and the sums wrap back
	pool.Jobs, pool.Asked, pool.Running, pool.Ready = pool.Jobs+by*p.Jobs, pool.Asked+by*p.Asked, pool.Running+by*p.Running, pool.Ready+by*p.Ready
	if pool.Jobs == 0 {
		delete(s.pools, p.Name)
	}
}

// row makes a sample, with what the policy reports of pools.
func (s *sampler) row(at int64, told []timeseries.Pool) timeseries.Row {
	r := timeseries.Row{At: at, Slots: s.slots[0], Free: s.slots[1]}
	heard := map[string]bool{}
	for _, p := range told {
		if own := s.pools[p.Name]; own != nil {
			p.Jobs, p.Asked, p.Running, p.Ready = own.Jobs, own.Asked, own.Running, own.Ready
		}
		heard[p.Name] = true
		r.Pools = append(r.Pools, p)
	}
	for _, p := range s.pools {
		if !heard[p.Name] {
			r.Pools = append(r.Pools, *p)
		}
	}
	slices.SortFunc(r.Pools, func(a, b timeseries.Pool) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

// sample adds a sample of now to the series.
func (h *History) sample() {
	var told []timeseries.Pool
	if h.o.Pools != nil {
		told = h.o.Pools(h.sampler.slots[0])
	}
	err := h.series.Add(h.sampler.row(h.o.Now().Unix(), told))
	if err != nil && !h.sampler.failed {
		h.o.Log.Error("samples of pools can't be written", "error", err)
	}
	h.sampler.failed = err != nil
}
