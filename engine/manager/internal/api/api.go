// Package api is the gRPC service for applications and the command line. It hands their requests to
// the core, and shows jobs, launchers, logs, the policy and the configuration.
//
// # Invariants
//
// A reply leaves when its content is durable, and goes to one caller. Waiting and watching callers
// are bounded in number.
package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/manager/internal/blobs"
	"github.com/hamadryad/hamadryad/engine/manager/internal/configedit"
	"github.com/hamadryad/hamadryad/engine/manager/internal/credentials"
	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/manager/internal/launchers"
	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/manager/internal/schedules"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/engine/manager/recovery"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// call puts a request to the core and waits for the reply, which comes when its content is durable.
func (s *Server) call(ctx context.Context, in func(client uint64) *wire.Input) (core.Reply, error) {
	return s.callWith(ctx, inbox.Entry{}, in)
}

func (s *Server) callWith(ctx context.Context, e inbox.Entry, in func(client uint64) *wire.Input) (core.Reply, error) {
	client, reply, err := s.callers.add()
	if err != nil {
		return core.Reply{}, err
	}
	defer s.callers.remove(client)
	e.Inputs = []*wire.Input{in(client)}
	if err := s.needs.Inbox.Enqueue(ctx, e); err != nil {
		return core.Reply{}, statusOf(err)
	}
	select {
	case r := <-reply:
		if r.After != "" {
			audit.Of(ctx).Changed(r.Before, r.After)
		}
		return r, failureStatus(r.Failure)
	case <-ctx.Done():
		return core.Reply{}, statusOf(ctx.Err())
	case <-s.needs.Inbox.Over():
		return core.Reply{}, statusOf(inbox.ErrStopping)
	}
}

// statusOf gives an error of this package its code.
func statusOf(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, inbox.ErrStopping):
		return status.Error(codes.Unavailable, err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	}
	return status.Error(codes.Internal, err.Error())
}

func failureStatus(f *wire.Failure) error {
	if f == nil {
		return nil
	}
	code := codes.FailedPrecondition
	switch f.Kind {
	case wire.ErrorKind_ERROR_KIND_INVALID:
		code = codes.InvalidArgument
	case wire.ErrorKind_ERROR_KIND_INTERNAL:
		code = codes.Internal
	case wire.ErrorKind_ERROR_KIND_DENIED:
		code = codes.PermissionDenied
	case wire.ErrorKind_ERROR_KIND_RESOURCE:
		code = codes.ResourceExhausted
	}
	return status.Error(code, f.Message)
}

// roomForWork refuses new work while the event log's disk is full.
func (s *Server) roomForWork() error {
	if err := s.needs.Stalled(); err != nil {
		return status.Errorf(codes.ResourceExhausted, "the manager takes no new work: %v", err)
	}
	return nil
}

// Needs are the dependencies of the clients' server.
type Needs struct {
	Inbox      *inbox.Inbox
	Read       *query.Reader
	Blobs      *blobs.Store
	UploadRate int64         // least bytes per second of an upload; 0: UploadRateDefault
	ClearEvery time.Duration // 0: ClearEveryDefault
	Graphs     *recovery.GraphStore
	Launchers  *launchers.Table
	Supervisor *policyhost.Supervisor
	Conditions *policyhost.Conditions
	Tickets    *credentials.TicketStore
	Stats      *metrics.Metrics
	Shown      *Configuration
	File       string     // the configuration's
	Identity   string     // of the manager's data
	Term       uint64     // of this life
	Before     core.Stats // counted before this life
	Settled    time.Time  // by when each launcher has joined, or is given up and past its lease
	// IdleShownAfter is after how long without progress an attempt is named in its job's status.
	IdleShownAfter time.Duration
	Stalled        func() error    // why the event log can't write; nil: it can
	Stopping       <-chan struct{} // closed when the streams have to end
	// Rules are the access rules in force; they return nil if every caller may do everything.
	Rules func() *access.Rules
	// Web is the pages' address, HOST:PORT.
	Web string
	// Audit is read here; the interceptors in front of this server write it.
	Audit *audit.Log
	// Editor changes the configuration.
	Editor *configedit.Editor
	// Schedules tells of schedules. ScheduleLease is the lease of a run (core.schedules.lease).
	Schedules     *schedules.Keeper
	ScheduleLease func() time.Duration
	Keys          *certs.Keys // of the manager; nil: launchers' pages are read without TLS
}

