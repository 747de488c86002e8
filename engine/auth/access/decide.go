package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/auth"
)

// Refusal is a denied request: the caller, the action, the missing right, and whom to ask for it.
type Refusal struct {
	Who, What, Missing, Ask string
}

// Error is one line for a person.
func (r *Refusal) Error() string {
	text := fmt.Sprintf("%s may not %s: %s", orNobody(r.Who), r.What, r.Missing)
	if r.Ask != "" {
		text += "; ask " + r.Ask
	}
	return text
}

func orNobody(name string) string {
	if name == "" {
		return "somebody whom nothing proved"
	}
	return name
}

// May judges a request by its rule alone: by kind and role. A condition on an owner or a pool is
// judged where the owner or pool is known.
func (r *Rules) May(kind auth.Kind, w Caller, rule Rule) error {
	switch {
	case rule.Open:
		return nil
	case w.Name == "":
		return &Refusal{What: rule.What, Missing: "a certificate, or another proof of who asks, is missing"}
	case rule.Kind != kind:
		return &Refusal{Who: w.Name, What: rule.What, Missing: fmt.Sprintf("that is for a %s, and the certificate is a %s's", rule.Kind, kind)}
	case kind != auth.User || r.Has(w, rule.Roles...):
		return nil
	}
	return &Refusal{w.Name, rule.What, "it needs " + oneOf(rule.Roles), r.administrators()}
}

func oneOf(roles []Role) string {
	names := make([]string, len(roles))
	for i, role := range roles {
		names[i] = string(role)
	}
	if len(names) == 1 {
		return "the role " + names[0]
	}
	return "one of the roles " + strings.Join(names, ", ")
}

// Submit judges a submission to a pool. A job without a pool has the empty one.
func (r *Rules) Submit(w Caller, pool string) error {
	path, ok := clean(pool)
	what := "submit to " + poolName(path)
	switch {
	case !ok:
		return &Refusal{Who: w.Name, What: fmt.Sprintf("submit to pool %.200q", pool), Missing: fmt.Sprintf("a pool's path has at most %d bytes and %d parts, and none of them is empty: name another", PoolBytesMax, PoolDepthMax)}
	case r.Has(w, Administrator):
		return nil
	case !r.Has(w, User):
		return &Refusal{w.Name, what, "it needs the role user", r.administrators()}
	case r.submits(w, path):
		return nil
	}
	missing := fmt.Sprintf("no list submit of %s has %s", above(path), w.Name)
	if pool == "" {
		missing = "no pool is named, and " + missing
	}
	return &Refusal{w.Name, what, missing, r.whoAdministers(path)}
}

// Change judges an action that ends or changes a job. what names the action, such as kill.
func (r *Rules) Change(w Caller, what string, j Job) error {
	switch {
	case r.Has(w, Administrator), r.Has(w, User) && (w.Name != "" && w.Name == j.Owner || r.administersJob(w, j)):
		return nil
	case !r.Has(w, User):
		return &Refusal{w.Name, what + " " + j.Name, "it needs the role user", r.administrators()}
	}
	return r.refuseJob(w, what, j)
}

// Move judges the move of a job to another pool. The caller must be allowed to change the job and
// to submit to the new pool.
func (r *Rules) Move(w Caller, j Job, to string) error {
	if err := r.Change(w, "move", j); err != nil {
		return err
	}
	return r.Submit(w, to)
}

// Update judges a change of a job's priority, or of its pool where to is not nil.
func (r *Rules) Update(w Caller, j Job, to *string) error {
	if to != nil {
		return r.Move(w, j, *to)
	}
	return r.Change(w, "change", j)
}

// CheckRead judges a request to read a job: its status, what it printed, its output folders.
func (r *Rules) CheckRead(w Caller, j Job) error {
	if r.MayRead(w, j) {
		return nil
	}
	return r.refuseJob(w, "look at", j)
}

// MayRead is CheckRead as a bool. A list of jobs leaves out jobs that the caller may not read.
func (r *Rules) MayRead(w Caller, j Job) bool {
	if r.Has(w, Viewer, Operator, Administrator) {
		return true
	}
	return r.Has(w, User) && (w.Name != "" && w.Name == j.Owner || r.administersJob(w, j))
}

func (r *Rules) administersJob(w Caller, j Job) bool {
	path, ok := clean(j.Pool)
	if !ok { // from before there was access control
		path = Root
	}
	return r.administers(w, path)
}

