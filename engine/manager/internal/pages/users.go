package pages

import (
	"net/http"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// usersPage lists users with what they may have, and have.
type usersPage struct {
	User        string
	List        restapi.UserList
	Next, First string
}

// refreshAfter is what changed limits have no events for.
func (usersPage) refreshAfter() time.Duration { return idleAgain }

func (s *Server) users(r *http.Request) (string, any, error) {
	q := r.URL.Query()
	page := usersPage{User: q.Get("user")}
	a, err := s.needs.Shown.ListUsers(r.Context(), restapi.ListUsersRequestObject{Params: restapi.ListUsersParams{User: given(page.User), Cursor: given(q.Get("cursor"))}})
	if err != nil {
		return "", nil, err
	}
	page.List = restapi.UserList(a.(restapi.ListUsers200JSONResponse))
	page.Next, page.First = turned(q, page.List.Next)
	return "Users", page, nil
}
