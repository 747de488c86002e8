package cluster_test

import (
	"testing"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestAKillBeforeTheAdmission: a user kills a job that waits for the policy's admission. That the manager then refuses
// the job is no fault of the policy.
func TestAKillBeforeTheAdmission(t *testing.T) {
	x := &table{t: t, c: cluster.New(1)}
	x.c.Started(scheduler.Description{Name: "table", Version: "1", Abilities: scheduler.AbilityAdmission})
	one := []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}}
	id := x.c.Submit(cluster.Spec{Name: "killed", User: "ann", Layers: []cluster.Layer{{Bundles: 1, Groups: one}}})
	x.take()
	if !x.c.Told(id) {
		t.Fatal("the policy is not asked to admit the job")
	}
	x.c.Kill(id)
	x.c.Apply(x.round, scheduler.Decisions{})
	for x.c.Step() {
		x.take()
		x.c.Apply(x.round, scheduler.Decisions{})
	}
	if len(x.c.Faults) > 0 || x.c.Told(id) {
		t.Errorf("after the kill the faults are %q, and the policy is waited for: %t", x.c.Faults, x.c.Told(id))
	}
}
