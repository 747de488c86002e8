package allocation

import (
	"fmt"
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
  undeclared: create
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

// With undeclared: own, a pool that a person named and the file does not declare is refused as a
// mistake. The user's own pool, the default one, and pools named by a rule of the site are
// accepted.
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
		byOwn, byRefuse string // the refused pools
	}{
		{scheduler.Job{Pool: "research", User: "ann"}, "research", "", ""},
		{scheduler.Job{Pool: "reserch", User: "ann"}, "reserch", "reserch", "reserch"},
		{scheduler.Job{Pool: "ann", User: "ann"}, "ann", "", "ann"},
		{scheduler.Job{Pool: "users/ann", User: "ann"}, "users/ann", "", "users/ann"},
		{scheduler.Job{Pool: "users/bob", User: "ann"}, "users/bob", "users/bob", "users/bob"},
		{scheduler.Job{Pool: "default", User: "ann"}, "default", "", "default"},
		{scheduler.Job{Pool: "reserch//x", User: "ann"}, "ann", "reserch//x", "reserch//x"},
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

// A site that says nothing has the pools that it declares and its users' own. Hadoop's file means
// what it means in Hadoop, where pools that are not declared are allowed.
func TestUndeclaredByDefault(t *testing.T) {
	for _, c := range []struct{ settings, file, want string }{
		{"", "", UndeclaredOwn},
		{"allocations: {pools: {research: {}}}", "", UndeclaredOwn},
		{"allocation-file: pools", "pools: {research: {}}", UndeclaredOwn},
		{"allocation-file: pools", "<allocations><pool name=\"research\"/></allocations>", UndeclaredCreate},
		{"allocation-file: pools\nplacement: {undeclared: own}", "<allocations/>", UndeclaredOwn},
		{"placement: {undeclared: create}", "", UndeclaredCreate},
	} {
		o, err := Parse(scheduler.Config{Text: []byte(c.settings), Files: []scheduler.ConfigFile{{Name: "pools", Data: []byte(c.file)}}}, testParts)
		if err != nil || o.Undeclared != c.want {
			t.Errorf("%q with the file %q: %q, %v; want %q", c.settings, c.file, o.Undeclared, err, c.want)
		}
	}
}

// A refusal names what may have been meant and some of what there is, however much that is.
func TestRefusal(t *testing.T) {
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "team-%d: {}, ", i)
	}
	for pools, want := range map[string]string{
		"":                               `pool "reserch" is not declared (no pool is declared): consider`,
		"research: {}, etl: {}":          `pool "reserch" is not declared; did you mean research? (declared are etl, research): consider`,
		"research: {}, " + many.String(): `pool "reserch" is not declared; did you mean research? (declared are research, team-0, team-1, team-10, team-100, team-1000, team-1001, team-1002 and 4993 more): consider`,
	} {
		o, err := Parse(scheduler.Config{Text: []byte("allocations: {pools: {" + pools + "}}")}, testParts)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Refusal("reserch"); !strings.HasPrefix(got, want) || !strings.Contains(got, "placement.undeclared: create") {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
