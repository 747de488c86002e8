package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// Submission is a job to be submitted.
type Submission struct {
	Spec    *wire.JobSpec // program, plan and principal are filled in
	Plan    []byte        // encoded
	Program string        // path of the application's binary
}

// submitTriesMax bounds how often one submission sends the blobs that the manager lacks.
const submitTriesMax = 3

// CheckOutputs refuses existing output folders, before any work is done.
func CheckOutputs(ctx context.Context, outputs []string) error {
	for _, out := range outputs {
		store, err := storage.For(out)
		if err != nil {
			return err
		}
		_, err = store.Stat(ctx, out)
		if err == nil {
			return fmt.Errorf("the output %s exists: remove it or name another; a job never replaces one: %w", out, fs.ErrExist)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("output %s: %w", out, err)
		}
	}
	return nil
}

// Submit submits a job and returns its number, with the cluster in it. It uploads program and plan
// if the manager lacks them. It makes the job's folders on its storage, and removes them when the
// job is refused.
func (c *Client) Submit(ctx context.Context, s Submission) (plan.Owner, error) {
	spec := shallow(s.Spec)
	spec.Principal = c.principal
	var err error
	if spec.Run, err = scheduledRun(); err != nil {
		return plan.Owner{}, err
	}
	key := ""
	if !isSigned(spec) {
		if key, err = Key(); err != nil {
			return plan.Owner{}, err
		}
	}
	if err := CheckOutputs(ctx, spec.Outputs); err != nil {
		return plan.Owner{}, err
	}
	blobs, err := takeBlobs(spec, s)
	if err != nil {
		return plan.Owner{}, err
	}
	secret := plan.NewSecret()
	prepared, err := c.prepare(ctx, announcement(c.principal, s.Spec, secret), blobs)
	if err != nil {
		return plan.Owner{}, err
	}
	tickets, err := c.tickets(prepared.KerberosRealms, prepared.User)
	if err != nil {
		return plan.Owner{}, err
	}
	// From here on a cancelled context must not stop the submission half-way: the caller kills the
	// job once it has its number.
	ctx = context.WithoutCancel(ctx)
	job := plan.Owner{Cluster: plan.Cluster(prepared.Manager), Job: prepared.Job}
	if prepared.TakesFolders {
		job.Secret = secret
	}
	if spec.Folders, err = makeFolders(ctx, s.Spec, job); err != nil {
		return plan.Owner{}, err
	}
	if err := c.handIn(ctx, &wire.SubmitRequest{Job: job.Job, Spec: spec, Tickets: tickets}, blobs, key); err != nil {
		if errors.Is(err, ErrUnreachable) || ctx.Err() != nil {
			// It may have been taken: its folders are the job's then.
			return plan.Owner{}, fmt.Errorf("it is not known whether job-%d was taken; see \"hamadryad status job-%d\": %w", job.Job, job.Job, err)
		}
		return plan.Owner{}, errors.Join(err, RemoveFolders(ctx, s.Spec, job))
	}
	return job, nil
}

// prepare gets a number for the job, and sends the blobs that the manager lacks. One does not wait
// for the other.
func (c *Client) prepare(ctx context.Context, q *wire.PrepareRequest, blobs []blob) (prepared *wire.PrepareReply, err error) {
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error {
		_, err := c.uploadAll(ctx, blobs)
		return err
	})
	both.Go(func() (err error) {
		prepared, err = unary(ctx, c, c.manager.Prepare, q)
		return err
	})
	return prepared, both.Wait()
}

// announcedBytesMax bounds the announcement of a job's folders before it is submitted. The manager
// would not remember more.
const announcedBytesMax = 4 << 10

// announcement requests a job's number, and lists the folders that are made then.
func announcement(as *wire.Principal, spec *wire.JobSpec, secret string) *wire.PrepareRequest {
	q := &wire.PrepareRequest{Principal: as, Outputs: spec.Outputs, Stores: plan.Stores(spec.Graph), Secret: secret}
	if proto.Size(q) > announcedBytesMax {
		return &wire.PrepareRequest{Principal: as}
	}
	return q
}

// shallow copies a submission, but not the values it points to, which may be large.
func shallow(s *wire.JobSpec) *wire.JobSpec {
	c := &wire.JobSpec{}
	s.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		c.ProtoReflect().Set(f, v)
		return true
	})
	return c
}

// takeBlobs puts the hashes of a submission's blobs into it, and returns the blobs. A large graph
// is taken out of the submission.
func takeBlobs(spec *wire.JobSpec, s Submission) ([]blob, error) {
	program, err := hashFile(s.Program)
	if err != nil {
		return nil, fmt.Errorf("read the program to submit: %w", err)
	}
	spec.Program, spec.Plan = program, hashBytes(s.Plan)
	all := []blob{
		{what: "program", hash: program, open: func() (io.ReadCloser, error) { return os.Open(s.Program) }},
		{what: "plan", hash: spec.Plan, open: opener(s.Plan), size: len(s.Plan)},
	}
	if proto.Size(spec.Graph) <= wire.GraphInlineBytesMax {
		return all, nil
	}
	graph, err := plan.EncodeGraph(spec.Graph)
	if err != nil {
		return nil, err
	}
	spec.Graph, spec.GraphBlob = nil, hashBytes(graph)
	return append(all, blob{what: "graph", hash: spec.GraphBlob, open: opener(graph)}), nil
}

