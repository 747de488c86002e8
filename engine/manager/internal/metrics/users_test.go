package metrics

import (
	"fmt"
	"maps"
	"testing"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// amountsOf reads the metrics of users, as "user resource".
func amountsOf(t *testing.T, r *Rows, name string) map[string]float64 {
	t.Helper()
	families, err := registered(r).Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name { // labels are in order of name
				all[m.GetLabel()[1].GetValue()+" "+m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	return all
}

// What users with a limit may hold, and hold, is shown while they have live jobs, of a bounded number of users.
func TestUsersAtLimits(t *testing.T) {
	r := NewRows()
	tell := func(rows ...changes.User) { r.Apply(core.Changes{ChangeSet: changes.ChangeSet{Users: rows}}) }
	gpus := func(n int) scheduler.Resources {
		return scheduler.NewResources(scheduler.ResourceCount{Kind: "gpu", Count: n})
	}
	ann := changes.User{LimitedUser: scheduler.LimitedUser{
		Name: "ann", Limit: scheduler.UserLimit{Slots: 4, Resources: gpus(2)}, Holds: scheduler.Usage{Slots: 3, Memory: 1 << 30},
	}}
	bob := changes.User{LimitedUser: scheduler.LimitedUser{Name: "bob", Limit: scheduler.UserLimit{Memory: 1 << 40}, Holds: scheduler.Usage{Slots: 1, Memory: 1 << 20}}}
	tell(ann, bob)
	if got, want := amountsOf(t, r, "hamadryad_user_limit"), (map[string]float64{"ann slots": 4, "ann gpu": 2, "bob memory": 1 << 40}); !maps.Equal(got, want) {
		t.Errorf("limits are %v, want %v", got, want)
	}
	if got, want := amountsOf(t, r, "hamadryad_user_holds"), (map[string]float64{"ann slots": 3, "ann gpu": 0, "bob memory": 1 << 20}); !maps.Equal(got, want) {
		t.Errorf("held are %v, want %v", got, want)
	}
	bob.Gone = true
	tell(bob)
	var many []changes.User
	for i := range usersMax {
		many = append(many, changes.User{LimitedUser: scheduler.LimitedUser{Name: fmt.Sprint("u", i), Limit: scheduler.UserLimit{Slots: 1}}})
	}
	tell(many...)
	if got := amountsOf(t, r, "hamadryad_user_holds"); len(got) != usersMax+1 || got["ann slots"] != 3 { // ann has two rows
		t.Errorf("%d rows are shown, and of ann, who holds most: %v", len(got), got["ann slots"])
	}
}
