package report

import (
	"github.com/hamadryad/hamadryad/laboratory/report/statistics"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Measure is a measure of a run.
type Measure struct {
	// Name is its name, such as "sojourn mean", and Unit its unit. Shares are numbers from 0 to 1
	// with the unit Share; "" is a plain number.
	Name, Unit string
	// Part is its scope: "all jobs", "cluster", or "class " and a name.
	Part string
}

// Units of measures.
const (
	Seconds     = "s"
	SlotSeconds = "slot s"
	Share       = "share"

	KilowattHours = "kWh"
)

// Parts of measures.
const (
	allJobs   = "all jobs"
	ofCluster = "cluster"
)

func partOf(class string) string {
	if class == "" {
		return "no class"
	}
	return "class " + class
}

// measured is the value of a measure.
type measured struct {
	Measure
	value float64
}

// measures are all measures of a summary, in the order in which they are shown.
func (s *Summary) measures() []measured {
	list := append(s.All.measures(allJobs), s.measuresOff()...)
	for i := range s.Classes {
		list = append(list, s.Classes[i].measures(partOf(s.Classes[i].Name))...)
	}
	add := func(name, unit string, value float64) {
		list = append(list, measured{Measure{name, unit, ofCluster}, value})
	}
	add("makespan", Seconds, s.Makespan.Seconds())
	for _, u := range s.Utilization {
		add("utilization of "+u.Kind+" slots", Share, u.Share)
	}
	add("fairness", "", s.Fairness)
	near := 0
	for _, n := range s.Near {
		near += n
	}
	for level, n := range s.Near {
		if near > 0 {
			add(scheduler.Locality(level).String()+" attempts", Share, float64(n)/float64(near)) //nolint:gosec // it is an index of few levels
		}
	}
	add("attempts", "", float64(s.Attempts))
	add("preempted attempts", "", float64(s.Preempted))
	add("killed attempts", "", float64(s.Killed))
	add("suspended attempts", "", float64(s.Suspended))
	add("lost attempts", "", float64(s.Lost))
	add("wasted slot time", SlotSeconds, s.Wasted)
	if s.Busy > 0 {
		add("wasted slot time", Share, s.Wasted/s.Busy)
	}
	add("jobs that failed", "", float64(len(s.Failed)))
	return append(list, s.Energy.measures()...)
}

func (c *Class) measures(part string) []measured {
	list := []measured{{Measure{"jobs", "", part}, float64(c.Sojourn.Count)}}
	for _, of := range []struct {
		name, unit string
		d          statistics.Description
	}{{"sojourn", Seconds, c.Sojourn}, {"slowdown", "", c.Slowdown}} {
		if of.d.Count == 0 {
			continue
		}
		for _, v := range []struct {
			name  string
			value float64
		}{{"mean", of.d.Mean}, {"median", of.d.Median}, {"p75", of.d.P75}, {"p95", of.d.P95}, {"p99", of.d.P99}, {"max", of.d.Max}} {
			list = append(list, measured{Measure{of.name + " " + v.name, of.unit, part}, v.value})
		}
	}
	return list
}

// headlines are the measures of a short comparison of policies.
var headlines = []Measure{
	{"sojourn mean", Seconds, allJobs},
	{"sojourn median", Seconds, allJobs},
	{"slowdown mean", "", allJobs},
	{"makespan", Seconds, ofCluster},
	{"fairness", "", ofCluster},
	{"wasted slot time", SlotSeconds, ofCluster},
}
