package pages

import (
	"maps"
	"net/http"
	"net/url"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// elementsShown is how many elements of a job array a job's page shows at once.
const elementsShown = 50

// Parameters of a job's page that select elements.
const (
	elementState  = "element-state"
	elementCursor = "element-cursor"
)

// elementsPart is the part of a job's page about the elements of a job array.
type elementsPart struct {
	restapi.ElementList
	OfState     string // the state of those that are shown; "": all
	States      []restapi.ElementState
	Next, First string // queries of pages
}

var elementStates = []restapi.ElementState{
	restapi.ElementStateWaiting, restapi.ElementStateRunning, restapi.ElementStateSucceeded, restapi.ElementStateFailed, restapi.ElementStateKilled,
}

// elements reads a page of a job array's elements.
func (s *Server) elements(r *http.Request, job string) (*elementsPart, error) {
	q, most := r.URL.Query(), elementsShown
	p := &elementsPart{OfState: q.Get(elementState), States: elementStates}
	of := restapi.ListElementsParams{Limit: &most, Cursor: given(q.Get(elementCursor))}
	if p.OfState != "" {
		state := restapi.ElementState(p.OfState)
		if !state.Valid() {
			return nil, status.Errorf(codes.InvalidArgument, "%.64q is no state of an element: %s", p.OfState, oneOf(elementStates))
		}
		of.State = &[]restapi.ElementState{state}
	}
	a, err := s.needs.Shown.ListElements(r.Context(), restapi.ListElementsRequestObject{Job: job, Params: of})
	if err != nil {
		return nil, err
	}
	p.ElementList = a.(restapi.ListElements200JSONResponse).Body
	if q.Has(elementCursor) {
		p.First = elementsQuery(q, "")
	}
	if next := p.ElementList.Next; next != nil {
		p.Next = elementsQuery(q, *next)
	}
	return p, nil
}

// elementsQuery is a page's query with another place in the list of elements; "": its beginning.
func elementsQuery(q url.Values, cursor string) string {
	q = maps.Clone(q)
	q.Del(elementCursor)
	if cursor != "" {
		q.Set(elementCursor, cursor)
	}
	return "?" + q.Encode() + "#elements"
}

// WithElements is the query of this page with the elements in a state, from the first on.
func (p jobPage) WithElements(state restapi.ElementState) string {
	q := maps.Clone(p.Asked)
	q.Set(elementState, string(state))
	return elementsQuery(q, "")
}

// retry makes elements of a job array run again.
func (s *Server) retry(r *http.Request) error {
	job, err := jobOf(r)
	if err != nil {
		return err
	}
	named, err := text(r, "elements")
	if err != nil {
		return err
	}
	_, err = s.needs.Shown.RetryElements(r.Context(), restapi.RetryElementsRequestObject{Job: job, Body: &restapi.Retry{Elements: given(named)}})
	return err
}