// handIn submits the job. Blobs that were damaged or lost on the manager's disk are sent again.
func (c *Client) handIn(ctx context.Context, q *wire.SubmitRequest, blobs []blob, key string) error {
	for try := 1; ; try++ {
		err := c.submit(ctx, q, key)
		if try == submitTriesMax || !hasCode(err, codes.FailedPrecondition) {
			return err
		}
		sent, sendErr := c.uploadAll(ctx, blobs)
		if sendErr != nil {
			return fmt.Errorf("%w; sending it again: %v", err, sendErr) //nolint:errorlint // the manager refused: that it is unreachable now changes nothing
		}
		if !sent {
			return err
		}
	}
}

// submit makes the call. After a lost answer it first checks whether the job was taken, and then
// submits again.
func (c *Client) submit(ctx context.Context, q *wire.SubmitRequest, key string) error {
	lost := false
	send := func(ctx context.Context) error {
		if lost {
			switch s, err := c.manager.Status(ctx, &wire.StatusRequest{Job: q.Job}); {
			case err != nil || s.GetSummary().GetSubmitted() == 0: // it did not arrive, or was refused
			case s.GetSummary().GetState() == wire.JobState_JOB_STATE_ASKED:
				return status.Error(codes.Unavailable, "the policy has not decided yet whether it admits the job")
			default:
				return nil
			}
		}
		_, err := c.manager.Submit(ctx, &wire.SubmitRequest{Job: q.Job, Spec: signed(q.Spec, key, time.Now()), Tickets: q.Tickets})
		lost = lost || waits(err) == "" && (isUnavailable(err) || status.Code(err) == codes.DeadlineExceeded)
		return err
	}
	err := c.call(ctx, c.options.Call, send)
	for try := 1; try < signTriesMax && key != "" && hasCode(err, codes.PermissionDenied); try++ {
		if err := signLater(ctx); err != nil {
			return err
		}
		err = c.call(ctx, c.options.Call, send)
	}
	if lost && hasCode(err, codes.AlreadyExists) {
		return nil
	}
	return err
}

// makeFolders makes the folders of a job, none of which may exist, and returns what to announce of
// them. If the manager reports no folders, workers make those of channels.
func makeFolders(ctx context.Context, spec *wire.JobSpec, job plan.Owner) (*wire.JobFolders, error) {
	var made []string
	about := &wire.JobFolders{Secret: job.Secret}
	add := func(folder string) error {
		owner, err := plan.MakeFolder(ctx, folder)
		if err == nil {
			made = append(made, folder)
		}
		if owner != "" && !slices.Contains(about.Owners, owner) {
			about.Owners = append(about.Owners, owner)
		}
		return err
	}
	err := makeAll(ctx, spec, job, add)
	if err != nil {
		for _, folder := range made {
			err = errors.Join(err, removeFolder(ctx, folder))
		}
		return nil, err
	}
	if job.Secret == "" || len(made) == 0 {
		return nil, nil
	}
	return about, nil
}

// makeAll adds each folder that the submitter makes.
func makeAll(ctx context.Context, spec *wire.JobSpec, job plan.Owner, add func(folder string) error) error {
	for _, out := range spec.Outputs {
		err := add(job.Temporary(out))
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: the folder that is to hold the output must exist: make it first", err)
		}
		if err != nil {
			return fmt.Errorf("output %s: %w", out, err)
		}
	}
	if job.Secret == "" {
		return nil
	}
	for _, store := range plan.Stores(spec.Graph) {
		err := plan.CheckStore(ctx, store)
		if err == nil {
			err = add(job.Channels(store))
		}
		if err != nil {
			return fmt.Errorf("stored channels in %s: %w", store, err)
		}
	}
	return nil
}

// RemoveFolders removes the folders that a job made on its storage and that do not outlive it. It
// is for a job that was refused, that ended without output, or that the manager has lost. The
// cluster cleans up where it can, but may have had no launcher for it, or may have forgotten the
// job.
func RemoveFolders(ctx context.Context, spec *wire.JobSpec, job plan.Owner) error {
	var errs []error
	for _, folder := range job.Folders(spec) {
		errs = append(errs, removeFolder(ctx, folder))
	}
	return errors.Join(errs...)
}

func removeFolder(ctx context.Context, folder string) error {
	store, err := storage.For(folder)
	if err != nil {
		return err
	}
	return store.Delete(ctx, folder)
}
