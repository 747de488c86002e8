package access

import "slices"

// Role is a user's role in the whole cluster.
type Role string

// The roles. A user may have several.
const (
	Viewer        Role = "viewer"        // looks at everything
	User          Role = "user"          // submits where lists let it, and has its own jobs
	Operator      Role = "operator"      // looks at everything, drains launchers, reloads the policy
	Administrator Role = "administrator" // may do everything
)

// Roles lists the roles, the least first.
var Roles = []Role{Viewer, User, Operator, Administrator}

// Everybody, in a list of users, stands for each proven user.
const Everybody = "*"

// Caller is the user who makes a request: a proven name and its groups. The zero Caller is nobody.
type Caller struct {
	Name   string
	Groups []string // in any order
}

// Names are the users and groups of a list, each in ascending order.
type Names struct {
	Users  []string `json:"users,omitempty"`
	Groups []string `json:"groups,omitempty"`
}

// Has reports whether the caller is in the list, by name or by a group.
func (n Names) Has(w Caller) bool {
	if w.Name == "" {
		return false
	}
	if has(n.Users, w.Name) || has(n.Users, Everybody) {
		return true
	}
	return slices.ContainsFunc(w.Groups, func(g string) bool { return has(n.Groups, g) })
}

// named is Has without Everybody: the list names the caller or one of its groups.
func (n Names) named(w Caller) bool {
	n.Users = slices.DeleteFunc(slices.Clone(n.Users), func(u string) bool { return u == Everybody })
	return n.Has(w)
}

func (n Names) empty() bool { return len(n.Users)+len(n.Groups) == 0 }

func has(sorted []string, name string) bool {
	_, found := slices.BinarySearch(sorted, name)
	return found
}
