package main

import (
	"fmt"

	"github.com/hamadryad/hamadryad/laboratory/experiment"
)

// figure5Settings are Hammr's: a pool that was below two thirds of its share for a
// while takes back slots by a soft kill. Times are scaled as the maps are.
func figure5Settings(l *lab) string {
	return fmt.Sprintf(`allocations:
  fair-share-timeout: %v
  pools:
    A: {weight: 1}
    B: {weight: 2}
    C: {weight: 3}
update-interval: 50ms
locality: {mode: none}
preemption: {mode: soft, interval: 50ms, fair-share-threshold: 0.6667, grace: %v}
`, l.scaled(figure5Timeout), l.scaled(figure5Grace))
}

// table1Blind is the flow of table 1 without locality: nothing costs anything.
const table1Blind = "min-cost-flow, costs: {node-local: 0, rack-local: 0, remote: 0}"

// table1Settings choose how the fair policy places work.
func table1Settings(mode string) string {
	return fmt.Sprintf("locality: {mode: %s}\npreemption: {mode: \"off\"}\n", mode) + experiment.PoolsOfWorkload
}

// discoFair is Disco's own fair policy: who is owed most is served first, each job in a pool of its
// own, and nothing is preempted.
const discoFair = "allocations: {order: deficit}\nlocality: {mode: none}\npreemption: {mode: \"off\"}\n" + experiment.PoolsOfWorkload

// discoPreemptive is the policy of the published experiment: all free slots wait
// for a job between its stages, however long, and a slot stays empty when no job is below
// its share. Victims are drawn by lot.
const discoPreemptive = "attempt-loses: random\nhold: all\nhold-max: 0s\nwork-conserving: false\ntimes-max: 0\n"
