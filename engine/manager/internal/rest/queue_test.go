package rest

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/timeseries"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// kept answers with what a test sets. If the test sets no reasons, it answers with those of
// history.
type kept struct {
	of    *history.History
	waits history.Waits
	rows  []timeseries.Row
	tier  int // that was asked for last
}

func (p *kept) Waits(ctx context.Context, id scheduler.JobID) (history.Waits, error) {
	if p.waits.List == nil {
		return p.of.Waits(ctx, id)
	}
	return p.waits, nil
}

func (p *kept) Series(tier int, _, _ int64, points int) ([]timeseries.Row, time.Duration, error) {
	p.tier = tier
	c := timeseries.NewCoarse(timeseries.Tiers[tier], points)
	for i := range p.rows {
		c.Add(&p.rows[i])
	}
	rows, every := c.Rows()
	return rows, every, nil
}

// overview is a policy that failed, and at how many nanoseconds after base that was noted.
type overview struct{ noted int64 }

func (o overview) Overview() *wire.PolicyReply {
	return &wire.PolicyReply{
		Name: "fallback", Policy: "fair", State: "fallback", Generation: 4, Started: int64(base), Restarts: 3, RoundTimes: &wire.RoundTimes{Last: 2e6, Mean: 1e6, Longest: 3e6, Slow: 1e9, SlowRounds: 1},
		Problems: []*wire.PolicyProblem{{What: "policy", Text: "it died", At: int64(base) + o.noted}},
	}
}

// queueOf turns all pages of the queue, of so many entries, and returns the jobs as they came.
func (w *world) queueOf(query string, limit int, between func()) (ids []string, last restapi.Queue) {
	w.Helper()
	for cursor := ""; ; {
		w.ask("GET", fmt.Sprintf("/api/v1/queue?limit=%d&cursor=%s%s", limit, url.QueryEscape(cursor), query), "", &last)
		for _, e := range last.Entries {
			ids = append(ids, e.ID)
		}
		if !last.Truncated {
			return ids, last
		}
		cursor, last = *last.Next, restapi.Queue{}
		between()
	}
}

// queueOf is a policy's order of jobs.
func queueOf(ids ...scheduler.JobID) (list []scheduler.Queued) {
	for _, id := range ids {
		list = append(list, scheduler.Queued{Job: id, Why: "the turn of " + id.String()})
	}
	return list
}

