package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// drainMax is how long open calls may go on after Terminate.
const drainMax = time.Second

// server answers the manager's calls.
type server struct {
	rpc.UnimplementedTaskSchedulerServer
	newPolicy func() scheduler.TaskScheduler
	shell     *shell // nil: none
	grpc      *grpc.Server
	unknown   unknown

	// turn holds a token during a call of the policy. The holder may access the fields of the next
	// group.
	turn     chan struct{}
	policy   scheduler.TaskScheduler // nil until Start succeeds
	started  bool                    // Start was called
	panicked error                   // the first panic, with its call and stack; nil: none
	env      scheduler.Environment
	versions map[uint64]scheduler.Config // settings that the policy has not judged

	// ended is closed by Terminate.
	ended     chan struct{}
	endOnce   sync.Once
	watchOnce sync.Mutex // held by the one Watch call
}

func newServer(newPolicy func() scheduler.TaskScheduler) *server {
	return &server{newPolicy: newPolicy, turn: make(chan struct{}, 1), versions: map[uint64]scheduler.Config{}, ended: make(chan struct{})}
}

// onPolicy runs f when the policy is free, or returns when the context ends first. A panic of f is
// returned as an error with its stack. The policy's state is then unreliable, so every later call
// gets the same error.
func onPolicy[T any](ctx context.Context, s *server, what string, f func() (T, error)) (v T, err error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return v, status.FromContextError(ctx.Err()).Err()
	}
	defer func() {
		if p := recover(); p != nil {
			s.panicked = panicIn(what, p)
			err = s.panicked
		}
		<-s.turn
	}()
	if s.panicked != nil {
		return v, s.panicked
	}
	return f()
}

// textBytesMax bounds the text of a policy's error or panic, in bytes. It travels in a header,
// whose size the manager limits.
const textBytesMax = 4 << 10

// cut truncates a text to textBytesMax.
func cut(text string) string {
	if len(text) <= textBytesMax {
		return text
	}
	return text[:textBytesMax] + " ... (cut)"
}

// panicIn converts a panic to a status. Call it in the function that recovered the panic.
func panicIn(what string, p any) error {
	return status.Errorf(codes.Internal, "the policy panicked in %s: %s\n%s", what, cut(fmt.Sprint(p)), cut(string(debug.Stack())))
}

// fault converts a policy's error to a status.
func fault(what string, err error) error {
	return status.Errorf(codes.Aborted, "%s: %s", what, cut(err.Error()))
}

// breach is the status for a message that violates the format.
func breach(err error) error { return status.Error(codes.InvalidArgument, err.Error()) }

// reply returns a message, or reports the error of making it as the policy's fault.
func reply[M any](what string, m M, err error) (M, error) {
	if err != nil {
		var none M
		return none, fault(what, err)
	}
	return m, nil
}

// Check implements the service.
func (s *server) Check(ctx context.Context, m *schedwire.Config) (*schedwire.ProblemList, error) {
	config, err := m.Decode()
	if err != nil {
		return nil, breach(err)
	}
	problems, err := onPolicy(ctx, s, "Check", func() (scheduler.Problems, error) {
		return problemsOf(s.newPolicy().Check(config)), nil
	})
	if err != nil {
		return nil, err
	}
	list, err := schedwire.NewProblemList(problems)
	return reply("Check", list, err)
}

// problemsOf lists the problems of a configuration. An error without places is one problem.
func problemsOf(err error) scheduler.Problems {
	var p scheduler.Problems
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p) && len(p) > 0:
		return p
	}
	return scheduler.Problems{{Message: err.Error()}}
}

// Start implements the service.
func (s *server) Start(stream grpc.ClientStreamingServer[rpc.StartPart, rpc.StartReply]) error {
	var unknown schedwire.Unknown
	config, env, snapshot, err := receiveStart(stream, &unknown)
	if err != nil {
		return err
	}
	s.unknown.add(&unknown)
	answer, err := onPolicy(stream.Context(), s, "Start", func() (*rpc.StartReply, error) {
		return s.startPolicy(config, snapshot, env)
	})
	if err != nil {
		return err
	}
	if answer.Description != nil {
		s.shell.start(config, env)
	}
	return stream.SendAndClose(answer)
}

