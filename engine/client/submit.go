package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

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

// CheckOutputs refuses output folders that exist, before any work is done.
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

// Submit hands a job in and returns its number. It uploads program and plan
// where the manager has them not, and makes the temporary folders of the outputs,
// which it removes again when the job is refused.
func (c *Client) Submit(ctx context.Context, s Submission) (uint64, error) {
	spec := shallow(s.Spec)
	spec.Principal = c.principal
	if err := CheckOutputs(ctx, spec.Outputs); err != nil {
		return 0, err
	}
	program, err := hashFile(s.Program)
	if err != nil {
		return 0, fmt.Errorf("read the program to submit: %w", err)
	}
	spec.Program, spec.Plan = program, hashBytes(s.Plan)
	if err := c.upload(ctx, program, func() (io.ReadCloser, error) { return os.Open(s.Program) }); err != nil {
		return 0, fmt.Errorf("send the program: %w", err)
	}
	if err := c.upload(ctx, spec.Plan, opener(s.Plan)); err != nil {
		return 0, fmt.Errorf("send the plan: %w", err)
	}
	if err := c.sendGraph(ctx, spec); err != nil {
		return 0, fmt.Errorf("send the graph: %w", err)
	}
	prepared, err := unary(ctx, c, c.manager.Prepare, &wire.PrepareRequest{Principal: c.principal})
	if err != nil {
		return 0, err
	}
	// From here on a cancelled context is no reason to stop half-way: the caller
	// kills the job once it has its number.
	ctx = context.WithoutCancel(ctx)
	job := prepared.Job
	if err := makeFolders(ctx, spec.Outputs, job); err != nil {
		return 0, err
	}
	if err := c.submit(ctx, job, spec); err != nil {
		if errors.Is(err, ErrUnreachable) || ctx.Err() != nil {
			// It may have been taken: its folders are the job's then.
			return 0, fmt.Errorf("it is not known whether job-%d was taken; see \"hamadryad status job-%d\": %w", job, job, err)
		}
		return 0, errors.Join(err, RemoveTemporary(context.WithoutCancel(ctx), spec.Outputs, job))
	}
	return job, nil
}

// shallow copies a submission, but not what it points to, which may be large.
func shallow(s *wire.JobSpec) *wire.JobSpec {
	c := &wire.JobSpec{}
	s.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		c.ProtoReflect().Set(f, v)
		return true
	})
	return c
}

// sendGraph sends a large graph as a blob and names it in the submission.
func (c *Client) sendGraph(ctx context.Context, spec *wire.JobSpec) error {
	if proto.Size(spec.Graph) <= wire.GraphInlineBytesMax {
		return nil
	}
	blob, err := plan.EncodeGraph(spec.Graph)
	if err != nil {
		return err
	}
	spec.Graph, spec.GraphBlob = nil, hashBytes(blob)
	return c.upload(ctx, spec.GraphBlob, opener(blob))
}

// submit makes the call. Where an answer was lost it asks whether the job was
// taken before it submits again.
func (c *Client) submit(ctx context.Context, job uint64, spec *wire.JobSpec) error {
	lost := false
	err := c.call(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, c.options.Call)
		defer cancel()
		if lost {
			s, err := c.manager.Status(ctx, &wire.StatusRequest{Job: job})
			if err == nil && s.GetSummary().GetSubmitted() != 0 {
				return nil
			}
		}
		_, err := c.manager.Submit(ctx, &wire.SubmitRequest{Job: job, Spec: spec})
		lost = lost || isUnavailable(err) || status.Code(err) == codes.DeadlineExceeded
		return err
	})
	if lost && hasCode(err, codes.AlreadyExists) {
		return nil
	}
	return err
}

func makeFolders(ctx context.Context, outputs []string, job uint64) error {
	for i, out := range outputs {
		folder := plan.Temporary(out, job)
		store, err := storage.For(out)
		if err == nil {
			err = store.Mkdir(ctx, folder)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: the folder that is to hold the output must exist: make it first", err)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("output %s: %w", out, err), RemoveTemporary(context.WithoutCancel(ctx), outputs[:i], job))
		}
	}
	return nil
}

// RemoveTemporary removes a job's temporary output folders, which it made. It is
// for a job that was refused, or that ended without output: the cluster cleans
// up itself where it can, but may have had no launcher to do it.
func RemoveTemporary(ctx context.Context, outputs []string, job uint64) error {
	var errs []error
	for _, out := range outputs {
		store, err := storage.For(out)
		if err == nil {
			err = store.Delete(ctx, plan.Temporary(out, job))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
