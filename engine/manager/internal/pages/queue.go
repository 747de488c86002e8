package pages

import (
	"net/http"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// queuePage lists the waiting jobs.
type queuePage struct {
	Filter      struct{ Pool, User string }
	List        restapi.Queue
	Next, First string
}

// refreshAfter is short while something waits: its duration is shown.
func (p queuePage) refreshAfter() time.Duration {
	if len(p.List.Entries) > 0 {
		return lastsAgain
	}
	return 0
}

func (s *Server) queue(r *http.Request) (string, any, error) {
	q := r.URL.Query()
	var page queuePage
	page.Filter.Pool, page.Filter.User = q.Get("pool"), q.Get("user")
	a, err := s.needs.Shown.ListQueue(r.Context(), restapi.ListQueueRequestObject{Params: restapi.ListQueueParams{
		Pool: given(page.Filter.Pool), User: given(page.Filter.User), Cursor: given(q.Get("cursor")),
	}})
	if err != nil {
		return "", nil, err
	}
	page.List = a.(restapi.ListQueue200JSONResponse).Body
	page.Next, page.First = turned(q, page.List.Next)
	return "Queue", page, nil
}