// Server is the gRPC service for applications and the command line.
type Server struct {
	rpc.UnimplementedManagerServer
	needs    Needs
	callers  *callers
	watchers *watchers
	http     *http.Client // reads logs from launchers
	losses   atomic.Pointer[core.Losses]
	ruling   ruling

	announced announced

	drafting sync.Mutex // held while a large job is drafted
}

func NewServer(of Needs) *Server {
	return &Server{needs: of, callers: newCallers(of.Term), watchers: newWatchers(), http: newHTTPClient(of.Keys)}
}

// Reply gives the core's reply to the call that waits for it. It does not block.
func (s *Server) Reply(r core.Reply) { s.callers.reply(r) }

// NotifyWatchers wakes the streams that watch jobs. It does not block.
func (s *Server) NotifyWatchers(a core.JobsChanged) { s.watchers.notifyChanged(a) }

// Close closes connections kept for later calls.
func (s *Server) Close() { s.http.CloseIdleConnections() }

// Prepare reserves a job's number.
func (s *Server) Prepare(ctx context.Context, q *wire.PrepareRequest) (*wire.PrepareReply, error) {
	if err := s.roomForWork(); err != nil {
		return nil, err
	}
	p := submitter(ctx, q.Principal)
	r, err := s.call(ctx, func(client uint64) *wire.Input {
		return wire.NewInput(&wire.Prepare{Client: client, Principal: p})
	})
	if err != nil {
		return nil, err
	}
	s.announce(uint64(r.Job), q)
	return &wire.PrepareReply{Job: uint64(r.Job), Manager: s.needs.Identity, KerberosRealms: s.needs.Tickets.Realms(), User: p.Name, TakesFolders: true}, nil
}

// Submit hands a job in. Program and plan must have been sent before.
func (s *Server) Submit(ctx context.Context, q *wire.SubmitRequest) (*wire.SubmitReply, error) {
	if err := s.roomForWork(); err != nil {
		return nil, err
	}
	if q.Spec == nil {
		return nil, status.Error(codes.InvalidArgument, "the submission holds no job")
	}
	s.announced.takeFolders(q.Job) // its folders are the job's, or the submitter removes them
	if err := s.prove(ctx, q.Spec); err != nil {
		return nil, err
	}
	s.placeByDefault(ctx, q.Spec)
	for what, hash := range map[string]string{"program": q.Spec.Program, "plan": q.Spec.Plan} {
		if !s.needs.Blobs.Sent(hash, sender(ctx)) {
			return nil, status.Errorf(codes.FailedPrecondition, "the job's %s (SHA-256 %.64q) was not sent: send it, then submit again", what, hash)
		}
	}
	if err := s.checkLarge(ctx, scheduler.JobID(q.Job), q.Spec); err != nil {
		return nil, err
	}
	done, err := s.storeGraph(ctx, q.Spec.GraphBlob)
	if err != nil {
		return nil, err
	}
	defer done()
	draft, err := s.draft(ctx, scheduler.JobID(q.Job), q.Spec)
	if err != nil {
		return nil, err
	}
	ended, err := s.endedDependencies(ctx, q.Spec)
	if err != nil {
		return nil, err
	}
	settle, err := s.takeTickets(ctx, q)
	if err != nil {
		return nil, err
	}
	_, err = s.callWith(ctx, inbox.Entry{Graph: q.Spec.GraphBlob, Draft: draft}, func(client uint64) *wire.Input {
		return wire.NewInput(&wire.Submit{Client: client, Job: q.Job, Spec: q.Spec, Ended: ended})
	})
	settle(err == nil)
	if err != nil {
		return nil, err
	}
	return &wire.SubmitReply{}, nil
}

