package virtual

import (
	"context"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/report/drawing"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// Launchers is the published cluster's size; section 4.1.
const Launchers = 100

// Slow-starts: readers start when all writers have ended, or the twentieth part of them, which was Hadoop's default.
const (
	startLate  = 1
	startEarly = 0.05
)

// classesOf2009 are those of table 1.
var classesOf2009 = []string{"small", "medium", "big"}

// hfspCluster is the published one, of another size and slow-start: four slots for maps and two for
// reduces on each launcher, three replicas, and heartbeats of three seconds, as Hadoop had them then.
func hfspCluster(launchers int, slowStart float64) *cluster.Cluster {
	c := cluster.Default(launchers, map[string]int{"map": 4, "reduce": 2})
	c.Replicas, c.Model.Heartbeat, c.Model.SlowStart = 3, 3*time.Second, slowStart
	return c
}

// idealCluster is one on which nothing takes time but work.
func idealCluster(launchers, slots int) *cluster.Cluster {
	c := cluster.Default(launchers, map[string]int{"map": slots, "reduce": slots})
	m := &c.Model
	m.Start, m.Stop, m.Latency, m.Suspend, m.Resume = 0, 0, 0, cluster.Cost{}, cluster.Cost{}
	return c
}

// pair is a workload under both policies that the paper compares, with their defaults.
type pair struct {
	workload   *workload.Workload
	fair, hfsp *simulation.Result
}

// pairs plays a workload under both on each of some clusters.
func (l *Lab) pairs(ctx context.Context, w *workload.Workload, on ...*cluster.Cluster) ([]pair, error) {
	var games []game
	for _, c := range on {
		games = append(games, game{policy: "fair", workload: w, on: c}, game{policy: "hfsp", workload: w, on: c})
	}
	results, err := l.plays(ctx, games...)
	if err != nil {
		return nil, err
	}
	var list []pair
	for i := range on {
		list = append(list, pair{w, results[2*i], results[2*i+1]})
	}
	return list, nil
}

// means are the mean sojourn times of all jobs, in seconds.
func (p *pair) means() (fair, hfsp float64) {
	return meanSojourn(p.workload, p.fair, "").Seconds(), meanSojourn(p.workload, p.hfsp, "").Seconds()
}

// ratio is how many times longer the mean sojourn time is under fair.
func (p *pair) ratio() float64 {
	fair, hfsp := p.means()
	return fair / hfsp
}

// sojourns are those of a class of jobs.
func sojourns(w *workload.Workload, r *simulation.Result, class string) (list []time.Duration) {
	for i := range r.Jobs {
		if w.Jobs[i].Class == class {
			list = append(list, r.Jobs[i].Sojourn())
		}
	}
	return list
}

// sample has durations drawn in a unit.
func sample(name string, list []time.Duration, unit time.Duration) drawing.Sample {
	s := drawing.Sample{Name: name}
	for _, d := range list {
		s.Values = append(s.Values, float64(d)/float64(unit))
	}
	return s
}
