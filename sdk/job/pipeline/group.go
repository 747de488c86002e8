package pipeline

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// member is one task of a stage.
type member struct {
	label int    // -1: several
	place string // "": several, or unknown
}

// group assigns the outputs of a stage's tasks to the tasks of the next stage. It returns the next
// stage's tasks, and for each earlier task and label the task that reads it.
func group(by Grouping, before []member, labels int) (members []member, to [][]int) {
	type key struct {
		from, label int
		place       string
	}
	index := map[key]int{}
	to = make([][]int, len(before))
	for i, b := range before {
		to[i] = make([]int, labels)
		for label := range labels {
			k, m := key{-1, -1, ""}, member{-1, ""}
			switch by {
			case Split:
				k, m = key{i, label, ""}, member{label, b.place}
			case ByLabel:
				k, m = key{-1, label, ""}, member{label, ""}
			case ByNode:
				k, m = key{-1, -1, b.place}, member{-1, b.place}
			case ByNodeLabel:
				k, m = key{-1, label, b.place}, member{label, b.place}
			}
			n, ok := index[k]
			if !ok {
				n = len(members)
				index[k] = n
				members = append(members, m)
			}
			to[i][label] = n
		}
	}
	return members, to
}

// edges lists which earlier task each task reads, each pair once, in order.
func edges(to [][]int) []job.Edge {
	var all []job.Edge
	for i, readers := range to {
		for _, r := range distinct(readers) {
			all = append(all, job.Edge{From: i, To: r})
		}
	}
	return all
}

// partitions converts readers into partitions: partition p of a task goes to the p-th of its
// readers.
func partitions(to [][]int) [][]int {
	routes := make([][]int, len(to))
	for i, readers := range to {
		order := distinct(readers)
		for _, r := range readers {
			p, _ := slices.BinarySearch(order, r)
			routes[i] = append(routes[i], p)
		}
	}
	return routes
}

func distinct(readers []int) []int {
	sorted := slices.Clone(readers)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// gather joins the stored input of the first stage's tasks.
func gather(tasks []job.Task, to [][]int, n int) []job.Task {
	all := make([]job.Task, n)
	for i, t := range tasks {
		all[to[i][0]] = append(all[to[i][0]], t...)
	}
	return all
}

// mostOf returns the host that holds most of a task's input.
func mostOf(t job.Task) string {
	var hosts []job.Place
	for _, s := range t {
		for _, p := range s.Places {
			i := slices.IndexFunc(hosts, func(h job.Place) bool { return h.Host == p.Host })
			if i < 0 {
				i = len(hosts)
				hosts = append(hosts, job.Place{Host: p.Host})
			}
			hosts[i].Bytes += p.Bytes
		}
	}
	if len(hosts) == 0 {
		return ""
	}
	return slices.MinFunc(hosts, func(a, b job.Place) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Host, b.Host))
	}).Host
}
