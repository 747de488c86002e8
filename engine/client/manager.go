package client

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/client/internal/transport"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// caller makes calls by the names of their methods, as a transport.Conn does.
type caller interface {
	Call(ctx context.Context, method string, q, answer proto.Message) error
	Open(ctx context.Context, method string, q proto.Message) (*transport.Stream, error)
	Upload(ctx context.Context, method string, next func() (proto.Message, error), answer proto.Message) error
}

// manager is the service Manager (engine/wire/rpc). The generated client has the same methods; it
// needs grpc-go.
type manager struct{ caller }

// service begins the names of the manager's methods.
const service = "/hamadryad.engine.v1.Manager/"

// call makes a call with one answer, which is of type A.
func call[A any, P interface {
	*A
	proto.Message
}](ctx context.Context, m manager, method string, q proto.Message) (*A, error) {
	if err := checkSize(q); err != nil {
		return nil, err
	}
	answer := P(new(A))
	if err := m.Call(ctx, service+method, q, answer); err != nil {
		return nil, err
	}
	return answer, nil
}

// checkSize refuses a request that is larger than a manager reads. The manager could only answer
// that the message was too large; here the field is known.
func checkSize(q proto.Message) error {
	if proto.Size(q) <= wire.LauncherMessageBytesMax {
		return nil
	}
	field, n := wire.LargestField(q)
	return status.Errorf(codes.InvalidArgument, "%s has %d bytes, and no request may have more than %d: shorten it", field, n, wire.LauncherMessageBytesMax)
}

func (m manager) Prepare(ctx context.Context, q *wire.PrepareRequest) (*wire.PrepareReply, error) {
	return call[wire.PrepareReply](ctx, m, "Prepare", q)
}

func (m manager) Submit(ctx context.Context, q *wire.SubmitRequest) (*wire.SubmitReply, error) {
	return call[wire.SubmitReply](ctx, m, "Submit", q)
}

func (m manager) HasBlob(ctx context.Context, q *wire.BlobQuery) (*wire.BlobAnswer, error) {
	return call[wire.BlobAnswer](ctx, m, "HasBlob", q)
}

func (m manager) PutBlob(ctx context.Context, next func() (proto.Message, error)) (*wire.Empty, error) {
	answer := &wire.Empty{}
	return answer, m.Upload(ctx, service+"PutBlob", next, answer)
}

func (m manager) Watch(ctx context.Context, q *wire.StatusRequest) (*transport.Stream, error) {
	return m.Open(ctx, service+"Watch", q)
}

func (m manager) Jobs(ctx context.Context, q *wire.JobsRequest) (*wire.JobsReply, error) {
	return call[wire.JobsReply](ctx, m, "Jobs", q)
}

func (m manager) Status(ctx context.Context, q *wire.StatusRequest) (*wire.JobStatus, error) {
	return call[wire.JobStatus](ctx, m, "Status", q)
}

func (m manager) Kill(ctx context.Context, q *wire.JobRef) (*wire.Empty, error) {
	return call[wire.Empty](ctx, m, "Kill", q)
}

func (m manager) Retry(ctx context.Context, q *wire.RetryRequest) (*wire.Empty, error) {
	return call[wire.Empty](ctx, m, "Retry", q)
}

func (m manager) Elements(ctx context.Context, q *wire.ElementsRequest) (*wire.ElementsReply, error) {
	return call[wire.ElementsReply](ctx, m, "Elements", q)
}

func (m manager) Update(ctx context.Context, q *wire.UpdateRequest) (*wire.Empty, error) {
	return call[wire.Empty](ctx, m, "Update", q)
}

func (m manager) Launchers(ctx context.Context, q *wire.LaunchersRequest) (*wire.LaunchersReply, error) {
	return call[wire.LaunchersReply](ctx, m, "Launchers", q)
}

func (m manager) Drain(ctx context.Context, q *wire.DrainRequest) (*wire.Empty, error) {
	return call[wire.Empty](ctx, m, "Drain", q)
}

func (m manager) Logs(ctx context.Context, q *wire.LogsRequest) (*transport.Stream, error) {
	return m.Open(ctx, service+"Logs", q)
}

func (m manager) Policy(ctx context.Context, q *wire.PolicyQuery) (*wire.PolicyReply, error) {
	return call[wire.PolicyReply](ctx, m, "Policy", q)
}

func (m manager) PolicyPage(ctx context.Context, q *wire.PageRequest) (*wire.PageReply, error) {
	return call[wire.PageReply](ctx, m, "PolicyPage", q)
}

func (m manager) ReloadPolicy(ctx context.Context, q *wire.ReloadRequest) (*wire.PolicyReply, error) {
	return call[wire.PolicyReply](ctx, m, "ReloadPolicy", q)
}

func (m manager) Settings(ctx context.Context, q *wire.Empty) (*wire.SettingsReply, error) {
	return call[wire.SettingsReply](ctx, m, "Settings", q)
}

func (m manager) DiffSettings(ctx context.Context, q *wire.SettingsText) (*wire.SettingsDiff, error) {
	return call[wire.SettingsDiff](ctx, m, "DiffSettings", q)
}

func (m manager) ApplySettings(ctx context.Context, q *wire.ApplyRequest) (*wire.SettingsVersion, error) {
	return call[wire.SettingsVersion](ctx, m, "ApplySettings", q)
}

func (m manager) SettingsVersions(ctx context.Context, q *wire.VersionsRequest) (*wire.VersionsReply, error) {
	return call[wire.VersionsReply](ctx, m, "SettingsVersions", q)
}

func (m manager) Audit(ctx context.Context, q *wire.AuditRequest) (*wire.AuditReply, error) {
	return call[wire.AuditReply](ctx, m, "Audit", q)
}

func (m manager) Pages(ctx context.Context, q *wire.Empty) (*wire.PagesReply, error) {
	return call[wire.PagesReply](ctx, m, "Pages", q)
}

func (m manager) Access(ctx context.Context, q *wire.AccessRequest) (*wire.AccessReply, error) {
	return call[wire.AccessReply](ctx, m, "Access", q)
}

func (m manager) AddSchedule(ctx context.Context, q *wire.AddScheduleRequest) (*wire.Empty, error) {
	return call[wire.Empty](ctx, m, "AddSchedule", q)
}

func (m manager) Schedules(ctx context.Context, q *wire.SchedulesRequest) (*wire.SchedulesReply, error) {
	return call[wire.SchedulesReply](ctx, m, "Schedules", q)
}

func (m manager) ChangeSchedule(ctx context.Context, q *wire.ChangeScheduleRequest) (*wire.Empty, error) {
	return call[wire.Empty](ctx, m, "ChangeSchedule", q)
}

func (m manager) TakeRun(ctx context.Context, q *wire.TakeRunRequest) (*wire.TakeRunReply, error) {
	return call[wire.TakeRunReply](ctx, m, "TakeRun", q)
}

func (m manager) EndRun(ctx context.Context, q *wire.EndRunRequest) (*wire.Empty, error) {
	return call[wire.Empty](ctx, m, "EndRun", q)
}
