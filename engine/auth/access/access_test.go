package access

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const site = `
mode: tls
roles:
  administrator: {users: [root], groups: [wheel]}
  operator: {groups: [ops]}
  user: {users: ["*"]}
  viewer: {users: [eve]}
groups:
  research: [ann, bob]
  ops: [olga]
defaultPool: users/${user}
impersonators:
  - {users: [gateway], for: {groups: [research]}}
  - {groups: [ops], for: {users: ["*"]}}
pools:
  users: {submit: {users: ["*"]}}
  research:
    submit: {groups: [research]}
    administer: {users: [carol]}
  research/closed:
    administer: {users: [dora]}
  secret:
revoked:
  launcher/l2: 2026-03-01T12:00:00.2+02:00
  user/eve: always
`

func parsed(t testing.TB, text string) *Rules {
	t.Helper()
	r, err := Parse(scheduler.Config{File: "site.yaml", Line: 10, Text: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// told returns the text of a refusal, or "" for nil.
func told(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestWhoMayWhat(t *testing.T) {
	r := parsed(t, site)
	caller := func(name string) Caller { return r.Known(name, nil) }
	job := Job{Name: "job-7", Owner: "ann", Pool: "research/closed"}
	for _, story := range []struct {
		err  error
		want string
	}{
		{r.Submit(caller("ann"), "research"), ""},
		{r.Submit(caller("ann"), "/research/new/one"), ""}, // made on the fly: inherits
		{r.Submit(caller("carol"), "research/closed"), ""},
		{r.Submit(caller("dora"), "research/closed/x"), ""},
		{r.Submit(caller("root"), "secret"), ""},
		{r.Submit(caller("dora"), "research"), `dora may not submit to pool "research": no list submit of pool "research" or of what is above it has dora; ask carol`},
		{r.Submit(caller("ann"), "secret"), `ann may not submit to pool "secret": no list submit of pool "secret" or of what is above it has ann; ask root, group wheel`},
		{r.Submit(caller("ann"), "nowhere"), `ann may not submit to pool "nowhere": no list submit of pool "nowhere" or of what is above it has ann; ask root, group wheel`},
		{r.Submit(caller("ann"), ""), `ann may not submit to the root of all pools, "/": no pool is named, and no list submit of the root of all pools, "/" has ann; ask root, group wheel`},
		{r.Submit(caller("ann"), "research//x"), `ann may not submit to pool "research//x": a pool's path has at most 200 bytes and 8 parts, and none of them is empty: name another`},
		{r.Submit(caller("ann"), r.PoolOf("ann", "")), ""},
		{r.Submit(Caller{}, "users"), `somebody whom nothing proved may not submit to pool "users": it needs the role user; ask root, group wheel`},

		{r.Change(caller("ann"), "kill", job), ""},
		{r.Change(caller("carol"), "kill", job), ""}, // of a pool above
		{r.Change(caller("dora"), "kill", job), ""},
		{r.Change(caller("root"), "kill", job), ""},
		{r.Change(caller("bob"), "kill", job), `bob may not kill job-7: it is a job of ann, and no list administer of pool "research/closed" or of what is above it has bob; ask ann, or dora`},
		{r.Change(caller("olga"), "kill", job), `olga may not kill job-7: it is a job of ann, and no list administer of pool "research/closed" or of what is above it has olga; ask ann, or dora`},
		{r.Change(caller("dora"), "kill", Job{Name: "job-8", Owner: "ann", Pool: "research"}), `dora may not kill job-8: it is a job of ann, and no list administer of pool "research" or of what is above it has dora; ask ann, or carol`},
		{r.Change(caller("bob"), "kill", Job{Name: "job-8", Owner: "carol", Pool: "research"}), `bob may not kill job-8: it is a job of carol, and no list administer of pool "research" or of what is above it has bob; ask carol`},
		{r.Change(caller("bob"), "kill", Job{Name: "job-8", Owner: "root"}), `bob may not kill job-8: it is a job of root, and no list administer of the root of all pools, "/" has bob; ask root, or group wheel`},
		{r.Change(caller("ann"), "kill", Job{Name: "job-9"}), `ann may not kill job-9: it is a job of somebody whom nothing proved, and no list administer of the root of all pools, "/" has ann; ask root, group wheel`},

		{r.Move(caller("ann"), job, "users/ann"), ""},
		{r.Move(caller("ann"), job, "secret"), `ann may not submit to pool "secret": no list submit of pool "secret" or of what is above it has ann; ask root, group wheel`},
		{r.Move(caller("bob"), job, "research"), `bob may not move job-7: it is a job of ann, and no list administer of pool "research/closed" or of what is above it has bob; ask ann, or dora`},

		{r.CheckRead(caller("ann"), job), ""},
		{r.CheckRead(caller("eve"), job), ""},
		{r.CheckRead(caller("olga"), job), ""},
		{r.CheckRead(caller("carol"), job), ""},
		{r.CheckRead(caller("bob"), job), `bob may not look at job-7: it is a job of ann, and no list administer of pool "research/closed" or of what is above it has bob; ask ann, or dora`},

		{r.Impersonate(caller("gateway"), caller("bob")), ""},
		{r.Impersonate(caller("gateway"), caller("eve")), `gateway may not act for eve: no entry of auth.impersonators lets it; ask root, group wheel`},
		{r.Impersonate(caller("olga"), caller("eve")), ""},
		{r.Impersonate(caller("olga"), caller("root")), `olga may not act for root: no entry of auth.impersonators lets it; ask root, group wheel`},
		{r.Impersonate(caller("ann"), caller("bob")), `ann may not act for bob: no entry of auth.impersonators lets it; ask root, group wheel`},
	} {
		if got := told(story.err); got != story.want {
			t.Errorf("%q\nis to be %q", got, story.want)
		}
	}
}

// A caller without a role may do nothing, even if lists name it. With empty rules no caller may do
// anything.
func TestNothingIsOpenByDefault(t *testing.T) {
	for _, r := range []*Rules{{}, parsed(t, ""), parsed(t, "pools: {/: {submit: {users: ['*']}, administer: {users: ['*']}}}"), parsed(t, "pools:\nroles:\n  user:\n")} {
		ann, job := Caller{Name: "ann", Groups: []string{"root", "wheel"}}, Job{Name: "job-1", Owner: "ann"}
		for _, err := range []error{r.Submit(ann, "x"), r.Change(ann, "kill", job), r.CheckRead(ann, job), r.Move(ann, job, "x"), r.Impersonate(ann, Caller{Name: "bob"})} {
			if err == nil {
				t.Errorf("%+v lets ann do something", r)
			}
		}
		for request, rule := range rules {
			if err := r.May(rule.Kind, ann, rule); err == nil && rule.Kind == auth.User {
				t.Errorf("%+v lets ann do %s", r, request)
			}
		}
	}
}

func TestKindsAreKeptApart(t *testing.T) {
	r := parsed(t, site)
	for request, rule := range rules {
		for _, kind := range []auth.Kind{auth.User, auth.Launcher, auth.Manager, ""} {
			err := r.May(kind, Caller{Name: "root"}, rule)
			if want := rule.Open || kind == rule.Kind; (err == nil) != want {
				t.Errorf("%s by a %q: %v", request, kind, err)
			}
		}
		if err := r.May(rule.Kind, Caller{}, rule); (err == nil) != rule.Open {
			t.Errorf("%s by nobody: %v", request, err)
		}
		if rule.What == "" || rule.On == "" || rule.Kind == auth.User && len(rule.Roles) == 0 {
			t.Errorf("the rule of %s lacks something: %+v", request, rule)
		}
	}
	if _, ok := RuleOf("/hamadryad.engine.v1.Manager/Nothing"); ok {
		t.Error("a method that is not there has a rule")
	}
}

func TestMistakesHaveTheirLines(t *testing.T) {
	for text, want := range map[string]string{
		"roles: {operatr: {users: [ann]}}":                             `site.yaml:10: auth.roles: there is no role "operatr": there are viewer, user, operator, administrator`,
		"roles:\n  user: {users: [ann, bob, ann]}":                     `site.yaml:11: auth.roles.user.users: "ann": it is there twice: keep one`,
		"roles:\n  user: {users: [a b]}":                               `site.yaml:11: auth.roles.user.users: "a b": no user can have that name: "a b" must begin with a letter or digit and have nothing but letters and digits of ASCII and . _ - + @`,
		"roles:\n  user: {groups: ['*']}":                              `site.yaml:11: auth.roles.user.groups: "*": write "*" among the users: it stands for everybody who was proved`,
		"roles:\n  user: {names: [ann]}":                               `site.yaml:11: auth.roles.user: there is no "names": a list is {users: [...], groups: [...]}`,
		"roles:\n  user: [ann]":                                        `site.yaml:11: auth.roles.user: it has keys, each with its value: write them below it`,
		"roles:\n  user: {users: ann}":                                 `site.yaml:11: auth.roles.user.users: it is a list of at most 10000 names, such as [ann, bob]`,
		"roles:\n  user: {users: [ann]}\n  user: {users: [b]}":         `site.yaml:12: auth.roles: "user" is set twice: keep one`,
		"pools:\n  a//b: {}":                                           `site.yaml:11: auth.pools: "a//b" is no pool: write its path, such as research/nlp, without a slash at its ends, of at most 200 bytes and 8 parts; / is the root of all pools`,
		"pools:\n  /a: {}":                                             `site.yaml:11: auth.pools: "/a" is no pool: write its path, such as research/nlp, without a slash at its ends, of at most 200 bytes and 8 parts; / is the root of all pools`,
		"pools:\n  a/b/c/d/e/f/g/h/i: {}":                              `site.yaml:11: auth.pools: "a/b/c/d/e/f/g/h/i" is no pool: write its path, such as research/nlp, without a slash at its ends, of at most 200 bytes and 8 parts; / is the root of all pools`,
		"pools:\n  a:\n    submitt: {users: [ann]}":                    `site.yaml:12: auth.pools.a: a pool has no list "submitt": there are submit and administer; a pool below it is an entry of its own, such as research/nlp`,
		"pools:\n  a: {}\n  b: {}\n  a: {}":                            `site.yaml:13: auth.pools: "a" is set twice: keep one`,
		"groups: {research: [ann, ann]}":                               `site.yaml:10: auth.groups.research: "ann": it is there twice: keep one`,
		"groups: {research: ['*']}":                                    `site.yaml:10: auth.groups.research: "*": no user can have that name: "*" must begin with a letter or digit and have nothing but letters and digits of ASCII and . _ - + @`,
		"groups: {\" a\": [ann]}":                                      `site.yaml:10: auth.groups: " a": a group's name has 1 to 128 bytes that can be printed, and no space at its ends`,
		"impersonators:\n  - {users: [g]}":                             `site.yaml:11: auth.impersonators[0]: it says who acts and for whom: {users: [gateway], for: {groups: [research]}}`,
		"impersonators:\n  - {users: ['*'], for: {users: [ann]}}":      `site.yaml:11: auth.impersonators[0]: "*" may not act for others: name who may`,
		"impersonators: {users: [g]}":                                  `site.yaml:10: auth.impersonators: it is a list of at most 1000 entries, such as - {users: [gateway], for: {groups: [research]}}`,
		"impersonators:\n  - {users: [g], fro: {}, for: {users: [a]}}": `site.yaml:11: auth.impersonators[0]: there is no "fro": a list is {users: [...], groups: [...]}`,
		"defaultPool: a//b":                                            `site.yaml:10: auth.defaultPool: "a//b" is no pool: write its path, such as default, or ${user} for one of each user`,
		"revoked: [ann]":                                               `site.yaml:10: auth.revoked: it has keys, each with its value: write them below it`,
		"revoked:\n  l2: always":                                       `site.yaml:11: auth.revoked: "l2" names nobody whose certificates could be revoked: it is launcher/NAME or user/NAME`,
		"revoked:\n  manager/m: always":                                `site.yaml:11: auth.revoked: "manager/m" names nobody whose certificates could be revoked: it is launcher/NAME or user/NAME`,
		"revoked:\n  user/: always":                                    `site.yaml:11: auth.revoked: "user/" names nobody whose certificates could be revoked: it is empty`,
		"revoked:\n  user/eve: soon":                                   `site.yaml:11: auth.revoked.user/eve: "soon" is no moment: certificates that were issued before it count no more; write one such as 2026-03-01T10:00:00Z, or always`,
		"revoked:\n  user/eve:":                                        `site.yaml:11: auth.revoked.user/eve: "" is no moment: certificates that were issued before it count no more; write one such as 2026-03-01T10:00:00Z, or always`,
		"users: [ann]\nroles:\n  user: {users: [an]}":                  `site.yaml:12: auth.roles.user.users: there is no user "an" in auth.users: correct it, or add it there; did you mean ann?`,
		"groups:\n  g: [zoe]\nusers: [ann]":                            `site.yaml:11: auth.groups.g: there is no user "zoe" in auth.users: correct it, or add it there`,
		"users: ['*']":                                                 `site.yaml:10: auth.users: "*": no user can have that name: "*" must begin with a letter or digit and have nothing but letters and digits of ASCII and . _ - + @`,
		"defaultPool: [a]":                                             `site.yaml:10: auth.defaultPool: "" is no pool: write its path, such as default, or ${user} for one of each user`,
	} {
		_, err := Parse(scheduler.Config{File: "site.yaml", Line: 10, Text: []byte(text)})
		if got := told(err); got != want {
			t.Errorf("%s\n%s\nis to be\n%s", text, got, want)
		}
	}
}

// The rules travel to the core as JSON, and arrive unchanged.
func TestRulesTravel(t *testing.T) {
	r := parsed(t, site)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Rules
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(*r, back) {
		t.Errorf("%+v\nis not\n%+v (%v)", back, *r, err)
	}
}

// With a list of all users, "*" still stands for every proven user, and the list itself grants
// nothing.
func TestUsersThatThereAre(t *testing.T) {
	r := parsed(t, "users: [ann, bob]\nroles: {user: {users: ['*']}}\npools: {a: {submit: {users: [ann]}}}\nimpersonators: [{users: [bob], for: {users: ['*']}}]")
	if r.Submit(r.Known("ann", nil), "a") != nil || r.Submit(r.Known("bob", nil), "a") == nil {
		t.Error("to be named among the users gives or takes a right")
	}
}

// Lists of pools that the policy does not have are reported, with the pool that was meant.
func TestListsOfPoolsThatAreNotThere(t *testing.T) {
	r := parsed(t, "pools: {/: {}, research: {}, reserch/nlp: {}, zzzzzzzz: {}}")
	want := []string{
		`auth.pools: the policy has no pool "reserch/nlp" now: its lists count for nothing until a job is in it; did you mean research/nlp?`,
		`auth.pools: the policy has no pool "zzzzzzzz" now: its lists count for nothing until a job is in it`,
	}
	if got := r.Missing([]string{"research", "/research/nlp/"}); !slices.Equal(got, want) {
		t.Errorf("%q\nis to be\n%q", got, want)
	}
}

// Certificates are exact to the second, and so are revocations: a certificate of the same second is
// revoked.
func TestWhatIsRevoked(t *testing.T) {
	r := parsed(t, site).Revoked
	moment := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		kind   auth.Kind
		name   string
		issued time.Time
		want   bool
	}{
		{auth.Launcher, "l2", moment, true},
		{auth.Worker, "l2", moment, true},
		{auth.Launcher, "l2", moment.Add(time.Second), false},
		{auth.User, "l2", moment, false},
		{auth.Launcher, "l1", moment, false},
		{auth.User, "eve", moment.AddDate(1000, 0, 0), true},
	} {
		if r.Covers(c.kind, c.name, c.issued) != c.want {
			t.Errorf("%s %s of %v is to be revoked: %t", c.kind, c.name, c.issued, c.want)
		}
	}
	if auth.Revoked(nil).Covers(auth.User, "eve", moment) {
		t.Error("none are revoked, and one is")
	}
}

// drawn is a random site, as Rules and as grants of one name each.
type drawn struct {
	rules  *Rules
	grants []grant
}

// grant gives a user, a group or everybody a role or a pool.
type grant struct {
	to, role, pool string
	administer     bool
}

func draw(t *rapid.T) drawn {
	d := drawn{rules: &Rules{Roles: map[Role]Names{}, Pools: map[string]Pool{}}}
	to := rapid.SampledFrom([]string{"ann", "bob", "*", "group g", "group h"})
	path := rapid.SampledFrom([]string{"/", "a", "a/b", "a/b/c", "ab", "b"})
	for range rapid.IntRange(0, 8).Draw(t, "grants") {
		g := grant{to: to.Draw(t, "to")}
		if rapid.Bool().Draw(t, "a role") {
			g.role = string(rapid.SampledFrom(Roles).Draw(t, "role"))
			d.rules.Roles[Role(g.role)] = with(d.rules.Roles[Role(g.role)], g.to)
		} else {
			g.pool, g.administer = path.Draw(t, "pool"), rapid.Bool().Draw(t, "administer")
			p := d.rules.Pools[g.pool]
			if g.administer {
				p.Administer = with(p.Administer, g.to)
			} else {
				p.Submit = with(p.Submit, g.to)
			}
			d.rules.Pools[g.pool] = p
		}
		d.grants = append(d.grants, g)
	}
	return d
}

func with(n Names, to string) Names {
	insert := func(list []string, name string) []string {
		list = append(slices.Clone(list), name)
		slices.Sort(list)
		return slices.Compact(list)
	}
	if group, ok := strings.CutPrefix(to, "group "); ok {
		n.Groups = insert(n.Groups, group)
	} else {
		n.Users = insert(n.Users, to)
	}
	return n
}

// The oracle checks each grant alone for the caller.
func (d drawn) granted(w Caller, is func(grant) bool) bool {
	for _, g := range d.grants {
		group, isGroup := strings.CutPrefix(g.to, "group ")
		mine := g.to == "*" || g.to == w.Name || isGroup && slices.Contains(w.Groups, group)
		if mine && is(g) {
			return true
		}
	}
	return false
}

func (d drawn) role(w Caller, role Role) bool {
	return d.granted(w, func(g grant) bool { return g.role == string(role) })
}

func (d drawn) pool(w Caller, pool string, alsoSubmit bool) bool {
	return d.granted(w, func(g grant) bool {
		inside := g.pool == "/" || g.pool == pool || g.pool != "" && strings.HasPrefix(pool, g.pool+"/")
		return inside && (g.administer || alsoSubmit)
	})
}

// Decisions are the same as those of an oracle that reads each grant alone.
func TestDecisionsAreThoseOfAPlainReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		w := Caller{Name: rapid.SampledFrom([]string{"ann", "bob", "cy"}).Draw(t, "who"), Groups: rapid.SampledFrom([][]string{nil, {"g"}, {"h", "g"}}).Draw(t, "groups")}
		pools := rapid.SampledFrom([]string{"a", "a/b", "a/b/c", "a/x/y", "ab", "b/new", "z"})
		job := Job{Name: "job-1", Owner: rapid.SampledFrom([]string{"ann", "bob", ""}).Draw(t, "owner"), Pool: pools.Draw(t, "pool")}
		to := pools.Draw(t, "to")

		all := d.role(w, Administrator)
		submit := all || d.role(w, User) && d.pool(w, to, true)
		change := all || d.role(w, User) && (job.Owner == w.Name || d.pool(w, job.Pool, false))
		read := change || d.role(w, Viewer) || d.role(w, Operator)
		for what, is := range map[string][2]bool{
			"submit": {d.rules.Submit(w, to) == nil, submit},
			"change": {d.rules.Change(w, "kill", job) == nil, change},
			"move":   {d.rules.Move(w, job, to) == nil, change && submit},
			"read":   {d.rules.CheckRead(w, job) == nil, read},
		} {
			if is[0] != is[1] {
				t.Fatalf("%+v %s: %t, and the oracle says %t", w, what, is[0], is[1])
			}
		}
		for request, rule := range rules {
			may := rule.Open || rule.Kind != auth.User || slices.ContainsFunc(rule.Roles, func(r Role) bool { return d.role(w, r) })
			if err := d.rules.May(rule.Kind, w, rule); (err == nil) != may {
				t.Fatalf("%+v %s: %v, and the oracle says %t", w, request, err, may)
			}
		}
	})
}