// The queue is in the policy's order, then by how long jobs have waited. However jobs start and come while its
// pages are turned, each that waits throughout is on them.
func TestQueue(t *testing.T) {
	w := newWorld(t)
	nothing := func() {}
	for id := scheduler.JobID(1); id <= 20; id++ {
		w.job(id, map[bool]string{true: "ann", false: "bob"}[id%2 == 0], int(id))
	}
	w.job(21, secretive, 3)
	ids, q := w.queueOf("", 7, nothing)
	if len(ids) != 20 || ids[0] != "job-1" || ids[19] != "job-20" || q.Order != restapi.QueueOrderWaited || q.Total != 20 || q.Entries[0].Place != nil {
		t.Errorf("by how long they waited: %v, %+v", ids, q)
	}
	w.cache.UpdateStatus("fifo", 1, time.Now(), scheduler.Status{Queue: queueOf(21, 9, 3, 7)})
	if ids, q = w.queueOf("&user=bob", 3, nothing); fmt.Sprint(ids[:5]) != "[job-9 job-3 job-7 job-1 job-5]" || q.Order != restapi.QueueOrderPolicy || len(ids) != 10 {
		t.Errorf("the policy's order: %v, %+v", ids, q)
	}
	w.ask("GET", "/api/v1/queue?limit=1", "", &q)
	if e := q.Entries[0]; *e.Place != 2 || *e.Turn != "the turn of job-9" || e.Ready != 9 || len(e.Needs) != 1 || e.Needs[0].Count != 1 || len(e.Reasons) == 0 {
		t.Errorf("the first: %+v", e)
	}
	for _, x := range []struct {
		because scheduler.WaitReason
		last    string
	}{{scheduler.WaitTurn, "9 ready: "}, {scheduler.WaitAtLimit, "policy: at its limit: 4 of 4"}} { // the reason of a turn has newer numbers, that of a limit has not
		w.jobThatWaits(9, "bob", 9, scheduler.Waiting{Job: 9, Reason: x.because, Detail: "4 of 4"})
		w.ask("GET", "/api/v1/queue?limit=1", "", &q)
		if r := q.Entries[0].Reasons; !strings.HasPrefix(r[len(r)-1], x.last) {
			t.Errorf("%v: why it waits is %q", x.because, r)
		}
	}
	if w.ask("GET", "/api/v1/queue?pool=other", "", &q); q.Total != 0 {
		t.Errorf("of another pool: %+v", q)
	}
	gone := scheduler.JobID(1)
	ids, _ = w.queueOf("", 4, func() { // the job that was shown last starts, and another one comes
		w.model.Enqueue(core.Changes{Decides: 3, ChangeSet: changes.ChangeSet{Ended: []*wire.JobStatus{{Summary: &wire.JobSummary{Job: uint64(gone)}}}}})
		gone++
		w.job(100+gone, "ann", 1)
	})
	for id := gone; id <= 20; id++ {
		if !slices.Contains(ids, id.String()) {
			t.Errorf("%v waits throughout, and is not among %v", id, ids)
		}
	}
	if r := w.ask("GET", "/api/v1/queue?cursor=queue-1.2.3.4.5.6.7.8.9", "", nil); r.StatusCode != http.StatusBadRequest {
		t.Errorf("a cursor that nobody gave: %d", r.StatusCode)
	}
	tag := w.ask("GET", "/api/v1/queue", "", nil).Header.Get("ETag")
	w.cache.UpdateStatus("fifo", 1, time.Now(), scheduler.Status{Queue: queueOf(9, 3, 7)})
	if now := w.ask("GET", "/api/v1/queue", "", nil).Header.Get("ETag"); now == tag {
		t.Error("another order has the same ETag")
	}
}

// Pools are shown as the policy reported them, and counted by the caller's rights.
func TestPools(t *testing.T) {
	w := newWorld(t)
	var p restapi.Pools
	if w.ask("GET", "/api/v1/pools", "", &p); p.At != nil || len(p.Pools) != 0 {
		t.Errorf("nothing was told: %+v", p)
	}
	w.job(1, "ann", 3)
	w.job(2, secretive, 3)
	w.cache.UpdateStatus("fair", 1, time.Now(), scheduler.Status{AllPools: true, Pools: []scheduler.PoolStatus{
		{Name: "root", Kind: "default", Weight: 1, FairShare: 8, Demand: 8, Running: 8},
		{Name: "root.a", Parent: "root", Kind: "default", Weight: 2, MinShare: 4, FairShare: 4, Demand: 6, Running: 2, Jobs: 1},
	}})
	w.ask("GET", "/api/v1/pools", "", &p)
	if len(p.Pools) != 2 || p.Pools[1].BelowMinimumSince == nil || p.Pools[1].BelowShareSince == nil || p.Pools[0].BelowShareSince != nil || *p.Pools[1].Parent != "root" {
		t.Errorf("shares: %+v", p)
	}
	if len(p.Counted) != 1 || p.Counted[0] != (restapi.PoolCount{Name: "default", Jobs: 1, Ready: 3}) {
		t.Errorf("counts of what ann may see: %+v", p.Counted)
	}
	now := time.Now().Unix()
	w.kept.rows = []timeseries.Row{
		{At: now - 2, Samples: 2, Slots: 16, Free: 4, Pools: []timeseries.Pool{{Name: "a", Jobs: 2, Running: 6, Told: 1, Held: 6, Demand: 8, Share: 7000}, {Name: "b", Jobs: 2}}},
		{At: now - 1, Samples: 1, Slots: 8, Free: 8, Pools: []timeseries.Pool{{Name: "b", Jobs: 1}}},
	}
	var s restapi.PoolSeries
	if w.ask("GET", "/api/v1/pools/series?span=10m&points=1000&pool=a", "", &s); len(s.Pools) != 1 || s.Pools[0].Running[0] != 3 || *s.Pools[0].Share[0] != 3.5 || s.Pools[0].Share[1] != nil || s.Slots[1] != 8 || s.Every != 1 {
		t.Errorf("series: %+v", s)
	}
	if w.ask("GET", "/api/v1/pools/series?span=7d", "", &s); len(s.Pools) != 2 || w.kept.tier != 2 {
		t.Errorf("series of days: %+v", s)
	}
	if r := w.ask("GET", "/api/v1/pools/series?span=1y", "", nil); r.StatusCode != http.StatusBadRequest {
		t.Error(r)
	}
}