// receiveStart reads the parts of a start.
func receiveStart(stream grpc.ClientStreamingServer[rpc.StartPart, rpc.StartReply], unknown *schedwire.Unknown) (
	config scheduler.Config, env scheduler.Environment, snapshot scheduler.Snapshot, err error,
) {
	pages := schedwire.SnapshotReader{Unknown: unknown}
	for first := true; ; first = false {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return config, env, snapshot, err
		}
		if first {
			if config, err = part.GetConfig().Decode(); err != nil {
				return config, env, snapshot, breach(err)
			}
			if env, err = part.GetEnvironment().Decode(); err != nil {
				return config, env, snapshot, breach(err)
			}
		}
		if err := pages.Add(part.GetPage()); err != nil {
			return config, env, snapshot, breach(err)
		}
	}
	if snapshot, err = pages.Snapshot(); err != nil {
		return config, env, snapshot, breach(err)
	}
	return config, env, snapshot, nil
}

// startPolicy starts the policy; the caller holds the turn.
func (s *server) startPolicy(config scheduler.Config, snapshot scheduler.Snapshot, env scheduler.Environment) (*rpc.StartReply, error) {
	if s.started {
		return nil, status.Error(codes.FailedPrecondition, "Start was called twice")
	}
	s.started = true
	policy := s.newPolicy()
	description, err := policy.Start(config, snapshot, env)
	var problems scheduler.Problems
	if errors.As(err, &problems) && len(problems) > 0 {
		list, err := schedwire.NewProblemList(problems)
		return reply("Start", &rpc.StartReply{Problems: list}, err)
	}
	if err != nil {
		return nil, fault("Start", err)
	}
	s.env = env
	description.Abilities = s.declare(policy, description.Abilities)
	m, err := schedwire.NewDescription(description)
	if err != nil {
		return nil, fault("Start", err)
	}
	s.policy = policy
	return &rpc.StartReply{Description: m}, nil
}

// declare adds the abilities that the SDK derives from the policy and the shell.
func (s *server) declare(p scheduler.TaskScheduler, a scheduler.Ability) scheduler.Ability {
	a &^= scheduler.AbilityPageHandler | scheduler.AbilityAuthenticator
	if _, ok := p.(scheduler.PageHandler); ok {
		a |= scheduler.AbilityPageHandler
	}
	return a | s.shell.abilities(s.env)
}

// onStarted is onPolicy for calls that need a started policy.
func onStarted[T any](ctx context.Context, s *server, what string, f func(scheduler.TaskScheduler) (T, error)) (T, error) {
	return onPolicy(ctx, s, what, func() (T, error) {
		if s.policy == nil {
			var none T
			return none, status.Errorf(codes.FailedPrecondition, "%s before a successful Start or after Terminate", what)
		}
		return f(s.policy)
	})
}

// assignTasks lets the policy decide a round.
func (s *server) assignTasks(ctx context.Context, round scheduler.Round) (answerMessage, error) {
	return onStarted(ctx, s, "AssignTasks", func(p scheduler.TaskScheduler) (answerMessage, error) {
		s.shell.keepNotes(&round)
		decisions, err := p.AssignTasks(round)
		if err != nil {
			return nil, fault(fmt.Sprintf("round %d", round.Number), err)
		}
		s.judged(p, &round, &decisions)
		b, err := schedwire.EncodeDecisions(&decisions)
		return reply(fmt.Sprintf("round %d", round.Number), answerMessage(b), err)
	})
}

// judged passes settings that the policy accepts to the shell, and sets what the SDK declares in
// its verdicts.
func (s *server) judged(p scheduler.TaskScheduler, r *scheduler.Round, d *scheduler.Decisions) {
	for _, e := range r.Events {
		if c, ok := e.(scheduler.SettingChanged); ok {
			s.versions[c.Version] = c.Config
		}
	}
	for i := range d.Settings {
		v := &d.Settings[i]
		if config, ok := s.versions[v.Version]; ok && len(v.Problems) == 0 {
			s.shell.accepted(config)
		}
		delete(s.versions, v.Version)
		if v.Abilities != 0 {
			v.Abilities = s.declare(p, v.Abilities)
		}
	}
}

