package metrics

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// poolsMax bounds the pools that have metrics of their own: those with the most work. The others
// are summed as the pool otherPools, together with a real pool of that name.
const (
	poolsMax   = 1000
	otherPools = "other"
)

// Rows are metrics of pools and of attempts' times, made of the core's change rows. Safe
// for concurrent use.
type Rows struct {
	waits     prometheus.Histogram
	durations *prometheus.HistogramVec

	mu       sync.Mutex
	jobs     map[scheduler.JobID]has          // that live
	pools    map[string]has                   // with such jobs
	launched map[scheduler.AttemptID]struct{} // that live
	users    map[string]changes.User          // with such jobs and a limit
}

// has are the numbers of a job, or of all jobs of a pool.
type has struct {
	pool                   string // of a job
	jobs, running, pending int
}

func (h has) more(by has, times int) has {
	return has{"", h.jobs + times*by.jobs, h.running + times*by.running, h.pending + times*by.pending}
}

var (
	poolJobs    = describe("pool_jobs", "Jobs that have not ended, by pool; those of all but the 1000 pools with most groups are in other.", "pool")
	poolRunning = describe("pool_groups_running", "Groups that run, by pool; as of hamadryad_pool_jobs.", "pool")
	poolPending = describe("pool_groups_pending", "Groups of live jobs that neither run nor have finished, by pool; as of hamadryad_pool_jobs.", "pool")
)

// NewRows returns empty metrics.
func NewRows() *Rows {
	return &Rows{
		waits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "hamadryad_attempt_wait_seconds", Help: "For how long bundles were ready until their attempts were launched, one for each attempt that is no second one.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 24), // to 2.3 h
		}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "hamadryad_attempt_duration_seconds", Help: "For how long attempts ran that ended, without the time in which they were suspended, by outcome.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 24), // to 23 h
		}, []string{"outcome"}),
		jobs: map[scheduler.JobID]has{}, pools: map[string]has{}, launched: map[scheduler.AttemptID]struct{}{}, users: map[string]changes.User{},
	}
}

// BeginWith records the attempts that live when this life begins, before the first Apply. The life
// that launched their bundles already counted how long those were ready.
func (r *Rows) BeginWith(all core.Changes) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range all.Attempts {
		if a.State != changes.Ended {
			r.launched[a.ID] = struct{}{}
		}
	}
}

// Apply takes in the changes of a step, or the whole state at the beginning. Batches come in order.
func (r *Rows) Apply(f core.Changes) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range f.Jobs {
		r.putJob(j.ID, has{j.Pool, 1, j.Running, max(0, j.Groups-j.Finished-j.Running)})
	}
	for _, u := range f.Users {
		if r.users[u.Name] = u; u.Gone {
			delete(r.users, u.Name)
		}
	}
	for _, s := range f.Ended {
		r.putJob(scheduler.JobID(s.GetSummary().GetJob()), has{})
	}
	for _, a := range f.Attempts {
		_, known := r.launched[a.ID]
		if !known && a.Ready != 0 && a.Launched != 0 { // an attempt remembered from before this life has neither
			r.waits.Observe(a.Launched.Sub(a.Ready).Seconds())
		}
		if a.State != changes.Ended {
			r.launched[a.ID] = struct{}{}
			continue
		}
		delete(r.launched, a.ID)
		if a.Launched != 0 && a.Started != 0 { // an attempt remembered from before this life has no launch
			r.durations.WithLabelValues(a.Outcome.String()).Observe((a.Since.Sub(a.Started) - a.Suspended).Seconds())
		}
	}
}

// putJob replaces a job's numbers; without numbers it has ended. With mu held.
func (r *Rows) putJob(id scheduler.JobID, now has) {
	if was, ok := r.jobs[id]; ok {
		r.add(was, -1)
		delete(r.jobs, id)
	}
	if now.jobs > 0 {
		r.add(now, 1)
		r.jobs[id] = now
	}
}

func (r *Rows) add(of has, times int) {
	sum := r.pools[of.pool].more(of, times)
	if sum.jobs == 0 {
		delete(r.pools, of.pool)
		return
	}
	r.pools[of.pool] = sum
}

// Describe implements prometheus.Collector.
func (r *Rows) Describe(c chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{poolJobs, poolRunning, poolPending, userLimit, userHolds} {
		c <- d
	}
	r.waits.Describe(c)
	r.durations.Describe(c)
}

// Collect implements prometheus.Collector.
func (r *Rows) Collect(out chan<- prometheus.Metric) {
	r.mu.Lock()
	shown, users := maps.Clone(r.pools), slices.Collect(maps.Values(r.users))
	r.mu.Unlock()
	shown = largest(shown, poolsMax)
	to := metric(out)
	for pool, h := range shown {
		to.gauge(poolJobs, float64(h.jobs), pool)
		to.gauge(poolRunning, float64(h.running), pool)
		to.gauge(poolPending, float64(h.pending), pool)
	}
	collectUsers(to, users)
	r.waits.Collect(out)
	r.durations.Collect(out)
}

// largest are the most pools with the most groups, and the sum of the others.
func largest(pools map[string]has, most int) map[string]has {
	if len(pools) <= most {
		return pools
	}
	names := slices.SortedFunc(maps.Keys(pools), func(a, b string) int {
		x, y := pools[a], pools[b]
		return cmp.Or(cmp.Compare(y.running+y.pending, x.running+x.pending), cmp.Compare(y.jobs, x.jobs), cmp.Compare(a, b))
	})
	shown, other := map[string]has{}, has{}
	for i, name := range names {
		if i < most && name != otherPools {
			shown[name] = pools[name]
		} else {
			other = other.more(pools[name], 1)
		}
	}
	shown[otherPools] = other
	return shown
}