// At no drawn time do all pools hold more slots than there are, in no tier and however samples are
// combined: also if pools come and go, and if the policy reports only some samples.
func TestPoolsHoldNoMoreThanThereIs(t *testing.T) {
	r, w := rand.New(rand.NewPCG(10, 3)), newWorld(t)
	store, err := timeseries.Open(filepath.Join(t.TempDir(), "series"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	now := time.Now().Unix()
	for at := now - 500; at < now; at++ {
		row := timeseries.Row{At: at, Slots: uint64(4 + r.IntN(6))}
		counted, held, tells := row.Slots, row.Slots, r.IntN(60) < 50
		for _, name := range []string{"a", "b", "c"} { // each source is right by itself, and of another moment
			p := timeseries.Pool{Name: name, Jobs: 1, Running: uint64(r.IntN(int(counted) + 1))}
			if counted -= p.Running; tells && r.IntN(3) > 0 {
				p.Told, p.Held = 1, uint64(r.IntN(int(held)+1))
				held -= p.Held
				p.Own = p.Held
			}
			if p.Told+p.Running > 0 {
				row.Pools = append(row.Pools, p)
			}
		}
		if err := store.Add(row); err != nil {
			t.Fatal(err)
		}
	}
	for tier, span := range []string{"10m", "4h", "7d"} {
		for _, points := range []int{1000, 7} {
			if w.kept.rows, _, err = store.Rows(tier, 0, now+1, 0); err != nil || len(w.kept.rows) == 0 {
				t.Fatal(err)
			}
			var s restapi.PoolSeries
			w.ask("GET", fmt.Sprintf("/api/v1/pools/series?span=%s&points=%d", span, points), "", &s)
			for i, slots := range s.Slots {
				sum := float32(0)
				for _, p := range s.Pools {
					if p.Own[i] != nil {
						sum += *p.Own[i]
					} else {
						sum += p.Running[i] // as assets/pools.js draws it
					}
				}
				if sum > slots+1e-3 {
					t.Errorf("%s in %d points: at %d all pools hold %v of %v slots", span, points, s.Times[i], sum, slots)
				}
			}
		}
	}
}

// The policy's decisions are counted, and callers who may view the jobs can search them.
func TestPolicy(t *testing.T) {
	w := newWorld(t)
	w.job(1, "ann", 3)
	w.job(2, secretive, 3)
	w.model.Enqueue(core.Changes{Decides: 3, ChangeSet: changes.ChangeSet{Launchers: []changes.Launcher{{ID: 1, Name: "l1", State: "up"}}}})
	var stats core.Stats
	stats.Decision(scheduler.DecisionLaunch, scheduler.NoCapacity)
	for round := range uint64(10) {
		w.model.Enqueue(core.Changes{At: base, Decides: 3, Stats: stats, ChangeSet: changes.ChangeSet{Decided: []changes.Decision{
			{Generation: 3, Round: round, Kind: scheduler.DecisionLaunch, Job: 1, Bundle: 7, Launcher: 1, Count: 1},
			{Generation: 3, Round: round, Kind: scheduler.DecisionLaunch, Job: 1, Launcher: 2, Reason: scheduler.NoCapacity, Detail: "2 of 3"},
			{Generation: 3, Round: round, Kind: scheduler.DecisionLaunch, Job: 2, Launcher: 1},
			{Generation: 3, Round: round, Kind: scheduler.DecisionPreempt, Job: 2, From: 1, Attempt: 5, Count: 2},
		}}})
	}
	for query, want := range map[string]int{
		"": 30, "&job=job-1": 30, "&job=job-2": 10, "&launcher=l1": 10, "&kind=preempt": 10, "&outcome=refused": 10, "&outcome=accepted": 20, "&reason=no+capacity": 10, "&reason=protected": 0,
	} {
		var seen []int64
		for cursor := ""; ; {
			var l restapi.DecisionList
			w.ask("GET", "/api/v1/policy/decisions?limit=7"+query+"&cursor="+cursor, "", &l)
			for _, d := range l.Decisions {
				if d.Bundle != nil && *d.Bundle != "bundle-7" {
					t.Errorf("a bundle is shown as %q", *d.Bundle)
				}
				if seen = append(seen, d.Number); len(seen) > 1 && d.Number >= seen[len(seen)-2] {
					t.Errorf("%s: %v is not the newest first", query, seen)
				}
			}
			if l.Total != want {
				t.Errorf("%s: %d fit, want %d", query, l.Total, want)
			}
			if !l.Truncated {
				break
			}
			cursor = *l.Next
			w.model.Enqueue(core.Changes{Decides: 3, Stats: stats, ChangeSet: changes.ChangeSet{Decided: []changes.Decision{{Kind: scheduler.DecisionLaunch, Job: 2}}}})
		}
		if len(seen) != want {
			t.Errorf("%s: %d came, want %d", query, len(seen), want)
		}
	}
	w.cache.UpdateStatus("fallback", 4, time.Now(), scheduler.Status{Facts: []scheduler.Property{{Name: "mood", Value: "good"}}})
	var p restapi.Policy
	w.ask("GET", "/api/v1/policy", "", &p)
	if p.State != restapi.PolicyStateFallback || p.Configured != "fair" || len(p.Problems) != 1 || p.Rounds.Longest != 0.003 || len(p.Facts) != 1 || len(p.Accepted) != int(scheduler.DecisionSpeculate) ||
		len(p.Refused) != 1 || p.Refused[0] != (restapi.Count{Name: "no capacity", Count: 1}) {
		t.Errorf("the policy: %+v", p)
	}
}

// A reason lasts until the next one, or until the job waits no more.
func TestReasons(t *testing.T) {
	w := newWorld(t)
	w.job(1, "ann", 3)
	w.job(2, secretive, 3)
	w.end(3, "ann")
	at := func(n int) scheduler.Time { return base.Add(time.Duration(n) * time.Second) }
	w.kept.waits = history.Waits{List: []jobfile.Wait{{At: at(1), Reason: "a"}, {At: at(2), Reason: "b"}, {At: at(3)}, {At: at(5), Reason: "c"}}, Dropped: 2}
	said := func(job string) (text string) {
		var l restapi.ReasonList
		w.ask("GET", "/api/v1/jobs/"+job+"/reasons", "", &l)
		for _, r := range l.Reasons {
			to := "now"
			if r.To != nil {
				to = fmt.Sprint(r.To.Sub(r.From))
			}
			text += fmt.Sprintf("%s for %s, ", r.Reason, to)
		}
		return text + fmt.Sprint(l.Dropped)
	}
	if got := said("job-1"); got != "a for 1s, b for 1s, c for now, 2" {
		t.Error(got)
	}
	if got := said("job-3"); got != "a for 1s, b for 1s, c for 55s, 2" {
		t.Error("of one that ended: ", got)
	}
	for job, want := range map[string]int{"job-2": http.StatusForbidden, "job-9": http.StatusNotFound} {
		if r := w.ask("GET", "/api/v1/jobs/"+job+"/reasons", "", nil); r.StatusCode != want {
			t.Errorf("%s: %d", job, r.StatusCode)
		}
	}
}
