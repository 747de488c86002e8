// Package launchers serves the launchers' streams. It passes their joins, reports and heartbeats to
// the core, and commands to them. It decides whether they are alive, and reports losses to the
// core.
//
// # Invariants
//
// A name belongs to one data folder until its launcher is lost. No command is sent before the
// welcome. The core gets the report of a loss before any new join of that incarnation. Input from a
// launcher and output to it are bounded.
//
// # Reports
//
// The shell takes reports of an attempt only from the launcher to which the core gave that attempt
// (assignments). The same holds for its progress, counters, audit lines and log ends, and for
// requests of tickets and programs. The core has the same rule. A launcher is read at 20,000
// reports and 16 MiB a second at most, after a burst of 200,000 reports or 128 MiB. Then it waits,
// and the log says so once a minute. A report of an end that is over its bound is the program's
// fault: the job fails, and no launcher is blamed.
//
// # Loss
//
// A launcher that stops says that it leaves (wire.Leave). The manager gives it up at once, and
// raises no alert. A launcher that joins as a new incarnation says why the earlier one ended.
// Heartbeats and leases wait for no lock that is held during disk or network access.
package launchers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/blobs"
	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/manager/internal/limits"
	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// joinTimeout bounds the wait for a launcher's first message, which may have
	// launcherMessageMax bytes.
	joinTimeout = time.Minute
	// blobChunkBytes is the size of the parts of a blob.
	blobChunkBytes = 256 << 10
	// Bounds of a launcher's description of itself. Its list of attempts is bounded by
	// launcherMessageMax only: some three million entries.
	nameBytesMax = 256
	namesMax     = 64
	slotKindsMax = 64
	slotsMax     = 100_000
	// memoryMax bounds a launcher's memory, and its swap, so that sums over all launchers do not
	// overflow.
	memoryMax = 1 << 50
	// incarnationMax bounds a launcher's incarnation. That is the time of its start in nanoseconds,
	// or the previous incarnation plus one: the bound leaves room until the year 2116.
	incarnationMax = 1 << 62
)

// Server is the gRPC service for launchers.
type Server struct {
	rpc.UnimplementedLaunchersServer
	Table    *Table
	Inbox    *inbox.Inbox
	Blobs    *blobs.Store
	Wants    func(scheduler.Ability) bool // reports whether the policy has an ability
	Stats    *metrics.Metrics
	Rules    func() *access.Rules // access rules; nil: there are none
	Log      *slog.Logger
	Sampled  *slog.Logger    // for lines that a launcher can cause in any number: repeated ones are counted
	Stopping <-chan struct{} // closed when the streams have to end
	Terms    *wire.Welcome   // the same for each launcher that joins
	// Keep takes the ends of logs of a job's attempts. It does not wait; its error is a status.
	Keep func(ctx context.Context, job scheduler.JobID, list []*wire.LogTail) error
	// RanOn leaves out the ends of logs of attempts that did not run on the launcher which they
	// name. It is called for attempts unknown to the table.
	RanOn func(ctx context.Context, job scheduler.JobID, list []*wire.LogTail) ([]*wire.LogTail, error)
	// Offended is called when a launcher ended a worker for its messages.
	Offended func(ctx context.Context, launcher string, o *wire.WorkerOffence)
}

