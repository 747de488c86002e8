package access

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/internal/suggest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Keys are the keys of the configuration's section auth that Parse reads.
var Keys = []string{"roles", "pools", "groups", "impersonators", "defaultPool", "revoked", "users"}

const (
	// PoolsMax bounds the pools that have lists, NamesMax the names of one list, ImpersonatorsMax
	// the impersonators, and RevokedMax the revoked identities.
	PoolsMax         = 10_000
	NamesMax         = 10_000
	ImpersonatorsMax = 1000
	RevokedMax       = 10_000
)

// Parse reads the section auth of a configuration, and ignores keys that are not in Keys. The error
// is a scheduler.Problems with the line of each problem. Whatever can't be understood is a problem;
// nothing is left out quietly.
func Parse(c scheduler.Config) (*Rules, error) {
	p := &parser{config: c}
	var doc yaml.Node
	if err := yaml.Unmarshal(c.Text, &doc); err != nil {
		return nil, scheduler.Problems{{File: c.File, Line: c.Line, Message: strings.TrimPrefix(err.Error(), "yaml: ")}}
	}
	r := &Rules{Roles: map[Role]Names{}, Pools: map[string]Pool{}, Groups: map[string][]string{}}
	if len(doc.Content) == 1 {
		p.section(doc.Content[0], r)
		p.spelled(r)
	}
	if len(p.wrong) > 0 {
		return nil, p.wrong
	}
	return r, nil
}

// parser collects every problem.
type parser struct {
	config scheduler.Config
	wrong  scheduler.Problems
	named  []naming // the user names in all lists
}

// naming is a user's name in a list.
type naming struct {
	at   *yaml.Node
	key  string
	name string
}

func (p *parser) problem(n *yaml.Node, key, format string, args ...any) {
	line := max(p.config.Line, 1) + max(n.Line, 1) - 1
	p.wrong = append(p.wrong, scheduler.Problem{File: p.config.File, Line: line, Message: key + ": " + fmt.Sprintf(format, args...)})
}

func (p *parser) section(n *yaml.Node, r *Rules) {
	p.entries(n, "auth", func(key, value *yaml.Node) {
		full := "auth." + key.Value
		switch key.Value {
		case "roles":
			p.roles(value, full, r)
		case "pools":
			p.pools(value, full, r)
		case "groups":
			p.groups(value, full, r)
		case "impersonators":
			p.impersonators(value, full, r)
		case "defaultPool":
			p.defaultPool(value, full, r)
		case "revoked":
			p.revoked(value, full, r)
		case "users":
			r.Users = p.list(value, full, memberProblem)
		}
	})
}

// entries calls each for every key of a mapping. A key that is set twice is a problem.
func (p *parser) entries(n *yaml.Node, key string, each func(key, value *yaml.Node)) {
	n = target(n)
	switch {
	case n.Kind == 0 || n.Tag == "!!null":
		return
	case n.Kind != yaml.MappingNode:
		p.problem(n, key, "it has keys, each with its value: write them below it")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode:
			p.problem(k, key, "a key is one name")
		case seen[k.Value]:
			p.problem(k, key, "%s is set twice: keep one", quoted(k.Value))
		default:
			seen[k.Value] = true
			each(k, n.Content[i+1])
		}
	}
}

// target resolves an alias of YAML.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func (p *parser) roles(n *yaml.Node, key string, r *Rules) {
	p.entries(n, key, func(k, value *yaml.Node) {
		role := Role(k.Value)
		if !slices.Contains(Roles, role) {
			p.problem(k, key, "there is no role %s: there are %s", quoted(k.Value), joined(Roles))
			return
		}
		r.Roles[role] = p.names(value, key+"."+k.Value)
	})
}

func joined(roles []Role) string {
	names := make([]string, len(roles))
	for i, role := range roles {
		names[i] = string(role)
	}
	return strings.Join(names, ", ")
}

