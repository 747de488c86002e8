package fair

import (
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestManyJobsAtTheUserLimit: however many jobs of a user wait at the limit, another user's job takes
// the free slots at once. The jobs that wait say so.
func TestManyJobsAtTheUserLimit(t *testing.T) {
	p := policytest.Play(t, "", New)
	p.Launchers(1, 4)
	p.Cluster.LimitUsers(scheduler.UserLimit{}, map[string]scheduler.UserLimit{"ann": {Slots: 2}})
	job := func(user string) cluster.Spec {
		return cluster.Spec{Name: "job", User: user, Layers: []cluster.Layer{{Bundles: 1, Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}}, Run: time.Hour}}}
	}
	const many = 300 // more than the policy passes over for other reasons
	for range many {
		p.At(0, job("ann"))
	}
	p.At(10*time.Second, job("bob"))
	p.Until(11 * time.Second)
	launched, said := map[scheduler.BundleID]bool{}, 0
	for _, d := range p.Decisions {
		for _, l := range d.Launch {
			launched[l.Bundle] = true
		}
		for _, w := range d.Waiting {
			if w.Reason == scheduler.WaitAtLimit && strings.Contains(w.Detail, "user ann is at the limit of 2 slots (core.userLimits)") {
				said++
			}
		}
	}
	if len(launched) != 3 || said < many-2 {
		t.Errorf("%d bundles were launched, want two of ann and the one of bob; %d of %d jobs said that they wait for the limit", len(launched), said, many-2)
	}
}

// TestConformanceOfLimitedUsers plays games in which limits of users come and go while jobs wait for
// slots near their input, while slots are held back for a gang, and while attempts are suspended.
func TestConformanceOfLimitedUsers(t *testing.T) {
	for seed, settings := range map[uint64]string{
		5:   "load: {manager: load, cpu-max: 0.6, memory-max: 0.8}\ncollect-after: 1s\nallocations: {min-share-timeout: 1s, fair-share-timeout: 2s, pools: {pool-0: {min-share: 3}}}\n",
		15:  "allocations: {fair-share-timeout: 0s, order: disco-fair}\npreemption: {mode: suspend, interval: 1s}\nweights: {size-based: true, adjuster: new-job-boost, boost-duration: 5s}\nload: {manager: level-slots, max-difference: 0.2}\n",
		355: "collect-after: 300ms\nallocations: {order: deficit, fair-share-timeout: 3s}\n",
	} {
		c := scheduler.Config{Text: []byte(makesPools(settings))}
		policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: 1, First: seed, Restarts: 3, Config: c})
	}
}
