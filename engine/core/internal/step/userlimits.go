package step

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// UserLimit bounds what one user may have. 0 is no bound.
type UserLimit struct {
	// Jobs is how many jobs may live: those that run, those that wait, and those that wait for their
	// admission.
	Jobs int `json:"jobs,omitempty"`
	// Slots is how many slots of all kinds the user's live attempts may hold together. Suspended
	// attempts hold none.
	Slots int `json:"slots,omitempty"`
	// Memory is how much memory they may hold together, in bytes. Suspended attempts hold theirs.
	Memory int64 `json:"memory,omitempty"`
	// Resources is how much of each kind of countable resource they may hold together, such as
	// gpu: 4 or cores: 16. A kind that is not listed has no bound.
	Resources map[scheduler.ResourceKind]int `json:"resources,omitempty"`
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

// LimitOf returns what the live attempts of a user may hold together.
func (l *UserLimits) LimitOf(user string) scheduler.UserLimit {
	own := l.Of(user)
	limit := scheduler.UserLimit{Slots: own.Slots, Memory: own.Memory}
	if len(own.Resources) > 0 {
		limit.Resources = scheduler.NewResources(own.counts()...)
	}
	return limit
}

// counts lists the resources, in order of kind.
func (l *UserLimit) counts() (list []scheduler.ResourceCount) {
	for _, kind := range slices.Sorted(maps.Keys(l.Resources)) {
		list = append(list, scheduler.ResourceCount{Kind: kind, Count: l.Resources[kind]})
	}
	return list
}

// check returns the errors of one user's limit. name is its key in the settings.
func (l *UserLimit) check(name string) (errs []error) {
	if l.Jobs < 0 {
		errs = append(errs, fmt.Errorf("%s.jobs is %d: use 0, which is no limit, or more", name, l.Jobs))
	}
	if l.Slots < 0 {
		errs = append(errs, fmt.Errorf("%s.slots is %d: use 0, which is no limit, or more", name, l.Slots))
	}
	if l.Memory < 0 {
		errs = append(errs, fmt.Errorf("%s.memory is %d: use 0, which is no limit, or more bytes", name, l.Memory))
	}
	for _, c := range l.counts() {
		if c.Kind == "memory" || c.Kind == "slots" {
			errs = append(errs, fmt.Errorf("%s.resources.%s is no countable resource: write it as %s.%s", name, c.Kind, name, c.Kind))
			return errs
		}
		if c.Count == 0 {
			errs = append(errs, fmt.Errorf("%s.resources.%s is 0: use 1 or more, or leave the kind out, which is no limit", name, c.Kind))
			return errs
		}
	}
	if err := scheduler.CheckResources(l.counts()); err != nil {
		errs = append(errs, fmt.Errorf("%s.resources: %w", name, err))
	}
	return errs
}

func (l *UserLimits) check() (errs []error) {
	if len(l.Users) > usersMax {
		errs = append(errs, fmt.Errorf("userLimits.users has %d entries: use %d or fewer", len(l.Users), usersMax))
	}
	errs = append(errs, l.Each.check("userLimits.each")...)
	for _, user := range slices.Sorted(maps.Keys(l.Users)) {
		own := l.Users[user]
		errs = append(errs, own.check("userLimits.users."+user)...)
	}
	return errs
}
