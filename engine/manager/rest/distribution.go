package rest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/facts"
	"github.com/hamadryad/hamadryad/engine/manager/rest/api"
	"github.com/hamadryad/hamadryad/internal/histogram"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// slowestShown is how many of the attempts that ran longest are shown.
const slowestShown = 10

// GetDistribution tells how long a stage's attempts ran and waited.
func (s *Server) GetDistribution(ctx context.Context, q api.GetDistributionRequestObject) (api.GetDistributionResponseObject, error) {
	a, err := s.attempts(ctx, q.Job)
	if err != nil {
		return nil, err
	}
	stage, err := a.stage(q.Params.Stage)
	if err != nil {
		return nil, err
	}
	var running, waiting times
	var slowest []facts.Attempt
	longer := func(x, y facts.Attempt) int { return cmp.Or(cmp.Compare(ran(&y), ran(&x)), cmp.Compare(x.ID, y.ID)) }
	err = a.each(ctx, 0, func(f *facts.Attempt) bool {
		if f.Stage != stage {
			return true
		}
		if f.Ready != 0 && f.Launched != 0 {
			waiting.add(f.Launched.Sub(f.Ready))
		}
		if f.State != facts.Ended || f.Outcome != scheduler.Finished {
			return true
		}
		running.add(ran(f))
		if at, _ := slices.BinarySearchFunc(slowest, *f, longer); at < slowestShown {
			slowest = slices.Insert(slowest, at, *f)
			slowest = slowest[:min(len(slowest), slowestShown)]
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	d := api.Distribution{Stage: q.Params.Stage, Running: running.quantiles(), Waiting: waiting.quantiles(), Histogram: running.buckets(), Slowest: []api.Attempt{}}
	for i := range slowest {
		d.Slowest = append(d.Slowest, a.shown(&slowest[i]))
	}
	return api.GetDistribution200JSONResponse{Body: d}, nil
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

func (t *times) quantiles() api.Quantiles {
	at := func(percent int) float32 { return float32(min(max(t.Quantile(percent), t.least), t.most).Seconds()) }
	return api.Quantiles{
		Count: t.Len(), Min: float32(t.least.Seconds()), P25: at(25), P50: at(50), P75: at(75), P90: at(90), P99: at(99), Max: float32(t.most.Seconds()),
	}
}

func (t *times) buckets() []api.Bucket {
	list := []api.Bucket{}
	for b, n := range t.All() {
		list = append(list, api.Bucket{From: float32(histogram.Low(b).Seconds()), To: float32(histogram.Low(b + 1).Seconds()), Count: int(n)})
	}
	return list
}
