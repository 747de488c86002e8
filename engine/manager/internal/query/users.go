package query

import (
	"context"
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/changes"
)

// Users lists the users with live jobs and a limit, in order of name.
func (m *Model) Users(ctx context.Context) (list []changes.User, err error) {
	err = m.read(ctx, func() { list = slices.SortedFunc(maps.Values(m.users), changes.User.Compare) })
	return list, err
}
