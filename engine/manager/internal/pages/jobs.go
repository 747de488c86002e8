package pages

import (
	"net/http"
	"net/url"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// shownNow is how many jobs the first page shows of each sort.
const shownNow = 10

// nowPage is the first page.
type nowPage struct {
	Cluster     restapi.Cluster
	Policy      restapi.Policy
	Live, Ended restapi.JobList
}

func (s *Server) now(r *http.Request) (string, any, error) {
	c, err := s.needs.Shown.GetCluster(r.Context(), restapi.GetClusterRequestObject{})
	if err != nil {
		return "", nil, err
	}
	policy, err := s.needs.Shown.GetPolicy(r.Context(), restapi.GetPolicyRequestObject{})
	if err != nil {
		return "", nil, err
	}
	p := nowPage{Cluster: c.(restapi.GetCluster200JSONResponse).Body, Policy: restapi.Policy(policy.(restapi.GetPolicy200JSONResponse))}
	most := shownNow
	for _, x := range []struct {
		list   *restapi.JobList
		states []restapi.JobState
	}{
		{&p.Live, []restapi.JobState{restapi.JobStateWaiting, restapi.JobStateAsked, restapi.JobStateRunning, restapi.JobStateFinishing, restapi.JobStateKilling}},
		{&p.Ended, []restapi.JobState{restapi.JobStateSucceeded, restapi.JobStateFailed, restapi.JobStateKilled}},
	} {
		if *x.list, err = s.listJobs(r, restapi.ListJobsParams{State: &x.states, Limit: &most}); err != nil {
			return "", nil, err
		}
	}
	return "Now", p, nil
}

func (s *Server) listJobs(r *http.Request, p restapi.ListJobsParams) (restapi.JobList, error) {
	a, err := s.needs.Shown.ListJobs(r.Context(), restapi.ListJobsRequestObject{Params: p})
	if err != nil {
		return restapi.JobList{}, err
	}
	return a.(restapi.ListJobs200JSONResponse).Body, nil
}

// jobsPage lists jobs.
type jobsPage struct {
	Filter struct{ State, User, Pool, Name, Launcher string }
	States []restapi.JobState
	List   restapi.JobList
	Next   string // the query of the next page; "": none
	First  string // the query of the first page; "": this is it
}

// states are all states of a job.
var states = []restapi.JobState{
	restapi.JobStateWaiting, restapi.JobStateAsked, restapi.JobStateRunning, restapi.JobStateFinishing, restapi.JobStateKilling,
	restapi.JobStateSucceeded, restapi.JobStateFailed, restapi.JobStateKilled,
}

func (s *Server) jobs(r *http.Request) (string, any, error) {
	q := r.URL.Query()
	page := jobsPage{States: states}
	f := &page.Filter
	f.State, f.User, f.Pool, f.Name, f.Launcher = q.Get("state"), q.Get("user"), q.Get("pool"), q.Get("name"), q.Get("launcher")
	p := restapi.ListJobsParams{User: given(f.User), Pool: given(f.Pool), Name: given(f.Name), Launcher: given(f.Launcher), Cursor: given(q.Get("cursor"))}
	if f.State != "" {
		state := restapi.JobState(f.State)
		if !state.Valid() {
			return "", nil, status.Errorf(codes.InvalidArgument, "%.64q is no state of a job: %s", f.State, oneOf(states))
		}
		p.State = &[]restapi.JobState{state}
	}
	var err error
	if page.List, err = s.listJobs(r, p); err != nil {
		return "", nil, err
	}
	page.Next, page.First = turned(q, page.List.Next)
	return "Jobs", page, nil
}

// given is nil for an empty field.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// turned are the queries of a list's next page, and of its first.
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
	List        restapi.LauncherList
	Next, First string
}

func (launchersPage) refreshAfter() time.Duration { return loadAgain }

func (s *Server) launchers(r *http.Request) (string, any, error) {
	q := r.URL.Query()
	p := restapi.ListLaunchersParams{Cursor: given(q.Get("cursor"))}
	if text := q.Get("state"); text != "" {
		state := restapi.LauncherState(text)
		if !state.Valid() {
			return "", nil, status.Errorf(codes.InvalidArgument, "%.64q is no state of a launcher", text)
		}
		p.State = &state
	}
	a, err := s.needs.Shown.ListLaunchers(r.Context(), restapi.ListLaunchersRequestObject{Params: p})
	if err != nil {
		return "", nil, err
	}
	page := launchersPage{List: a.(restapi.ListLaunchers200JSONResponse).Body}
	page.Next, page.First = turned(q, page.List.Next)
	return "Launchers", page, nil
}