// storeGraph keeps the graph of a submission that names one by its hash, until done is called.
func (s *Server) storeGraph(ctx context.Context, hash string) (done func(), err error) {
	if hash == "" {
		return func() {}, nil
	}
	if !s.needs.Blobs.Sent(hash, sender(ctx)) {
		return nil, status.Errorf(codes.FailedPrecondition, "the job's graph (SHA-256 %.64q) was not sent: send it, then submit again", hash)
	}
	done, err = s.needs.Graphs.StoreGraph(hash, func() (io.ReadCloser, error) { return s.needs.Blobs.Reader(hash) })
	switch {
	case errors.Is(err, blobs.ErrMissing):
		return nil, status.Errorf(codes.FailedPrecondition, "the job's graph (SHA-256 %.64q) was not sent: send it, then submit again", hash)
	case errors.Is(err, blobs.ErrDamaged) && s.needs.Blobs.Doubt(hash):
		return nil, status.Errorf(codes.FailedPrecondition, "the job's graph (SHA-256 %.64q): %v: send it, then submit again", hash, blobs.ErrDamaged)
	case errors.Is(err, plan.ErrDamaged):
		return nil, status.Errorf(codes.InvalidArgument, "the job's graph: %v", err)
	case err != nil:
		return nil, status.Errorf(codes.ResourceExhausted, "the job's graph can't be kept: %v", err)
	}
	return done, nil
}

// draftFrom is the number of nodes from which a job is drafted beside the core. That first costs a
// read of the core's settings.
const draftFrom = 10_000

// isLarge reports whether a job is drafted beside the core.
func isLarge(spec *wire.JobSpec) bool {
	nodes := uint64(0)
	for _, stage := range spec.GetGraph().GetStages() {
		nodes += uint64(stage.GetNodes())
	}
	return nodes >= draftFrom || spec.GraphBlob != ""
}

// checkLarge has the core check the submission of a large job before its graph is stored and drafted.
// The core decides the same again, on the submission's turn.
func (s *Server) checkLarge(ctx context.Context, id scheduler.JobID, spec *wire.JobSpec) error {
	if !isLarge(spec) {
		return nil
	}
	var refused *wire.Failure
	err := s.needs.Inbox.ReadNow(ctx, func(c *core.Core) {
		if c.Awaits(id) {
			refused = c.CheckSubmission(id, spec)
		}
	})
	if err != nil {
		return statusOf(err)
	}
	return failureStatus(refused)
}

// draft makes the draft of a large job, one at a time; nil for small jobs, and for jobs that the
// core will refuse anyway.
func (s *Server) draft(ctx context.Context, id scheduler.JobID, spec *wire.JobSpec) (*core.Draft, error) {
	if !isLarge(spec) {
		return nil, nil
	}
	s.drafting.Lock()
	defer s.drafting.Unlock()
	var set core.Settings
	awaited := false
	if err := s.needs.Inbox.ReadNow(ctx, func(c *core.Core) { set, awaited = c.Settings(), c.Awaits(id) }); err != nil {
		return nil, statusOf(err)
	}
	if !awaited {
		return nil, nil
	}
	return core.NewDraft(set, spec, s.needs.Graphs.Load), nil
}

// HasBlob reports whether a program or plan needs no upload: the same user sent it before. Uploads
// of other users are not revealed.
func (s *Server) HasBlob(ctx context.Context, q *wire.BlobQuery) (*wire.BlobAnswer, error) {
	return &wire.BlobAnswer{Present: s.needs.Blobs.Sent(q.Hash, sender(ctx))}, nil
}

// PutBlob takes a program or plan.
func (s *Server) PutBlob(stream grpc.ClientStreamingServer[wire.BlobChunk, wire.Empty]) error {
	if err := s.roomForWork(); err != nil {
		return err
	}
	next := arriving(stream, uploadSilenceMax, s.needs.UploadRate)
	first, err := next()
	if err != nil {
		return err
	}
	u, err := s.beginUpload(stream.Context(), first.Hash)
	if err != nil {
		return err
	}
	if u == nil { // it is there: a client sends a small blob without asking
		return stream.SendAndClose(&wire.Empty{})
	}
	for chunk := first; ; {
		if err := u.Write(chunk.Data); err != nil {
			u.Abort()
			return status.Error(codes.ResourceExhausted, "the manager could not keep what was sent: "+err.Error())
		}
		chunk, err = next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			u.Abort()
			return err
		}
	}
	if err := u.Finish(); err != nil {
		return status.Error(codes.DataLoss, err.Error())
	}
	return stream.SendAndClose(&wire.Empty{})
}

// Kill ends a job.
func (s *Server) Kill(ctx context.Context, q *wire.JobRef) (*wire.Empty, error) {
	may := func(rules *access.Rules, j access.Job) error { return rules.Change(callerOf(ctx, rules), "kill", j) }
	return s.onJob(ctx, q.Job, may, func(client uint64) *wire.Input {
		return wire.NewInput(&wire.KillJob{Client: client, Job: q.Job, Principal: submitter(ctx, q.Principal), Reason: q.Reason, Elements: q.Elements})
	})
}

