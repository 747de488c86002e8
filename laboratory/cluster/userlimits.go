package cluster

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/laboratory/internal/document"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// UserLimits bound what each user's attempts hold, as core.userLimits of a site.
type UserLimits struct {
	Each  UserLimit            `yaml:"each,omitempty"`  // for users without an entry in Users
	Users map[string]UserLimit `yaml:"users,omitempty"` // exceptions, by the user's name
}

// UserLimit bounds what the attempts of one user hold together. 0 is no bound.
type UserLimit struct {
	Slots     int            `yaml:"slots,omitempty"` // of all kinds
	Memory    Size           `yaml:"memory,omitempty"`
	Resources map[string]int `yaml:"resources,omitempty"` // by kind, such as gpu: 4
}

func (l *UserLimits) check() (all []document.Problem) {
	all = l.Each.check("userLimits", "each")
	for _, name := range slices.Sorted(maps.Keys(l.Users)) {
		own := l.Users[name]
		all = append(all, own.check("userLimits", "users", name)...)
	}
	return all
}

func (l *UserLimit) check(path ...any) (all []document.Problem) {
	if l.Slots < 0 {
		all = append(all, document.Problem{Path: append(slices.Clone(path), "slots"), Message: fmt.Sprintf("it is %d: use 0, which is no limit, or more", l.Slots)})
	}
	var counts []scheduler.ResourceCount
	for _, kind := range slices.Sorted(maps.Keys(l.Resources)) {
		counts = append(counts, scheduler.ResourceCount{Kind: kind, Count: l.Resources[kind]})
	}
	if err := scheduler.CheckResources(counts); err != nil {
		all = append(all, document.Problem{Path: append(slices.Clone(path), "resources"), Message: err.Error()})
	}
	return all
}
