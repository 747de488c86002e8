package main

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestConformance(t *testing.T) { policytest.Run(t, easy.New, policytest.Options{}) }

func job(slots int, run time.Duration) cluster.Spec {
	groups := []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: slots}}
	return cluster.Spec{Name: "job", Layers: []cluster.Layer{{Bundles: 1, Groups: groups, Run: run, Expected: run}}}
}

// arrivals are jobs of several widths and times on a launcher of 4 slots, one each minute.
func arrivals() (all []cluster.Spec) {
	for i := range 60 {
		all = append(all, job([]int{3, 4, 1, 1, 2}[i%5], time.Duration(1+i*7%5)*time.Minute))
	}
	return all
}

// play returns the mean time that the jobs waited, and by how much each started after its first reservation.
func play(t *testing.T, fresh func() scheduler.TaskScheduler) (wait time.Duration, late []time.Duration) {
	p := policytest.Play(t, "", fresh)
	p.Launchers(1, 4)
	jobs := arrivals()
	for i, j := range jobs {
		p.At(time.Duration(i)*time.Minute, j)
	}
	first, planned := map[scheduler.BundleID]scheduler.Time{}, 0
	p.Look = func(d scheduler.Decisions) {
		for _, r := range d.Reserve {
			if _, known := first[r.Bundle]; !known && r.Until != 0 {
				first[r.Bundle], planned = r.Until.Add(-unknown), planned+1
			}
		}
		for _, l := range d.Launch {
			if at, known := first[l.Bundle]; known {
				late = append(late, p.Cluster.Now().Sub(at))
			}
		}
	}
	p.Until(24 * time.Hour)
	for id, sojourn := range p.Sojourn {
		wait += sojourn - jobs[id-1].Layers[0].Run
	}
	if len(p.Sojourn) != len(jobs) {
		t.Fatalf("%d jobs ended, want %d", len(p.Sojourn), len(jobs))
	}
	return wait / time.Duration(len(jobs)), late
}

// On a workload with right estimates jobs wait less than under FIFO, and no head starts later than first planned.
func TestBackfilling(t *testing.T) {
	const slack = time.Second // attempts end as they are reported
	wait, late := play(t, easy.New)
	other, _ := play(t, fifo.New)
	if wait >= other {
		t.Errorf("jobs wait %v in the mean, and %v under FIFO", wait, other)
	}
	if len(late) == 0 {
		t.Error("no job had a reservation")
	}
	for _, d := range late {
		if d > slack {
			t.Errorf("a head started %v after its first reservation", d)
		}
	}
	t.Logf("mean wait %v, under FIFO %v; %d jobs had reservations", wait, other, len(late))
}