// Update changes a job's pool, priority or limits.
func (s *Server) Update(ctx context.Context, q *wire.UpdateRequest) (*wire.Empty, error) {
	if err := s.moveByDefault(ctx, q); err != nil {
		return nil, err
	}
	may := func(rules *access.Rules, j access.Job) error { return rules.Update(callerOf(ctx, rules), j, q.Pool) }
	return s.onJob(ctx, q.Job, may, func(client uint64) *wire.Input {
		return wire.NewInput(&wire.UpdateJob{Client: client, Job: q.Job, Principal: submitter(ctx, q.Principal), Pool: q.Pool, Priority: q.Priority, Limits: q.Limits})
	})
}

// onJob has the core change a job; the core judges whether the caller may. Of ended jobs it may no longer know
// the owner, so may judges those here: only a caller who may change a job learns that it has ended.
func (s *Server) onJob(ctx context.Context, job uint64, may func(*access.Rules, access.Job) error, in func(client uint64) *wire.Input) (*wire.Empty, error) {
	j, err := s.find(ctx, scheduler.JobID(job))
	if err != nil {
		return nil, err
	}
	j.Close()
	if !j.Lives() {
		if rules := s.needs.Rules(); rules != nil {
			if err := may(rules, known(j.Status.GetSummary())); err != nil {
				return nil, denied(err)
			}
		}
		return nil, status.Errorf(codes.InvalidArgument, "%v has ended", j.ID)
	}
	if _, err := s.call(ctx, in); err != nil {
		return nil, err
	}
	return &wire.Empty{}, nil
}

// Drain stops new work on a launcher, or allows it again.
func (s *Server) Drain(ctx context.Context, q *wire.DrainRequest) (*wire.Empty, error) {
	_, err := s.call(ctx, func(client uint64) *wire.Input {
		return wire.NewInput(&wire.DrainLauncher{Client: client, Name: q.Launcher, Principal: submitter(ctx, q.Principal), Drain: q.Drain})
	})
	if err != nil {
		return nil, err
	}
	return &wire.Empty{}, nil
}

// refusalsTimeout bounds the wait for the count of refusals.
const refusalsTimeout = 2 * time.Second

// Policy describes the policy.
func (s *Server) Policy(ctx context.Context, q *wire.PolicyQuery) (*wire.PolicyReply, error) {
	r := s.needs.Supervisor.Reply(ctx, q.Brief)
	r.Problems = append(r.Problems, s.misspelt(r.Status)...)
	r.Rounds = s.needs.Stats.RoundsAnswered()
	ctx, cancel := context.WithTimeout(ctx, refusalsTimeout)
	defer cancel()
	// The other fields are useful without that count.
	if now, _, err := s.needs.Read.Stats(ctx); err == nil {
		r.Refusals = now.Refusals() - s.needs.Before.Refusals()
	}
	return r, nil
}

// ReloadPolicy restarts the policy's program and answers when it decides.
func (s *Server) ReloadPolicy(ctx context.Context, _ *wire.ReloadRequest) (*wire.PolicyReply, error) {
	if err := s.needs.Supervisor.Reload(ctx); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	return s.Policy(ctx, &wire.PolicyQuery{})
}

// policyPrefix begins the policy's reasons for a job, as opposed to the core's.
const policyPrefix = "policy: "

// explained adds the policy's reasons why a job waits.
func (s *Server) explained(ctx context.Context, job *wire.JobStatus, explain func(context.Context, scheduler.JobID) (scheduler.Explanation, bool)) {
	if ended(job) || !waits(job) {
		return
	}
	if p, slow := s.needs.Conditions.Of(policyhost.ConditionRounds); slow {
		defer func() { job.Waiting = append(job.Waiting, policyPrefix+p.Text) }()
	}
	e, ok := explain(ctx, scheduler.JobID(job.Summary.Job))
	if !ok || (e.Reason == scheduler.WaitNone && e.Detail == "") {
		return
	}
	// The policy's current reasons are newer than those it sent with a round.
	job.Waiting = slices.DeleteFunc(job.Waiting, func(w string) bool { return strings.HasPrefix(w, policyPrefix) })
	job.Waiting = append(job.Waiting, policyPrefix+explanation(e))
}
