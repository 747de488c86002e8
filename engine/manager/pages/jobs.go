package pages

import (
	"net/http"
	"net/url"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/rest/api"
)

// shownNow is how many jobs the first page shows of each sort.
const shownNow = 10

// nowPage is the first page.
type nowPage struct {
	Cluster     api.Cluster
	Policy      api.Policy
	Live, Ended api.JobList
}

func (s *Server) now(r *http.Request) (string, any, error) {
	c, err := s.needs.Shown.GetCluster(r.Context(), api.GetClusterRequestObject{})
	if err != nil {
		return "", nil, err
	}
	policy, err := s.needs.Shown.GetPolicy(r.Context(), api.GetPolicyRequestObject{})
	if err != nil {
		return "", nil, err
	}
	p := nowPage{Cluster: c.(api.GetCluster200JSONResponse).Body, Policy: api.Policy(policy.(api.GetPolicy200JSONResponse))}
	most := shownNow
	for _, x := range []struct {
		list   *api.JobList
		states []api.JobState
	}{
		{&p.Live, []api.JobState{api.JobStateAsked, api.JobStateRunning, api.JobStateFinishing}},
		{&p.Ended, []api.JobState{api.JobStateSucceeded, api.JobStateFailed, api.JobStateKilled}},
	} {
		if *x.list, err = s.listJobs(r, api.ListJobsParams{State: &x.states, Limit: &most}); err != nil {
			return "", nil, err
		}
	}
	return "Now", p, nil
}

func (s *Server) listJobs(r *http.Request, p api.ListJobsParams) (api.JobList, error) {
	a, err := s.needs.Shown.ListJobs(r.Context(), api.ListJobsRequestObject{Params: p})
	if err != nil {
		return api.JobList{}, err
	}
	return a.(api.ListJobs200JSONResponse).Body, nil
}

// jobsPage lists jobs.
type jobsPage struct {
	Filter struct{ State, User, Pool, Name, Launcher string }
	States []api.JobState
	List   api.JobList
	Next   string // the query of the next page; "": there is none
	First  string // that of the first page; "": this is it
}

// states are all that a job may be in.
var states = []api.JobState{api.JobStateAsked, api.JobStateRunning, api.JobStateFinishing, api.JobStateSucceeded, api.JobStateFailed, api.JobStateKilled}

func (s *Server) jobs(r *http.Request) (string, any, error) {
	q := r.URL.Query()
	page := jobsPage{States: states}
	f := &page.Filter
	f.State, f.User, f.Pool, f.Name, f.Launcher = q.Get("state"), q.Get("user"), q.Get("pool"), q.Get("name"), q.Get("launcher")
	p := api.ListJobsParams{User: given(f.User), Pool: given(f.Pool), Name: given(f.Name), Launcher: given(f.Launcher), Cursor: given(q.Get("cursor"))}
	if f.State != "" {
		state := api.JobState(f.State)
		if !state.Valid() {
			return "", nil, status.Errorf(codes.InvalidArgument, "%.64q is no state of a job: %s", f.State, oneOf(states))
		}
		p.State = &[]api.JobState{state}
	}
	var err error
	if page.List, err = s.listJobs(r, p); err != nil {
		return "", nil, err
	}
	page.Next, page.First = turned(q, page.List.Next)
	return "Jobs", page, nil
}

// given is nil for what was not said.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// turned are the queries that lead to the next page of a list, and back to its first.
func turned(q url.Values, next *string) (on, first string) {
	if q.Get("cursor") != "" {
		q.Del("cursor")
		first = "?" + q.Encode()
	}
	if next != nil {
		q.Set("cursor", *next)
		on = "?" + q.Encode()
	}
	return on, first
}

// launchersPage lists launchers.
type launchersPage struct {
	List        api.LauncherList
	Next, First string
}

func (launchersPage) again() time.Duration { return loadAgain }

func (s *Server) launchers(r *http.Request) (string, any, error) {
	q := r.URL.Query()
	p := api.ListLaunchersParams{Cursor: given(q.Get("cursor"))}
	if text := q.Get("state"); text != "" {
		state := api.LauncherState(text)
		if !state.Valid() {
			return "", nil, status.Errorf(codes.InvalidArgument, "%.64q is no state of a launcher", text)
		}
		p.State = &state
	}
	a, err := s.needs.Shown.ListLaunchers(r.Context(), api.ListLaunchersRequestObject{Params: p})
	if err != nil {
		return "", nil, err
	}
	page := launchersPage{List: a.(api.ListLaunchers200JSONResponse).Body}
	page.Next, page.First = turned(q, page.List.Next)
	return "Launchers", page, nil
}
