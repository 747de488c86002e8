package api

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// Rights on a job are checked here for callers that read it, and by the core for callers that
// change it.

// callerOf is the caller by rules that may be newer than the request, with its groups by these
// rules. It has no rights when its certificate was revoked since, or when it may no longer act for
// the user.
func callerOf(ctx context.Context, rules *access.Rules) access.Caller {
	p, _ := auth.From(ctx)
	switch {
	case rules == nil:
		return access.Caller{Name: p.Name, Groups: p.Groups}
	case rules.Revoked.Of(p):
		return access.Caller{}
	}
	self := rules.Known(cmp.Or(p.By, p.Name), p.Shown)
	if p.By == "" {
		return self
	}
	other := rules.Known(p.Name, nil)
	if rules.Impersonate(self, other) != nil {
		return access.Caller{}
	}
	return other
}

func known(j *wire.JobSummary) access.Job {
	return access.Job{Name: scheduler.JobID(j.GetJob()).String(), Owner: j.GetUser(), Pool: j.GetPool()}
}

func denied(err error) error { return status.Error(codes.PermissionDenied, err.Error()) }

// FindJob finds a job that the caller may look at. The error is a NotFound status for an unknown
// job, and PermissionDenied for a job of others.
func (s *Server) FindJob(ctx context.Context, id scheduler.JobID) (*query.Job, error) {
	j, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := s.mayRead(ctx, j.Status.Summary); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// mayRead returns why the caller may not look at a job, by the current rules; nil: it may. Long
// streams call it again before each part, because rights may end meanwhile.
func (s *Server) mayRead(ctx context.Context, j *wire.JobSummary) error {
	if rules := s.needs.Rules(); rules != nil {
		if err := rules.CheckRead(callerOf(ctx, rules), known(j)); err != nil {
			return denied(err)
		}
	}
	return nil
}

// MayHear returns why the caller may not follow changes, of a job if one is named, by the current
// rules; nil: it may.
func (s *Server) MayHear(ctx context.Context, job scheduler.JobID) error {
	if job != 0 {
		j, err := s.FindJob(ctx, job)
		if err == nil {
			j.Close()
		}
		return err
	}
	if rules := s.needs.Rules(); rules != nil {
		rule, _ := access.RuleOf(access.ManagerRoute("GET /api/v1/events")) // a test has each route in the table
		if err := rules.May(auth.User, callerOf(ctx, rules), rule); err != nil {
			return denied(err)
		}
	}
	return nil
}

// readable is jobStatus for the caller: an error for a job that it may not look at.
func (s *Server) readable(ctx context.Context, job uint64, attempts bool) (*wire.JobStatus, error) {
	j, err := s.FindJob(ctx, scheduler.JobID(job))
	if err != nil {
		return nil, err
	}
	defer j.Close()
	st, err := s.jobStatus(ctx, j, attempts)
	if err == nil && j.Damage != nil {
		st.Notes = append(slices.Clip(st.Notes), fmt.Sprintf("(%s)", status.Convert(j.Damage).Message()))
	}
	return st, err
}

// MayLook returns a function that reports whether the caller may look at a job.
func (s *Server) MayLook(ctx context.Context) func(*wire.JobSummary) bool {
	rules := s.needs.Rules()
	if rules == nil {
		return func(*wire.JobSummary) bool { return true }
	}
	w := callerOf(ctx, rules)
	return func(j *wire.JobSummary) bool { return rules.MayRead(w, known(j)) }
}

// MayLookAtUser returns a function that reports whether the caller may learn what a user has: the
// user itself, and callers that may look at everything.
func (s *Server) MayLookAtUser(ctx context.Context) func(string) bool {
	rules := s.needs.Rules()
	if rules == nil {
		return func(string) bool { return true }
	}
	w := callerOf(ctx, rules)
	all := rules.Has(w, access.Viewer, access.Operator, access.Administrator)
	return func(user string) bool { return all || user == w.Name }
}

// ruling numbers the rules that were in force. The zero value has none yet. Safe for concurrent
// use.
type ruling struct {
	mu     sync.Mutex
	rules  *access.Rules // the last
	number uint64
}

// of is the number of rules.
func (r *ruling) of(rules *access.Rules) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rules != r.rules {
		r.rules = rules
		r.number++
	}
	return r.number
}

// Rights is a number that differs between callers, and changes with the access rules: an answer
// cached for one number may show too much or too little for another.
func (s *Server) Rights(ctx context.Context) uint64 {
	rules := s.needs.Rules()
	if rules == nil {
		return 0
	}
	w := callerOf(ctx, rules)
	sum := fnv.New64a()
	_, _ = fmt.Fprintf(sum, "%d %q %q", s.ruling.of(rules), w.Name, w.Groups) // it never fails
	return sum.Sum64()
}