// Connect is one launcher's stream, from its join to its end.
func (s *Server) Connect(stream grpc.BidiStreamingServer[wire.FromLauncher, wire.ToLauncher]) error {
	first, err := firstMessage(stream)
	if err != nil {
		return err
	}
	if first.Leave != nil {
		return s.leave(stream.Context(), first.Leave)
	}
	join := first.Join
	if err := checkJoin(join); err != nil {
		return refuse(stream, err)
	}
	if err := checkName(stream.Context(), join.Name); err != nil {
		return refuse(stream, err)
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	session := newSession(join, cancel)
	if caller, ok := auth.From(ctx); ok {
		session.issued = caller.Issued
	}
	if err := s.Table.grant(session); err != nil {
		return refuse(stream, err)
	}
	defer func() {
		if s.Table.released(session) {
			s.Log.Info("a launcher's stream ended", "launcher", join.Name)
		}
	}()
	if err := session.pace.wait(ctx, s.Log, join.Name, joinReports, proto.Size(join)); err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	if err := s.Inbox.Input(ctx, wire.NewInput(&wire.LauncherJoin{Join: join})); err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	received := make(chan error, 1)
	go func() { received <- s.receive(ctx, stream, session) }()
	return s.transmit(ctx, stream, session, received)
}

// leave declares a stopped launcher lost at once.
func (s *Server) leave(ctx context.Context, m *wire.Leave) error {
	if err := checkName(ctx, m.Name); err != nil {
		return status.Error(codes.PermissionDenied, err.Error())
	}
	gone, ok := s.Table.leave(m)
	if !ok {
		return status.Error(codes.FailedPrecondition, "no such launcher is here")
	}
	defer s.Table.lossReported(gone.of)
	s.Log.Info("a launcher was stopped", "launcher", m.Name)
	return s.Inbox.Input(ctx, gone.input)
}

// firstMessage waits for the launcher's join or leave message. A silent stream ends with its
// connection or at joinTimeout.
func firstMessage(stream grpc.BidiStreamingServer[wire.FromLauncher, wire.ToLauncher]) (*wire.FromLauncher, error) {
	type first struct {
		m   *wire.FromLauncher
		err error
	}
	got := make(chan first, 1)
	go func() {
		m, err := stream.Recv()
		got <- first{m, err}
	}()
	select {
	case f := <-got:
		if f.err != nil {
			return nil, f.err
		}
		if f.m.Join == nil && f.m.Leave == nil {
			return nil, status.Error(codes.InvalidArgument, "the first message of a launcher must carry its join")
		}
		return f.m, nil
	case <-time.After(joinTimeout):
		return nil, status.Error(codes.DeadlineExceeded, "no join came")
	}
}

func refuse(stream grpc.BidiStreamingServer[wire.FromLauncher, wire.ToLauncher], why error) error {
	w := &wire.Welcome{Refused: why.Error()}
	var r *refusal
	if errors.As(why, &r) {
		w.Afresh, w.PatienceNs = r.afresh, int64(r.patience)
	}
	_ = stream.Send(&wire.ToLauncher{Welcome: w})
	return status.Error(codes.FailedPrecondition, why.Error())
}

// checkJoin refuses names and numbers that could not be distinguished or counted later.
func checkJoin(j *wire.Join) error {
	switch {
	case len(j.Identity) > nameBytesMax:
		return fmt.Errorf("a launcher's identity has at most %d bytes", nameBytesMax)
	case j.Name == "" || len(j.Name) > nameBytesMax || len(j.Host) > nameBytesMax || len(j.Rack) > nameBytesMax:
		return fmt.Errorf("a launcher needs a name, and name, host and rack have at most %d bytes each", nameBytesMax)
	case len(j.Names) > namesMax || slices.ContainsFunc(j.Names, func(n string) bool { return n == "" || len(n) > nameBytesMax }):
		return fmt.Errorf("a launcher gives its host at most %d further names, each of 1 to %d bytes", namesMax, nameBytesMax)
	case len(j.DataAddress) > nameBytesMax || len(j.HttpAddress) > nameBytesMax:
		return fmt.Errorf("a launcher's addresses have at most %d bytes each", nameBytesMax)
	case len(j.Version) > nameBytesMax:
		return fmt.Errorf("a launcher's version has at most %d bytes", nameBytesMax)
	case j.Incarnation == 0:
		return errors.New("a launcher needs an incarnation larger than 0")
	case j.Incarnation > incarnationMax: // or the name would be blocked for ever: the next incarnation has a larger number
		return fmt.Errorf("a launcher's incarnation is the time of its start, and %d is beyond all that can be: set the machine's clock right, and join from an empty data folder", j.Incarnation)
	case proto.Size(j) > limits.LauncherMessageMax:
		return fmt.Errorf("a launcher's join has %d bytes, at most %d are taken: let it drop what it has stored", proto.Size(j), limits.LauncherMessageMax)
	case len(j.Slots) > slotKindsMax:
		return fmt.Errorf("a launcher has at most %d kinds of slots", slotKindsMax)
	case j.Memory < 0 || j.Swap < 0:
		return errors.New("a launcher's memory and swap can't be negative")
	case j.Memory > memoryMax || j.Swap > memoryMax:
		return fmt.Errorf("a launcher has at most %d bytes of memory and of swap: set launcher.memory", int64(memoryMax))
	}
	if err := checkSeen(j, time.Now()); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, s := range j.Slots {
		if s.Kind == "" || len(s.Kind) > nameBytesMax || seen[s.Kind] || s.Count > slotsMax {
			return fmt.Errorf("%d slots of kind %q: each kind has a name, stands once and has at most %d slots", s.Count, s.Kind, slotsMax)
		}
		seen[s.Kind] = true
	}
	return nil
}

// checkSeen refuses a join with a term or an id that no manager can have given. The core continues
// above the ids that launchers saw, and would have none left.
func checkSeen(j *wire.Join, now time.Time) error {
	term, job, attempt := core.SeenMax(now)
	what, id, most := "a manager of term", j.Term, term
	switch {
	case j.Term > term:
	case j.Seen > attempt:
		what, id, most = "attempt", j.Seen, attempt
	default:
		last := uint64(0)
		for _, id := range j.Jobs {
			last = max(last, id)
		}
		if last <= job {
			return nil
		}
		what, id, most = "job", last, job
	}
	return fmt.Errorf("the launcher tells of %s %d, and none above %d can be by now: set the clocks of the manager's machine right, or join from an empty data folder", what, id, most)
}

// checkName refuses a launcher that joins under a name which is not in its certificate.
func checkName(ctx context.Context, name string) error {
	if caller, ok := auth.From(ctx); ok && caller.Proved() && caller.Name != name {
		return fmt.Errorf("the certificate is that of launcher %q, and it joins as %q: set launcher.name, or issue another certificate", caller.Name, name)
	}
	return nil
}

// receive forwards reports until the stream ends. Heartbeats don't wait for the core, which may
// wait for the disk.
func (s *Server) receive(ctx context.Context, stream grpc.BidiStreamingServer[wire.FromLauncher, wire.ToLauncher], session *session) error {
	in := newIntake(ctx, s.Inbox)
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		session.hear(m.Heartbeat)
		if err := session.pace.wait(ctx, s.Log, session.join.Name, 1+len(m.Reports), proto.Size(m)); err != nil {
			return err
		}
		inputs := s.inputs(ctx, m, session)
		if len(inputs) == 0 {
			continue
		}
		for _, e := range entries(inputs) {
			if err := in.add(e); err != nil {
				return err
			}
		}
	}
}