func (p *parser) pools(n *yaml.Node, key string, r *Rules) {
	p.entries(n, key, func(k, value *yaml.Node) {
		path, ok := clean(k.Value)
		if !ok || path != k.Value {
			p.problem(k, key, "%s is no pool: write its path, such as research/nlp, without a slash at its ends, of at most %d bytes and %d parts; %s is the root of all pools", quoted(k.Value), PoolBytesMax, PoolDepthMax, Root)
			return
		}
		if len(r.Pools) == PoolsMax {
			p.problem(k, key, "at most %d pools have lists: let them inherit from the pools above them", PoolsMax)
			return
		}
		r.Pools[path] = p.pool(value, key+"."+path)
	})
}

func (p *parser) pool(n *yaml.Node, key string) (pool Pool) {
	p.entries(n, key, func(k, value *yaml.Node) {
		switch k.Value {
		case "submit":
			pool.Submit = p.names(value, key+".submit")
		case "administer":
			pool.Administer = p.names(value, key+".administer")
		default:
			p.problem(k, key, "a pool has no list %s: there are submit and administer; a pool below it is an entry of its own, such as research/nlp", quoted(k.Value))
		}
	})
	return pool
}

// names reads {users: [...], groups: [...]}.
func (p *parser) names(n *yaml.Node, key string) (names Names) {
	p.entries(n, key, func(k, value *yaml.Node) { p.namesKey(k, value, key, &names) })
	return names
}

func (p *parser) namesKey(k, value *yaml.Node, key string, names *Names) {
	switch k.Value {
	case "users":
		names.Users = p.users(value, key+".users", userProblem)
	case "groups":
		names.Groups = p.list(value, key+".groups", groupProblem)
	default:
		p.problem(k, key, "there is no %s: a list is {users: [...], groups: [...]}", quoted(k.Value))
	}
}

func (p *parser) groups(n *yaml.Node, key string, r *Rules) {
	p.entries(n, key, func(k, value *yaml.Node) {
		if why := groupProblem(k.Value); why != "" {
			p.problem(k, key, "%s: %s", quoted(k.Value), why)
			return
		}
		r.Groups[k.Value] = p.users(value, key+"."+k.Value, memberProblem)
	})
}

func (p *parser) impersonators(n *yaml.Node, key string, r *Rules) {
	n = target(n)
	if n.Kind == 0 || n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) > ImpersonatorsMax {
		p.problem(n, key, "it is a list of at most %d entries, such as - {users: [gateway], for: {groups: [research]}}", ImpersonatorsMax)
		return
	}
	for i, e := range n.Content {
		var one Impersonator
		at := fmt.Sprintf("%s[%d]", key, i)
		p.entries(e, at, func(k, value *yaml.Node) {
			if k.Value == "for" {
				one.For = p.names(value, at+".for")
				return
			}
			p.namesKey(k, value, at, &one.Names)
		})
		if one.empty() || one.For.empty() {
			p.problem(e, at, "it says who acts and for whom: {users: [gateway], for: {groups: [research]}}")
		}
		if has(one.Users, Everybody) {
			p.problem(e, at, "%q may not act for others: name who may", Everybody)
		}
		r.Impersonators = append(r.Impersonators, one)
	}
}

func (p *parser) defaultPool(n *yaml.Node, key string, r *Rules) {
	if n = target(n); n.Tag == "!!null" {
		return
	}
	path, ok := clean(strings.ReplaceAll(n.Value, userReference, "user"))
	if n.Kind != yaml.ScalarNode || !ok || path == Root {
		p.problem(n, key, "%s is no pool: write its path, such as default, or %s for one of each user", quoted(n.Value), userReference)
		return
	}
	r.DefaultPool = strings.Trim(n.Value, "/")
}

