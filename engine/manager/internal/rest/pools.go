package rest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/timeseries"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// GetPools returns the policy's last status of its pools, and the manager's counts.
func (s *Server) GetPools(ctx context.Context, _ restapi.GetPoolsRequestObject) (restapi.GetPoolsResponseObject, error) {
	counted, err := s.countPools(ctx)
	if err != nil {
		return nil, err
	}
	v := s.needs.Pools.View()
	p := restapi.Pools{Policy: v.Policy, At: pointerTo(v.At), Pools: []restapi.PoolShare{}, Counted: counted}
	for i := range v.Pools {
		x := &v.Pools[i]
		share := restapi.PoolShareOf(&x.PoolStatus)
		share.BelowMinimumSince, share.BelowShareSince = pointerTo(x.BelowMinimum), pointerTo(x.BelowShare)
		p.Pools = append(p.Pools, share)
	}
	return restapi.GetPools200JSONResponse{Body: p}, nil
}

// pointerTo is nil for the zero time.
func pointerTo(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// countPools counts the jobs that the caller may look at, by their pools, in order of name.
func (s *Server) countPools(ctx context.Context) ([]restapi.PoolCount, error) {
	jobs, err := s.needs.Read.LiveJobs(ctx)
	if err != nil {
		return nil, err
	}
	waiting, err := s.needs.Read.Waiting(ctx)
	if err != nil {
		return nil, err
	}
	may, pools := s.needs.Service.MayLook(ctx), map[string]*restapi.PoolCount{}
	of := func(j *wire.JobSummary) *restapi.PoolCount {
		if pools[j.Pool] == nil {
			pools[j.Pool] = &restapi.PoolCount{Name: j.Pool}
		}
		return pools[j.Pool]
	}
	for _, j := range jobs {
		if may(j) {
			p := of(j)
			p.Jobs++
			p.Running += int(j.GroupsRunning)
			if j.State == wire.JobState_JOB_STATE_ASKED {
				p.Asked++
			}
		}
	}
	for i := range waiting {
		if may(waiting[i].Summary) {
			of(waiting[i].Summary).Ready += waiting[i].Ready
		}
	}
	list := []restapi.PoolCount{}
	for _, p := range pools {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b restapi.PoolCount) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

const (
	// pointsDefault is the number of points of series, unless the request names one.
	pointsDefault = 300
	// seriesPoolsMax bounds the pools of an answer: those with the most work.
	seriesPoolsMax = 20
)

// tiers are the samples that cover the requested span.
var tiers = map[restapi.GetPoolSeriesParamsSpan]int{restapi.GetPoolSeriesParamsSpanN10M: 0, restapi.GetPoolSeriesParamsSpanN4H: 1, restapi.GetPoolSeriesParamsSpanN7D: 2}

// GetPoolSeries returns the use of pools over time.
func (s *Server) GetPoolSeries(_ context.Context, q restapi.GetPoolSeriesRequestObject) (restapi.GetPoolSeriesResponseObject, error) {
	span, points := restapi.GetPoolSeriesParamsSpanN10M, pointsDefault
	if q.Params.Span != nil {
		span = *q.Params.Span
	}
	if q.Params.Points != nil {
		points = *q.Params.Points
	}
	tier := tiers[span]
	until := time.Now().Unix() + 1
	rows, every, err := s.needs.History.Series(tier, until-int64(timeseries.Tiers[tier].Keep/time.Second), until, points)
	if err != nil {
		return nil, err
	}
	reported := reportedIn(rows)
	if q.Params.Pool != nil {
		timeseries.KeepPool(rows, *q.Params.Pool)
	}
	names, left := timeseries.LargestPools(rows, seriesPoolsMax)
	a := restapi.PoolSeries{Every: int(every / time.Second), Times: []int64{}, Slots: []float32{}, Free: []float32{}, Pools: []restapi.PoolLine{}, LeftOut: left}
	for i := range rows {
		a.Times = append(a.Times, rows[i].At)
		a.Slots, a.Free = append(a.Slots, mean(rows[i].Slots, rows[i].Samples)), append(a.Free, mean(rows[i].Free, rows[i].Samples))
	}
	for _, name := range names {
		a.Pools = append(a.Pools, line(rows, reported, name))
	}
	return restapi.GetPoolSeries200JSONResponse(a), nil
}

// reportedIn reports for each row whether the policy reported any pool in it. If so, it reported
// all, and a pool without a report held nothing. The manager's count of attempts may be from
// another time; both together could exceed the slots there are.
func reportedIn(rows []timeseries.Row) []bool {
	reported := make([]bool, len(rows))
	for i := range rows {
		reported[i] = slices.ContainsFunc(rows[i].Pools, func(p timeseries.Pool) bool { return p.Told > 0 })
	}
	return reported
}

// line is a pool's average use in each interval.
func line(rows []timeseries.Row, reported []bool, name string) restapi.PoolLine {
	n := len(rows)
	l := restapi.PoolLine{
		Name: name, Jobs: make([]float32, n), Running: make([]float32, n), Ready: make([]float32, n),
		Held: make([]*float32, n), Own: make([]*float32, n), Demand: make([]*float32, n), Share: make([]*float32, n),
	}
	for i := range rows {
		p := rows[i].Pool(name)
		all := rows[i].Samples
		l.Jobs[i], l.Running[i], l.Ready[i] = mean(p.Jobs, all), mean(p.Running, all), mean(p.Ready, all)
		if reported[i] { // in samples without a report of this pool it held and wanted nothing
			held, own, demand, share := mean(p.Held, all), mean(p.Own, all), mean(p.Demand, all), mean(p.Share, all)/timeseries.ShareUnit
			l.Held[i], l.Own[i], l.Demand[i], l.Share[i] = &held, &own, &demand, &share
		}
	}
	return l
}

func mean(sum, of uint64) float32 { return float32(float64(sum) / float64(max(of, 1))) }