// entries makes one entry of a message's inputs, or several if they exceed one record of the event
// log.
func entries(inputs []*wire.Input) []inbox.Entry {
	whole := inbox.Entry{Inputs: inputs}.Sized()
	if whole.Bytes <= limits.LauncherMessageMax || len(inputs) == 1 {
		return []inbox.Entry{whole}
	}
	list := make([]inbox.Entry, len(inputs))
	for i := range inputs {
		list[i] = inbox.Entry{Inputs: inputs[i : i+1 : i+1]}
	}
	return list
}

// intakeMax is how many messages with reports of one launcher may wait for the core before its
// stream is no longer read.
const intakeMax = 1024

// intakeBytesMax bounds these by bytes, in the same way: a launcher's largest message
// and more.
const intakeBytesMax = 64 << 20

// intake brings one stream's reports to the core, in order.
type intake struct {
	ctx     context.Context
	inbox   *inbox.Inbox
	queue   chan inbox.Entry
	room    *inbox.ByteBudget // for the entries in queue
	waiting atomic.Int64      // in queue and in hand
}

// newIntake begins an intake, which ends with ctx.
func newIntake(ctx context.Context, b *inbox.Inbox) *intake {
	in := &intake{ctx: ctx, inbox: b, queue: make(chan inbox.Entry, intakeMax), room: inbox.NewByteBudget(intakeBytesMax)}
	go in.run()
	return in
}

// add takes an entry; it blocks when too many wait. For one goroutine.
func (in *intake) add(e inbox.Entry) error {
	if e.Bytes == 0 {
		e = e.Sized()
	}
	if in.waiting.Load() == 0 && in.inbox.Offer(e) {
		return nil // the usual case: no entry waits
	}
	if err := in.room.ReserveBytes(in.ctx, e.Bytes, in.inbox.Over()); err != nil {
		return err
	}
	in.waiting.Add(1)
	select {
	case in.queue <- e:
		return nil
	case <-in.ctx.Done():
		return context.Cause(in.ctx)
	case <-in.inbox.Over():
		return inbox.ErrStopping
	}
}

func (in *intake) run() {
	for {
		select {
		case e := <-in.queue:
			if in.inbox.Enqueue(in.ctx, e) != nil {
				return // and so does the adding goroutine
			}
			in.room.ReleaseBytes(e.Bytes)
			in.waiting.Add(-1)
		case <-in.ctx.Done():
			return
		}
	}
}

