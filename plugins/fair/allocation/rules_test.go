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

// With undeclared: own, a pool that somebody wrote and nobody declared is refused, as a
// mistake; the user's own, the default one, and those that a rule of the site names are not.
func TestOwnPools(t *testing.T) {
	parse := func(undeclared string) Config {
		t.Helper()
		o, err := Parse(scheduler.Config{Text: []byte(`
allocations: {pools: {research: {}, users: {pools: {}}}}
placement:
  rules: [explicit, property, group, user, default]
  property: pool.name
  undeclared: ` + undeclared + "\n")}, testParts)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	property := func(name, value string) []scheduler.Property { return []scheduler.Property{{Name: name, Value: value}} }
	own, create, refuse := parse("own"), parse("create"), parse("refuse")
	for _, c := range []struct {
		job             scheduler.Job
		path            string
		byOwn, byRefuse string // what is refused
	}{
		{scheduler.Job{Pool: "research", User: "ann"}, "research", "", ""},
		{scheduler.Job{Pool: "reserch", User: "ann"}, "reserch", "reserch", "reserch"},
		{scheduler.Job{Pool: "ann", User: "ann"}, "ann", "", "ann"},
		{scheduler.Job{Pool: "users/ann", User: "ann"}, "users/ann", "", "users/ann"},
		{scheduler.Job{Pool: "users/bob", User: "ann"}, "users/bob", "users/bob", "users/bob"},
		{scheduler.Job{Pool: "default", User: "ann"}, "default", "", "default"},
		{scheduler.Job{User: "ann", Properties: property("pool.name", "reserch")}, "reserch", "reserch", "reserch"},
		{scheduler.Job{User: "ann", Properties: property("pool.name", "ann")}, "ann", "", "ann"},
		{scheduler.Job{User: "ann", Properties: property("group.name", "staff")}, "staff", "", "staff"},
		{scheduler.Job{User: "ann"}, "ann", "", "ann"},
		{scheduler.Job{}, "default", "", "default"},
	} {
		if got := create.Place(&c.job, true); got.Pool.Path != c.path || got.Refused != "" {
			t.Errorf("create: %+v is placed in %q, refused %q", c.job, got.Pool.Path, got.Refused)
		}
		if got := own.Place(&c.job, true); got.Refused != c.byOwn || c.byOwn == "" && got.Pool.Path != c.path {
			t.Errorf("own: %+v is placed in %q, refused %q, want %q", c.job, got.Pool.Path, got.Refused, c.byOwn)
		}
		if got := refuse.Place(&c.job, true); got.Refused != c.byRefuse {
			t.Errorf("refuse: %+v: refused %q, want %q", c.job, got.Refused, c.byRefuse)
		}
	}
}
