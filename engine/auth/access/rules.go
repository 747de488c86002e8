package access

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/internal/suggest"
)

// Rules are a site's access rules. The Rules of a running manager never change: a changed
// configuration makes new ones. They are plain values, and travel as JSON to the core and into the
// event log.
type Rules struct {
	Roles map[Role]Names  `json:"roles,omitempty"`
	Pools map[string]Pool `json:"pools,omitempty"` // by path
	// Groups are the members of groups, besides the groups that a certificate or the system names.
	Groups map[string][]string `json:"groups,omitempty"`
	// Impersonators may act for others.
	Impersonators []Impersonator `json:"impersonators,omitempty"`
	// DefaultPool is the pool of a job that names none; "${user}" stands for the user's name.
	// Empty: such a job has no pool, and is judged by the lists of Root.
	DefaultPool string `json:"defaultPool,omitempty"`
	// Users are all user names of the site, for the parser to find misspelt ones. Empty: any name
	// is valid. To be in Users grants no right.
	Users []string `json:"-"`
	// Revoked are the certificates that no longer count.
	Revoked auth.Revoked `json:"revoked,omitempty"`
}

// Pool lists who may submit to a pool, and who administers it. Administrators may submit, too.
type Pool struct {
	Submit     Names `json:"submit"`
	Administer Names `json:"administer"`
}

// Impersonator lists who may act, and for whom. Everybody in For stands for each user except those
// with the roles operator and administrator: they must be named.
type Impersonator struct {
	Names
	For Names `json:"for"`
}

// Job is what the rules need to know of a job. The zero value has no owner.
type Job struct {
	Name  string // as people know it, such as job-7
	Owner string
	Pool  string
}

const (
	// Root is the path above all pools.
	Root = "/"
	// PoolBytesMax and PoolDepthMax bound a pool's path. A longer path is refused, because a policy
	// might put such a job elsewhere.
	PoolBytesMax = 200
	PoolDepthMax = 8
)

// userReference stands for the user's name in Rules.DefaultPool.
const userReference = "${user}"

// PoolOf returns the pool of a job: the pool that its owner asked for, or the default for "".
func (r *Rules) PoolOf(owner, asked string) string {
	if asked != "" {
		return asked
	}
	return strings.ReplaceAll(r.DefaultPool, userReference, owner)
}

// Known returns the caller with all its groups: the given ones and those of the configuration, in
// ascending order.
func (r *Rules) Known(name string, groups []string) Caller {
	all := slices.Clone(groups)
	for g, members := range r.Groups {
		if has(members, name) {
			all = append(all, g)
		}
	}
	slices.Sort(all)
	return Caller{Name: name, Groups: slices.Compact(all)}
}

// Has reports whether the caller has one of the roles.
func (r *Rules) Has(w Caller, roles ...Role) bool {
	return slices.ContainsFunc(roles, func(role Role) bool { return r.Roles[role].Has(w) })
}

// RolesOf lists the caller's roles, the least first.
func (r *Rules) RolesOf(w Caller) []Role {
	return slices.DeleteFunc(slices.Clone(Roles), func(role Role) bool { return !r.Has(w, role) })
}

// Missing names each pool that has lists but is not among the policy's pools, which are given by
// path. The result is in ascending order of the pools.
func (r *Rules) Missing(pools []string) (problems []string) {
	known := map[string]bool{Root: true}
	for i, p := range pools {
		pools[i], _ = clean(p)
		known[pools[i]] = true
	}
	for _, p := range slices.Sorted(maps.Keys(r.Pools)) {
		if !known[p] {
			problems = append(problems, fmt.Sprintf("auth.pools: the policy has no pool %q now: its lists count for nothing until a job is in it%s", p, suggest.Hint(p, pools)))
		}
	}
	return problems
}

// Names reports whether any list names a group.
func (r *Rules) Names(group string) bool {
	for _, l := range r.Roles {
		if has(l.Groups, group) {
			return true
		}
	}
	for _, p := range r.Pools {
		if has(p.Submit.Groups, group) || has(p.Administer.Groups, group) {
			return true
		}
	}
	return slices.ContainsFunc(r.Impersonators, func(i Impersonator) bool { return has(i.Groups, group) || has(i.For.Groups, group) })
}

// submits and administers report whether the caller is in such a list of the pool, or of a pool
// above it. The path is clean.
func (r *Rules) submits(w Caller, path string) bool {
	for p := range upwards(path) {
		if l := r.Pools[p]; l.Submit.Has(w) || l.Administer.Has(w) {
			return true
		}
	}
	return false
}

func (r *Rules) administers(w Caller, path string) bool {
	for p := range upwards(path) {
		if r.Pools[p].Administer.Has(w) {
			return true
		}
	}
	return false
}

// upwards goes from a pool to Root.
func upwards(path string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for path != Root {
			if !yield(path) {
				return
			}
			at := strings.LastIndex(path, "/")
			if at < 0 {
				break
			}
			path = path[:at]
		}
		yield(Root)
	}
}

// clean returns a pool's path as it stands in Rules.Pools: slashes around it mean nothing, and no
// name is Root. False: the text is no pool's path.
func clean(pool string) (string, bool) {
	path := strings.Trim(pool, "/")
	if path == "" {
		return Root, true
	}
	parts := strings.Split(path, "/")
	return path, len(path) <= PoolBytesMax && len(parts) <= PoolDepthMax && !slices.Contains(parts, "")
}
