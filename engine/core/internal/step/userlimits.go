package step

import (
	"fmt"
	"maps"
	"slices"
)

// UserLimit bounds what one user may have. 0 is no bound.
type UserLimit struct {
	// Jobs is how many jobs may live: those that run, those that wait, and those that wait for their
	// admission.
	Jobs int `json:"jobs,omitempty"`
}

// UserLimits bound what each user may have.
type UserLimits struct {
	Each  UserLimit            `json:"each"`            // for users without an entry in Users
	Users map[string]UserLimit `json:"users,omitempty"` // exceptions, by the user's name
}

// usersMax bounds the exceptions.
const usersMax = 10_000

// Of returns the limit of a user. An exception replaces the limit of all.
func (l *UserLimits) Of(user string) UserLimit {
	if own, there := l.Users[user]; there {
		return own
	}
	return l.Each
}

func (l *UserLimits) check() (errs []error) {
	if len(l.Users) > usersMax {
		errs = append(errs, fmt.Errorf("userLimits.users has %d entries: use %d or fewer", len(l.Users), usersMax))
	}
	if l.Each.Jobs < 0 {
		errs = append(errs, fmt.Errorf("userLimits.each.jobs is %d: use 0, which is no limit, or more", l.Each.Jobs))
	}
	for _, user := range slices.Sorted(maps.Keys(l.Users)) {
		if n := l.Users[user].Jobs; n < 0 {
			errs = append(errs, fmt.Errorf("userLimits.users.%s.jobs is %d: use 0, which is no limit, or more", user, n))
		}
	}
	return errs
}
