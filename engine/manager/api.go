package manager

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// callers are the clients that wait for the core's reply.
type callers struct {
	mu      sync.Mutex
	last    uint64 // number of the last caller; its upper bits are the term
	waiting map[uint64]chan core.Reply
}

// callersMax bounds clients that wait at the same time.
const callersMax = 10_000

var errTooManyCallers = status.Errorf(codes.ResourceExhausted, "%d requests wait for the manager: try again later", callersMax)

// add numbers a caller. Replies for numbers of an earlier life find nobody.
func (c *callers) add() (uint64, <-chan core.Reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) >= callersMax {
		return 0, nil, errTooManyCallers
	}
	c.last++
	reply := make(chan core.Reply, 1)
	c.waiting[c.last] = reply
	return c.last, reply, nil
}

func (c *callers) remove(client uint64) {
	c.mu.Lock()
	delete(c.waiting, client)
	c.mu.Unlock()
}

func (c *callers) reply(r core.Reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reply := c.waiting[r.Client]; reply != nil {
		delete(c.waiting, r.Client)
		reply <- r
	}
}

// call puts a request to the core and waits for the reply, which comes when what
// it says is durable.
func (m *manager) call(ctx context.Context, in func(client uint64) *wire.Input) (core.Reply, error) {
	return m.callWith(ctx, entry{}, in)
}

func (m *manager) callWith(ctx context.Context, e entry, in func(client uint64) *wire.Input) (core.Reply, error) {
	client, reply, err := m.callers.add()
	if err != nil {
		return core.Reply{}, err
	}
	defer m.callers.remove(client)
	e.inputs = []*wire.Input{in(client)}
	if err := m.driver.put(ctx, e); err != nil {
		return core.Reply{}, statusOf(err)
	}
	select {
	case r := <-reply:
		return r, failureStatus(r.Failure)
	case <-ctx.Done():
		return core.Reply{}, statusOf(ctx.Err())
	case <-m.driver.ended:
		return core.Reply{}, statusOf(errStopping)
	}
}

// statusOf gives an error of this package its code.
func statusOf(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errStopping):
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
	case wire.ErrorKind_ERROR_KIND_RESOURCE:
		code = codes.ResourceExhausted
	}
	return status.Error(code, f.Message)
}

// roomForWork refuses new work while the event log's disk is full.
func (m *manager) roomForWork() error {
	if stalled := m.stalled.Load(); stalled != nil {
		return status.Errorf(codes.ResourceExhausted, "the manager takes no new work: %v", *stalled)
	}
	return nil
}

// managerServer is the service that applications and the command line talk to.
type managerServer struct {
	rpc.UnimplementedManagerServer
	m *manager
}

// Prepare reserves a job's number.
func (s *managerServer) Prepare(ctx context.Context, _ *wire.PrepareRequest) (*wire.PrepareReply, error) {
	if err := s.m.roomForWork(); err != nil {
		return nil, err
	}
	r, err := s.m.call(ctx, func(client uint64) *wire.Input {
		return wire.NewInput(&wire.Prepare{Client: client})
	})
	if err != nil {
		return nil, err
	}
	return &wire.PrepareReply{Job: uint64(r.Job), Manager: s.m.life.identity}, nil
}

// Submit hands a job in. Program and plan must have been sent before.
func (s *managerServer) Submit(ctx context.Context, q *wire.SubmitRequest) (*wire.SubmitReply, error) {
	if err := s.m.roomForWork(); err != nil {
		return nil, err
	}
	if q.Spec == nil {
		return nil, status.Error(codes.InvalidArgument, "the submission holds no job")
	}
	for what, hash := range map[string]string{"program": q.Spec.Program, "plan": q.Spec.Plan} {
		if !s.m.blobs.has(hash) {
			return nil, status.Errorf(codes.FailedPrecondition, "the job's %s (SHA-256 %.64q) was not sent: send it, then submit again", what, hash)
		}
	}
	if hash := q.Spec.GraphBlob; hash != "" {
		done, err := s.m.graphs.take(hash, func() (io.ReadCloser, error) { return s.m.blobs.reader(hash) })
		switch {
		case errors.Is(err, errBlobMissing):
			return nil, status.Errorf(codes.FailedPrecondition, "the job's graph (SHA-256 %.64q) was not sent: send it, then submit again", hash)
		case errors.Is(err, errBlobDamaged) && s.m.blobs.doubt(hash):
			return nil, status.Errorf(codes.FailedPrecondition, "the job's graph (SHA-256 %.64q): %v: send it, then submit again", hash, errBlobDamaged)
		case errors.Is(err, plan.ErrDamaged):
			return nil, status.Errorf(codes.InvalidArgument, "the job's graph: %v", err)
		case err != nil:
			return nil, status.Errorf(codes.ResourceExhausted, "the job's graph can't be kept: %v", err)
		}
		defer done()
	}
	draft, err := s.draft(ctx, scheduler.JobID(q.Job), q.Spec)
	if err != nil {
		return nil, err
	}
	_, err = s.m.callWith(ctx, entry{graph: q.Spec.GraphBlob, draft: draft}, func(client uint64) *wire.Input {
		return wire.NewInput(&wire.Submit{Client: client, Job: q.Job, Spec: q.Spec})
	})
	if err != nil {
		return nil, err
	}
	return &wire.SubmitReply{}, nil
}

