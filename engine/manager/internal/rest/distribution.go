package rest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/internal/histogram"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// slowestShown is how many of the longest attempts are shown.
const slowestShown = 10

// GetDistribution returns how long a stage's attempts ran and waited.
func (s *Server) GetDistribution(ctx context.Context, q restapi.GetDistributionRequestObject) (restapi.GetDistributionResponseObject, error) {
	l, err := s.openJob(ctx, q.Job)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	d, err := l.distribution(q.Params.Stage)
	if err != nil {
		return nil, err
	}
	kept, of, err := l.Each(ctx, jobfile.Query{Stages: []int32{d.stage}}, d.addAttempt)
	if err != nil {
		return nil, err
	}
	return restapi.GetDistribution200JSONResponse{Body: d.shown(kept, of)}, nil
}

// distribution gathers how long attempts of a stage took.
type distribution struct {
	of               *jobHandle
	stage            int32
	running, waiting times
	slowest          []changes.Attempt // the slowest first
}

func (l *jobHandle) distribution(stage string) (*distribution, error) {
	n, err := l.stage(stage)
	return &distribution{of: l, stage: n}, err
}

func slower(x, y changes.Attempt) int {
	return cmp.Or(cmp.Compare(ran(&y), ran(&x)), cmp.Compare(x.ID, y.ID))
}

// addAttempt adds an attempt. It is always true.
func (d *distribution) addAttempt(f *changes.Attempt) bool {
	if f.Stage != d.stage {
		return true
	}
	if f.Ready != 0 && f.Launched != 0 {
		d.waiting.add(f.Launched.Sub(f.Ready))
	}
	if f.State != changes.Ended || f.Outcome != scheduler.Finished {
		return true
	}
	d.running.add(ran(f))
	if n := len(d.slowest); n == slowestShown && slower(*f, d.slowest[n-1]) > 0 {
		return true
	}
	at, _ := slices.BinarySearchFunc(d.slowest, *f, slower)
	d.slowest = slices.Insert(d.slowest, at, *f)
	d.slowest = d.slowest[:min(len(d.slowest), slowestShown)]
	return true
}

func (d *distribution) shown(kept, of int) restapi.Distribution {
	x := restapi.Distribution{Kept: kept, Total: of, Stage: d.of.stageName(d.stage), Running: d.running.quantiles(), Waiting: d.waiting.quantiles(), Histogram: d.running.buckets(), Slowest: []restapi.Attempt{}}
	for i := range d.slowest {
		x.Slowest = append(x.Slowest, d.of.shown(&d.slowest[i]))
	}
	return x
}

// times are durations, counted.
type times struct {
	histogram.Histogram
	least, most time.Duration
}

func (t *times) add(d time.Duration) {
	if t.Len() == 0 {
		t.least = d
	}
	t.least, t.most = min(t.least, d), max(t.most, d)
	t.Add(d)
}

func (t *times) quantiles() restapi.Quantiles {
	at := func(percent int) float32 { return float32(min(max(t.Quantile(percent), t.least), t.most).Seconds()) }
	return restapi.Quantiles{
		Count: t.Len(), Min: float32(t.least.Seconds()), P25: at(25), P50: at(50), P75: at(75), P90: at(90), P99: at(99), Max: float32(t.most.Seconds()),
	}
}

func (t *times) buckets() []restapi.Bucket {
	list := []restapi.Bucket{}
	for b, n := range t.All() {
		list = append(list, restapi.Bucket{From: float32(histogram.Low(b).Seconds()), To: float32(histogram.Low(b + 1).Seconds()), Count: int(n)})
	}
	return list
}