func (r *Rules) refuseJob(w Caller, what string, j Job) error {
	path, ok := clean(j.Pool)
	if !ok {
		path = Root
	}
	ask := r.whoAdministers(path, j.Owner)
	if j.Owner != "" {
		ask = strings.TrimSuffix(j.Owner+", or "+ask, ", or ")
	}
	missing := fmt.Sprintf("it is a job of %s, and no list administer of %s has %s", orNobody(j.Owner), above(path), w.Name)
	return &Refusal{w.Name, what + " " + j.Name, missing, ask}
}

// Impersonate judges whether one user (by) may act for another (caller), whose groups come from the
// configuration.
func (r *Rules) Impersonate(by, caller Caller) error {
	for _, i := range r.Impersonators {
		switch {
		case !i.Has(by):
		case i.For.named(caller), i.For.Has(caller) && !r.Has(caller, Operator, Administrator):
			return nil
		}
	}
	return &Refusal{by.Name, fmt.Sprintf("act for %s", orNobody(caller.Name)), "no entry of auth.impersonators lets it", r.administrators()}
}

// poolName and above are a pool, and the pool with those above it, in words.
func poolName(path string) string {
	if path == Root {
		return fmt.Sprintf("the root of all pools, %q", Root)
	}
	return fmt.Sprintf("pool %q", path)
}

func above(path string) string {
	if path == Root {
		return poolName(path)
	}
	return poolName(path) + " or of what is above it"
}

// whoAdministers says whom to ask about a pool: the nearest list of administrators, without the
// users already named.
func (r *Rules) whoAdministers(path string, named ...string) string {
	for p := range upwards(path) {
		if l := r.Pools[p].Administer; !l.empty() {
			return l.words(named...)
		}
	}
	return r.administrators(named...)
}

func (r *Rules) administrators(named ...string) string {
	if l := r.Roles[Administrator]; !l.empty() {
		return l.words(named...)
	}
	return "who writes the manager's configuration: it gives nobody the role administrator"
}

// namesShown bounds the names that a refusal lists.
const namesShown = 3

// words is the list for a person: cut, each name once, without the users already named.
func (n Names) words(named ...string) string {
	var parts []string
	add := func(part string) {
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	for _, u := range n.Users {
		switch {
		case u == Everybody:
			add("anybody")
		case !slices.Contains(named, u):
			add(u)
		}
	}
	for _, g := range n.Groups {
		add("group " + g)
	}
	if more := len(parts) - namesShown; more > 0 {
		parts = append(slices.Clip(parts[:namesShown]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// ActsFor says for whom the caller may act, one list a line.
func (r *Rules) ActsFor(w Caller) []string {
	var lines []string
	for _, i := range r.Impersonators {
		if i.Has(w) {
			lines = append(lines, i.For.words())
		}
	}
	return lines
}

// Advice returns warnings for a caller whose lists don't have the effect that they seem to have.
func (r *Rules) Advice(w Caller) []string {
	var lines []string
	listed := false
	for _, p := range r.Pools {
		listed = listed || p.Submit.Has(w) || p.Administer.Has(w)
	}
	roles := r.RolesOf(w)
	works := r.Has(w, User, Administrator)
	if len(roles) == 0 {
		lines = append(lines, fmt.Sprintf("%s has no role, so everything is refused: add the name, or a group of it, to auth.roles", orNobody(w.Name)))
	}
	if listed && !works {
		lines = append(lines, "lists of pools count for those with the role user: add the name, or a group of it, to auth.roles.user")
	}
	if r.Has(w, User) && !listed && !r.Has(w, Administrator) {
		lines = append(lines, "no list of a pool has it, so it can submit nowhere: add the name, or a group of it, to a list submit in auth.pools")
	}
	switch pool := r.PoolOf(w.Name, ""); {
	case !works || !listed || r.Submit(w, pool) == nil:
	case pool == "":
		lines = append(lines, fmt.Sprintf("its jobs that name no pool are refused: there is no auth.defaultPool for them to go to, and no list submit of %s has it; name a pool with each job, or set auth.defaultPool", poolName(Root)))
	default:
		lines = append(lines, fmt.Sprintf("its jobs that name no pool are refused: they go to %q, to which it may not submit; see auth.defaultPool", pool))
	}
	return lines
}
