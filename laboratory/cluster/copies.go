package cluster

import "github.com/hamadryad/hamadryad/laboratory/workload"

// Copies returns the hosts of the copies of stored input that the workload does not place: Replicas
// of them, as HDFS places them. The first is on any host, the second in another rack, the third in
// the rack of the second, and further ones are anywhere. The result depends on the seed and the
// task alone. nil: there are no copies.
func (c *Cluster) Copies() func(job, stage, task int) []workload.Place {
	if c.Replicas == 0 {
		return nil
	}
	var hosts []workload.Place
	racks := map[string][]int{}
	for k := range c.Groups {
		g := &c.Groups[k]
		for i := range g.Count {
			racks[g.rack(i)] = append(racks[g.rack(i)], len(hosts))
			hosts = append(hosts, workload.Place{Host: g.host(i), Rack: g.rack(i)})
		}
	}
	n := min(c.Replicas, len(hosts))
	return func(job, stage, task int) []workload.Place {
		r := workload.NewRand(c.Seed, copies, uint64(job), uint64(stage), uint64(task))
		chosen := make([]int, 0, n)
		for len(chosen) < n {
			chosen = append(chosen, another(r, hosts, racks, chosen))
		}
		places := make([]workload.Place, n)
		for i, h := range chosen {
			places[i] = hosts[h]
		}
		return places
	}
}

// another draws a host for the next copy.
func another(r *workload.Rand, hosts []workload.Place, racks map[string][]int, chosen []int) int {
	free := func(h int) bool {
		for _, c := range chosen {
			if c == h {
				return false
			}
		}
		return true
	}
	switch len(chosen) {
	case 1:
		first := hosts[chosen[0]].Rack
		if len(racks) > 1 {
			return draw(r, len(hosts), func(i int) int { return i }, func(h int) bool { return hosts[h].Rack != first })
		}
	case 2:
		if same := racks[hosts[chosen[1]].Rack]; len(same) > 1 {
			return draw(r, len(same), func(i int) int { return same[i] }, free)
		}
	}
	return draw(r, len(hosts), func(i int) int { return i }, free)
}

// triesMax bounds the random tries for a host; then the next suitable one is taken.
const triesMax = 32

// draw draws a suitable one of n; at least one is suitable.
func draw(r *workload.Rand, n int, of func(int) int, right func(int) bool) int {
	at := 0
	for range triesMax {
		at = r.Below(n)
		if right(of(at)) {
			return of(at)
		}
	}
	for !right(of(at)) {
		at = (at + 1) % n
	}
	return of(at)
}