// readableOf leaves out jobs that the caller may not look at.
func (s *Server) readableOf(ctx context.Context, jobs []*wire.JobSummary) []*wire.JobSummary {
	may := s.MayLook(ctx)
	return slices.DeleteFunc(jobs, func(j *wire.JobSummary) bool { return !may(j) })
}

// placeByDefault gives a submission without a pool the pool that the rules name.
func (s *Server) placeByDefault(ctx context.Context, spec *wire.JobSpec) {
	if rules := s.needs.Rules(); rules != nil {
		spec.Pool = rules.PoolOf(spec.GetPrincipal().GetName(), spec.GetPool())
	}
	audit.Of(ctx).Changed("", fmt.Sprintf("pool %q", spec.GetPool()))
}

// moveByDefault is the same for a job moved to no named pool.
func (s *Server) moveByDefault(ctx context.Context, q *wire.UpdateRequest) error {
	rules := s.needs.Rules()
	if rules == nil || q.Pool == nil || *q.Pool != "" {
		return nil
	}
	j, err := s.summary(ctx, q.Job)
	if err != nil {
		return err
	}
	to := rules.PoolOf(j.GetUser(), "")
	q.Pool = &to
	return nil
}

// mayChange checks a request that changes something by a page of the policy.
func (s *Server) mayChange(ctx context.Context, q scheduler.PageAsked) error {
	e := audit.Of(ctx)
	e.About(q.Method + " " + q.Path + "?" + q.Query) // what proves the caller is off by now
	rules := s.needs.Rules()
	if rules != nil && !rules.Has(callerOf(ctx, rules), access.MayChange()...) {
		return status.Errorf(codes.PermissionDenied, "%s may only look at the policy's pages: it needs one of the roles %v", callerOf(ctx, rules).Name, access.MayChange())
	}
	return e.Change()
}

// judged writes a refusal by the policy into the audit.
func judged(ctx context.Context, code int) {
	if code == http.StatusUnauthorized || code == http.StatusForbidden {
		_ = audit.Of(ctx).EndAs(audit.Refused, http.StatusText(code)) // the log says what can't be written
	}
}

// Access returns what a user may do. For another user, the caller must have the right to look at
// everything.
func (s *Server) Access(ctx context.Context, q *wire.AccessRequest) (*wire.AccessReply, error) {
	rules := s.needs.Rules()
	if rules == nil {
		return &wire.AccessReply{Off: true, Principal: submitter(ctx, &wire.Principal{Name: q.User})}, nil
	}
	p, _ := auth.From(ctx)
	w := callerOf(ctx, rules)
	r := &wire.AccessReply{Principal: submitter(ctx, nil)}
	if q.User != "" && q.User != p.Name {
		if !rules.Has(w, access.Viewer, access.Operator, access.Administrator) {
			return nil, status.Errorf(codes.PermissionDenied, "%s may ask about itself alone: to ask about others needs one of the roles viewer, operator, administrator", p.Name)
		}
		w = rules.Known(q.User, nil)
		r.Principal = &wire.Principal{Name: w.Name, Groups: w.Groups, Proof: scheduler.Unproven}
	}
	DescribeAccess(rules, w, r)
	return r, nil
}

// misspelt are the lists of pools that the policy does not have, where its status lists all its
// pools.
func (s *Server) misspelt(status []byte) []*wire.PolicyProblem {
	rules := s.needs.Rules()
	m := &schedwire.Status{}
	if rules == nil || len(rules.Pools) == 0 || proto.Unmarshal(status, m) != nil || !m.AllPools {
		return nil
	}
	shown, err := m.Decode()
	if err != nil {
		return nil // the policy has it in its events
	}
	var pools []string
	for _, p := range shown.Pools {
		pools = append(pools, p.Name)
	}
	var list []*wire.PolicyProblem
	for _, text := range rules.Missing(pools) {
		list = append(list, &wire.PolicyProblem{What: policyhost.ConditionLists, Text: text, At: time.Now().UnixNano()})
	}
	return list[:min(len(list), misspeltMax)]
}

// misspeltMax bounds the lists that are reported to name no pool.
const misspeltMax = 100

// DescribeAccess writes a user's rights into an answer.
func DescribeAccess(rules *access.Rules, w access.Caller, r *wire.AccessReply) {
	for _, role := range rules.RolesOf(w) {
		r.Roles = append(r.Roles, string(role))
	}
	for _, path := range slices.Sorted(maps.Keys(rules.Pools)) {
		p := rules.Pools[path]
		administer := p.Administer.Has(w)
		if submit := administer || p.Submit.Has(w); submit {
			r.Pools = append(r.Pools, &wire.PoolAccess{Pool: path, Submit: submit, Administer: administer})
		}
	}
	r.ActsFor, r.DefaultPool, r.Advice = rules.ActsFor(w), rules.PoolOf(w.Name, ""), rules.Advice(w)
}