// Page implements the service.
func (s *server) Page(ctx context.Context, m *schedwire.PageAsked) (*schedwire.Page, error) {
	q, err := m.Decode()
	if err != nil {
		return nil, breach(err)
	}
	a, err := onStarted(ctx, s, "Page", func(p scheduler.TaskScheduler) (scheduler.Answer, error) {
		pager, ok := p.(scheduler.PageHandler)
		if !ok {
			return scheduler.Answer{}, status.Error(codes.Unimplemented, "the policy has no pages beside the log")
		}
		a, err := pager.Page(q)
		if err != nil {
			return a, fault("Page", err)
		}
		return a, nil
	})
	if err == nil && a.Later != nil {
		a, err = later(a)
	}
	if err != nil {
		return nil, err
	}
	out, err := schedwire.NewPage(a)
	return reply("Page", out, err)
}

// later computes an answer concurrently with the policy's rounds. A panic is harmless: the function
// has no access to the policy's mutable state.
func later(a scheduler.Answer) (made scheduler.Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault("Page", fmt.Errorf("it panicked: %v", p))
		}
	}()
	return a.Later(), nil
}

// Prove implements the service. It does not wait for the policy.
func (s *server) Prove(ctx context.Context, m *schedwire.Credentials) (*schedwire.Proof, error) {
	c, err := m.Decode()
	if err != nil {
		return nil, breach(err)
	}
	p, err := s.shell.prove(ctx, c)
	if err != nil {
		return nil, err
	}
	out, err := schedwire.NewProof(p)
	return reply("Prove", out, err)
}

// Durable implements the service. It does not wait for the policy.
func (s *server) Durable(_ context.Context, m *rpc.DurableRound) (*rpc.DurableTaken, error) {
	s.shell.durable(m.GetRound())
	return &rpc.DurableTaken{}, nil
}

// Explain implements the service.
func (s *server) Explain(ctx context.Context, m *rpc.ExplainAsked) (*schedwire.Explanation, error) {
	return onStarted(ctx, s, "Explain", func(p scheduler.TaskScheduler) (*schedwire.Explanation, error) {
		e, err := p.Explain(scheduler.JobID(m.GetJob()))
		if errors.Is(err, scheduler.ErrUnknownJob) {
			return nil, status.Error(codes.NotFound, err.Error())
		}
		if err != nil {
			return nil, fault("Explain", err)
		}
		out, err := schedwire.NewExplanation(e)
		return reply("Explain", out, err)
	})
}

// Status implements the service.
func (s *server) Status(ctx context.Context, _ *rpc.StatusAsked) (*schedwire.Status, error) {
	return onStarted(ctx, s, "Status", func(p scheduler.TaskScheduler) (*schedwire.Status, error) {
		v, err := p.Status()
		if err != nil {
			return nil, fault("Status", err)
		}
		if facts := s.unknown.facts(); len(v.Facts)+len(facts) <= scheduler.FactsMax {
			v.Facts = append(slices.Clip(v.Facts), facts...)
		}
		out, err := schedwire.NewStatus(v)
		return reply("Status", out, err)
	})
}

// Terminate implements the service: it ends shell and policy, and then the
// process.
func (s *server) Terminate(ctx context.Context, _ *rpc.TerminateAsked) (*rpc.Terminated, error) {
	s.shell.end()
	_, err := onPolicy(ctx, s, "Terminate", func() (struct{}, error) {
		if s.policy != nil {
			s.policy.Terminate()
			s.policy = nil
		}
		return struct{}{}, nil
	})
	s.endOnce.Do(func() {
		close(s.ended)
		if s.grpc != nil {
			go s.stopServing()
		}
	})
	return &rpc.Terminated{}, err
}

// stopServing lets the answer to Terminate be sent and ends the server; then Main returns.
func (s *server) stopServing() {
	force := time.AfterFunc(drainMax, s.grpc.Stop)
	s.grpc.GracefulStop()
	force.Stop()
}

// Watch implements the service.
func (s *server) Watch(_ *rpc.WatchAsked, stream grpc.ServerStreamingServer[schedwire.Note]) error {
	if !s.watchOnce.TryLock() {
		return status.Error(codes.FailedPrecondition, "Watch was called twice")
	}
	defer s.watchOnce.Unlock()
	var posts chan post
	if s.shell != nil {
		posts = s.shell.posts
	}
	for {
		select {
		case p := <-posts:
			err := stream.Send(p.note)
			p.sent <- err
			if err != nil {
				return err
			}
		case <-s.ended:
			return nil
		case <-stream.Context().Done():
			return nil
		}
	}
}
