package pages

import (
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/internal/timeparse"
)

// auditPage shows changes and refusals.
type auditPage struct {
	Filter struct{ Who, What, Result, Text, Since, Until string }
	List   restapi.AuditList
	Next   string
	First  string
}

func (s *Server) audit(r *http.Request) (string, any, error) {
	q := r.URL.Query()
	page := auditPage{}
	f := &page.Filter
	f.Who, f.What, f.Result, f.Text, f.Since, f.Until = q.Get("who"), q.Get("what"), q.Get("result"), q.Get("text"), q.Get("since"), q.Get("until")
	p := restapi.ListAuditParams{Who: given(f.Who), What: given(f.What), Text: given(f.Text), Cursor: given(q.Get("cursor"))}
	if f.Result != "" {
		result := restapi.AuditResult(f.Result)
		if !result.Valid() {
			return "", nil, status.Errorf(codes.InvalidArgument, "%.64q is no result: use ok, refused or error", f.Result)
		}
		p.Result = &result
	}
	for _, x := range []struct {
		text string
		into **time.Time
	}{{f.Since, &p.Since}, {f.Until, &p.Until}} {
		if x.text == "" {
			continue
		}
		at, err := timeparse.Parse(x.text, time.Now())
		if err != nil {
			return "", nil, status.Error(codes.InvalidArgument, err.Error())
		}
		*x.into = &at
	}
	a, err := s.needs.Shown.ListAudit(r.Context(), restapi.ListAuditRequestObject{Params: p})
	if err != nil {
		return "", nil, err
	}
	page.List = restapi.AuditList(a.(restapi.ListAudit200JSONResponse))
	page.Next, page.First = turned(q, page.List.Next)
	return "Audit", page, nil
}
