package allocation

import (
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestPlacementRules(t *testing.T) {
	o, err := Parse(scheduler.Config{Text: []byte(`
allocations: {pools: {a: {}, dept: {pools: {x: {}}}}}
placement:
  rules: [explicit, property, group, user, default]
  property: pool.name
  property-defaults: {pool.name: "${queue}"}
`)}, testParts)
	if err != nil {
		t.Fatal(err)
	}
	property := func(name, value string) []scheduler.Property { return []scheduler.Property{{Name: name, Value: value}} }
	for _, c := range []struct {
		job  scheduler.Job
		want string
	}{
		{scheduler.Job{Pool: "a", User: "ann", Properties: property("queue", "q")}, "a"},
		{scheduler.Job{User: "ann", Properties: property("pool.name", "p")}, "p"},
		{scheduler.Job{User: "ann", Properties: property("queue", "q")}, "q"},
		{scheduler.Job{User: "ann", Properties: property("group.name", "staff")}, "staff"},
		{scheduler.Job{User: "ann"}, "ann"},
		{scheduler.Job{}, "default"},
		{scheduler.Job{Pool: "dept"}, "dept/default"},
		{scheduler.Job{Pool: "/dept/new/"}, "dept/new"},
		{scheduler.Job{Pool: "a//b", User: "ann"}, "ann"},
		{scheduler.Job{Pool: strings.Repeat("x", poolNameMax+1)}, "default"},
	} {
		if got := o.Place(&c.job, true).Pool.Path; got != c.want {
			t.Errorf("%+v is placed in %q, want %q", c.job, got, c.want)
		}
	}
}