// users is list for user names. If auth.users is there, each name must be in it (see spelled).
func (p *parser) users(n *yaml.Node, key string, problemOf func(string) string) []string {
	names := p.list(n, key, problemOf)
	for _, e := range target(n).Content {
		if e = target(e); e.Value != Everybody && has(names, e.Value) {
			p.named = append(p.named, naming{e, key, e.Value})
		}
	}
	return names
}

// spelled reports the user names in lists that auth.users does not have.
func (p *parser) spelled(r *Rules) {
	if len(r.Users) == 0 {
		return
	}
	for _, n := range p.named {
		if !has(r.Users, n.name) {
			p.problem(n.at, n.key, "there is no user %s in auth.users: correct it, or add it there%s", quoted(n.name), suggest.Hint(n.name, r.Users))
		}
	}
	slices.SortStableFunc(p.wrong, func(a, b scheduler.Problem) int { return cmp.Compare(a.Line, b.Line) })
}

// always stands in place of a time for a revocation without an end.
const always = "always"

// revoked reads {launcher/l2: 2026-03-01T10:00:00Z, user/eve: always}.
func (p *parser) revoked(n *yaml.Node, key string, r *Rules) {
	p.entries(n, key, func(k, value *yaml.Node) {
		if err := auth.CheckRevocable(k.Value); err != nil {
			p.problem(k, key, "%s names nobody whose certificates could be revoked: %v", quoted(k.Value), err)
			return
		}
		until, err := auth.Always, error(nil)
		if value = target(value); value.Value != always {
			until, err = time.Parse(time.RFC3339, value.Value)
		}
		switch {
		case value.Kind != yaml.ScalarNode || err != nil || until.After(auth.Always):
			p.problem(value, key+"."+k.Value, "%s is no moment: certificates that were issued before it count no more; write one such as 2026-03-01T10:00:00Z, or %s", quoted(value.Value), always)
			return
		case len(r.Revoked) == RevokedMax:
			p.problem(k, key, "at most %d names are revoked: make a new CA", RevokedMax)
			return
		case r.Revoked == nil:
			r.Revoked = auth.Revoked{}
		}
		r.Revoked[k.Value] = until.UTC().Add(time.Second - 1).Truncate(time.Second) // as exact as certificates are
	})
}

// list returns a list's names in ascending order. A name that is there twice is a problem.
func (p *parser) list(n *yaml.Node, key string, problemOf func(string) string) []string {
	n = target(n)
	if n.Kind == 0 || n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) > NamesMax {
		p.problem(n, key, "it is a list of at most %d names, such as [ann, bob]", NamesMax)
		return nil
	}
	var names []string
	seen := map[string]bool{}
	for _, e := range n.Content {
		e = target(e)
		why := ""
		switch {
		case e.Kind != yaml.ScalarNode || e.Tag == "!!null":
			why = "a name is one word"
		case seen[e.Value]:
			why = "it is there twice: keep one"
		default:
			why = problemOf(e.Value)
		}
		if why != "" {
			p.problem(e, key, "%s: %s", quoted(e.Value), why)
			continue
		}
		seen[e.Value] = true
		names = append(names, e.Value)
	}
	slices.Sort(names)
	return names
}

// userProblem returns why a text can't stand among the users of a list, or "".
func userProblem(name string) string {
	if name == Everybody {
		return ""
	}
	return memberProblem(name)
}

func memberProblem(name string) string {
	if err := auth.CheckName(name); err != nil {
		return "no user can have that name: " + err.Error()
	}
	return ""
}

// groupProblem is userProblem for groups, whose names a certificate may choose freely.
func groupProblem(name string) string {
	if name == Everybody {
		return fmt.Sprintf("write %q among the users: it stands for everybody who was proved", Everybody)
	}
	if err := auth.CheckGroup(name); err != nil {
		return err.Error()
	}
	return ""
}

// shownBytes bounds how much of a configuration's text a message repeats.
const shownBytes = 100

func quoted(text string) string { return fmt.Sprintf("%.*q", shownBytes, text) }