// draftFrom is from how many nodes on a job is drafted beside the core, which costs a
// look at its settings first.
const draftFrom = 10_000

// draft makes the draft of a large job, one at a time; nil for others, and for what the
// core will not take in anyway.
func (s *managerServer) draft(ctx context.Context, id scheduler.JobID, spec *wire.JobSpec) (*core.Draft, error) {
	nodes := uint64(0)
	for _, stage := range spec.GetGraph().GetStages() {
		nodes += uint64(stage.GetNodes())
	}
	if nodes < draftFrom && spec.GraphBlob == "" {
		return nil, nil
	}
	s.m.drafting.Lock()
	defer s.m.drafting.Unlock()
	var set core.Settings
	awaited := false
	if err := s.m.driver.glance(ctx, func(c *core.Core) { set, awaited = c.Settings(), c.Awaits(id) }); err != nil {
		return nil, statusOf(err)
	}
	if !awaited {
		return nil, nil
	}
	return core.NewDraft(set, spec, s.m.graphs.load), nil
}

// HasBlob tells whether a program or plan needs not be sent.
func (s *managerServer) HasBlob(_ context.Context, q *wire.BlobQuery) (*wire.BlobAnswer, error) {
	return &wire.BlobAnswer{Present: s.m.blobs.has(q.Hash)}, nil
}

// PutBlob takes a program or plan.
func (s *managerServer) PutBlob(stream grpc.ClientStreamingServer[wire.BlobChunk, wire.Empty]) error {
	if err := s.m.roomForWork(); err != nil {
		return err
	}
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	u, err := s.m.blobs.begin(first.Hash)
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	for chunk := first; ; {
		if err := u.write(chunk.Data); err != nil {
			u.abort()
			return status.Error(codes.ResourceExhausted, "the manager could not keep the program: "+err.Error())
		}
		chunk, err = stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			u.abort()
			return err
		}
	}
	if err := u.finish(); err != nil {
		return status.Error(codes.DataLoss, err.Error())
	}
	return stream.SendAndClose(&wire.Empty{})
}

// Kill ends a job.
func (s *managerServer) Kill(ctx context.Context, q *wire.JobRef) (*wire.Empty, error) {
	return s.onJob(ctx, q.Job, func(client uint64) *wire.Input {
		return wire.NewInput(&wire.KillJob{Client: client, Job: q.Job, Principal: q.Principal, Reason: q.Reason})
	})
}

// Update changes a job's pool or priority.
func (s *managerServer) Update(ctx context.Context, q *wire.UpdateRequest) (*wire.Empty, error) {
	return s.onJob(ctx, q.Job, func(client uint64) *wire.Input {
		return wire.NewInput(&wire.UpdateJob{Client: client, Job: q.Job, Principal: q.Principal, Pool: q.Pool, Priority: q.Priority})
	})
}

func (s *managerServer) onJob(ctx context.Context, job uint64, in func(client uint64) *wire.Input) (*wire.Empty, error) {
	if _, err := s.m.jobStatus(ctx, job, false); err != nil {
		return nil, err
	}
	if _, err := s.m.call(ctx, in); err != nil {
		return nil, err
	}
	return &wire.Empty{}, nil
}

// Drain keeps new work from a launcher, or lets it come again.
func (s *managerServer) Drain(ctx context.Context, q *wire.DrainRequest) (*wire.Empty, error) {
	_, err := s.m.call(ctx, func(client uint64) *wire.Input {
		return wire.NewInput(&wire.DrainLauncher{Client: client, Name: q.Launcher, Principal: q.Principal, Drain: q.Drain})
	})
	if err != nil {
		return nil, err
	}
	return &wire.Empty{}, nil
}

// Policy describes the policy.
func (s *managerServer) Policy(ctx context.Context, q *wire.PolicyQuery) (*wire.PolicyReply, error) {
	r := s.m.supervisor.reply(ctx, q.Brief)
	r.Rounds = s.m.stats.roundCount.Load()
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	// Without the core's answer the rest is worth telling.
	_ = s.m.driver.glance(ctx, func(c *core.Core) { r.Refusals = refusals(c.Stats()) - refusals(s.m.before) })
	return r, nil
}

// ReloadPolicy starts the policy's program anew and answers when it decides.
func (s *managerServer) ReloadPolicy(ctx context.Context, _ *wire.ReloadRequest) (*wire.PolicyReply, error) {
	if err := s.m.supervisor.reload(ctx); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	return s.Policy(ctx, &wire.PolicyQuery{})
}

// policyPrefix begins what a policy says of a job, as opposed to the core.
const policyPrefix = "policy: "

// explained adds the policy's word on why a job waits.
func (m *manager) explained(ctx context.Context, s *wire.JobStatus, explain func(context.Context, scheduler.JobID) (scheduler.Explanation, bool)) {
	if ended(s) || !waits(s) {
		return
	}
	if p, slow := m.problems.of(problemSlow); slow {
		defer func() { s.Waiting = append(s.Waiting, policyPrefix+p.text) }()
	}
	e, ok := explain(ctx, scheduler.JobID(s.Summary.Job))
	if !ok || (e.Reason == scheduler.WaitNone && e.Detail == "") {
		return
	}
	// What the policy says now is newer than what it sent with a round.
	s.Waiting = slices.DeleteFunc(s.Waiting, func(w string) bool { return strings.HasPrefix(w, policyPrefix) })
	s.Waiting = append(s.Waiting, policyPrefix+explanation(e))
}
