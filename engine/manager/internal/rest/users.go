package rest

import (
	"context"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest/request"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// ListUsers lists the users with live jobs and a limit that the caller may look at, by name.
func (s *Server) ListUsers(ctx context.Context, q restapi.ListUsersRequestObject) (restapi.ListUsersResponseObject, error) {
	p := &q.Params
	after, err := request.PlaceOf(request.Users, p.Cursor)
	if err != nil {
		return nil, err
	}
	all, err := s.needs.Read.Users(ctx)
	if err != nil {
		return nil, err
	}
	page := restapi.UserList{Users: []restapi.User{}}
	may, limit := s.needs.Service.MayLookAtUser(ctx), request.LimitOf(p.Limit)
	for i := range all {
		u := &all[i]
		if p.User != nil && u.Name != *p.User || !may(u.Name) {
			continue
		}
		switch page.Total++; {
		case u.Name <= after, page.Truncated:
		case len(page.Users) == limit:
			page.Truncated, page.Next = true, request.Cursor(request.Users, page.Users[limit-1].Name)
		default:
			page.Users = append(page.Users, userOf(u))
		}
	}
	return restapi.ListUsers200JSONResponse(page), nil
}

func userOf(u *changes.User) restapi.User {
	x := restapi.User{
		Name: u.Name, Jobs: bounded(int64(u.Jobs), int64(u.JobsMax)), Slots: bounded(int64(u.Holds.Slots), int64(u.Limit.Slots)), Memory: bounded(u.Holds.Memory, u.Limit.Memory),
	}
	var list []restapi.BoundedResource
	for _, c := range u.Limit.Resources.Counts() {
		list = append(list, restapi.BoundedResource{Kind: c.Kind, Held: u.Holds.Resources.Of(c.Kind), Limit: c.Count})
	}
	if list != nil {
		x.Resources = &list
	}
	return x
}

// bounded is an amount with its bound; nil: it has none.
func bounded(held, limit int64) *restapi.BoundedAmount {
	if limit == 0 {
		return nil
	}
	return &restapi.BoundedAmount{Held: held, Limit: limit}
}