// inputs makes inputs of a message's reports, and of its heartbeat when that has load changes that
// the policy asked for. Other heartbeats stay here.
func (s *Server) inputs(ctx context.Context, m *wire.FromLauncher, session *session) []*wire.Input {
	id := s.Table.idOf(session)
	if id == 0 {
		return nil // reports before the welcome: they are sent again
	}
	inputs := make([]*wire.Input, 0, len(m.Reports))
	add := func(r *wire.Report) {
		inputs = append(inputs, wire.NewReport(uint64(id), r))
	}
	for _, r := range m.Reports {
		if r.Incarnation != session.join.Incarnation || r.What == nil {
			continue
		}
		if r = limits.TidyReport(r); r == nil {
			continue
		}
		switch what := r.What.(type) {
		case *wire.Report_Progress:
			if !session.assigned.runs(what.Progress.GetAttempt()) || !session.advance(what.Progress) || !s.Wants(scheduler.AbilityProgress) {
				continue
			}
		case *wire.Report_Load:
			continue // the manager's own
		case *wire.Report_Offence:
			if session.answersFor(what.Offence) {
				s.Offended(ctx, session.join.Name, what.Offence)
			}
			continue
		case *wire.Report_Suspended:
			session.suspended(what.Suspended)
		case *wire.Report_Resumed:
			session.resumed(what.Resumed)
		case *wire.Report_Ended:
			session.over(what.Ended.GetAttempt())
			if session.assigned.ends(what.Ended.GetAttempt()) {
				s.Stats.Work(what.Ended.GetWork())
			}
		}
		add(ofCore(r))
	}
	if b := m.Heartbeat; b != nil && s.Wants(scheduler.AbilityLoad) && session.loadSent.due(time.Now(), b.Load) {
		add(&wire.Report{Incarnation: session.join.Incarnation, What: &wire.Report_Load{Load: session.loadSent.load}})
	}
	return inputs
}

// answersFor reports whether an offence can be that of a worker on the session's launcher: the job
// and the attempt must have had work there.
func (s *session) answersFor(o *wire.WorkerOffence) bool {
	job := scheduler.JobID(o.GetJob())
	return s.assigned.has(job) && (o.GetAttempt() == 0 || s.assigned.ran(job, o.GetAttempt()))
}

// idOf returns the id that the core gave to the session's launcher.
func (l *Table) idOf(s *session) scheduler.LauncherID {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.byName[s.join.Name]; r != nil && r.session == s {
		return r.id
	}
	return 0
}

// transmit sends the queued commands until the stream ends.
func (s *Server) transmit(ctx context.Context, stream grpc.BidiStreamingServer[wire.FromLauncher, wire.ToLauncher], session *session, received <-chan error) error {
	for {
		select {
		case <-ctx.Done():
			return status.Error(codes.Unavailable, context.Cause(ctx).Error())
		case err := <-received:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case <-s.Stopping:
			return status.Error(codes.Unavailable, inbox.ErrStopping.Error())
		case <-session.wake:
		}
		for m := session.next(); m != nil; m = session.next() {
			if err := stream.Send(m); err != nil {
				return err
			}
			if m.Welcome.GetRefused() != "" {
				return status.Error(codes.FailedPrecondition, m.Welcome.Refused)
			}
		}
	}
}

// Welcome answers a join when the core has decided.
func (s *Server) Welcome(w core.Welcome) {
	terms := proto.CloneOf(s.Terms)
	terms.Term = w.Term
	s.Table.welcomed(w, terms)
}

// FetchBlob sends a program or a plan. A launcher with a proved name gets only those of jobs that
// have work there. If a launcher doubts a copy, it is checked first, and dropped when it is
// damaged.
func (s *Server) FetchBlob(q *wire.BlobQuery, stream grpc.ServerStreamingServer[wire.BlobChunk]) error {
	if caller, ok := auth.From(stream.Context()); ok && caller.Proved() {
		if err := s.Table.mayFetch(caller.Name, q.Hash); err != nil {
			return status.Error(codes.PermissionDenied, err.Error())
		}
		done, err := s.Table.pace(caller.Name).fetch(stream.Context())
		if err != nil {
			return status.FromContextError(err).Err()
		}
		defer done()
	}
	if q.Doubted && s.Blobs.Doubt(q.Hash) {
		return damagedBlob(q.Hash, blobs.ErrDamaged)
	}
	r, err := s.Blobs.Reader(q.Hash)
	if errors.Is(err, blobs.ErrMissing) {
		return status.Errorf(codes.NotFound, "the manager has no program or plan with SHA-256 %.64q: submit the job again", q.Hash)
	}
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	defer r.Close()
	for first := q.Hash; ; first = "" {
		chunk := &wire.BlobChunk{Hash: first, Data: make([]byte, blobChunkBytes)}
		n, err := io.ReadFull(r, chunk.Data)
		chunk.Data = chunk.Data[:n]
		if n > 0 || first != "" {
			if err := stream.Send(chunk); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case errors.Is(err, blobs.ErrDamaged):
			return damagedBlob(q.Hash, err)
		case err != nil:
			return status.Error(codes.Internal, err.Error())
		}
	}
}

func damagedBlob(hash string, err error) error {
	return status.Errorf(codes.NotFound, "program or plan with SHA-256 %.64q: %v: submit the job again", hash, err)
}
