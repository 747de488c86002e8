package mapreduce

import (
	"context"
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// newTask makes the task that the job's functions get. letter is m or r, as in the names of output
// files.
func (j *Bytes) newTask(ctx context.Context, n *job.Node, out job.Folder, letter byte) *Task {
	return &Task{ctx: ctx, n: n, job: j, out: out, letter: letter}
}

// begin runs before a task's work.
func (t *Task) begin() error {
	if t.job.Setup == nil {
		return nil
	}
	if err := t.job.Setup(t); err != nil {
		return fmt.Errorf("the job's Setup: %w", err)
	}
	return nil
}

// finish runs after a task's work has succeeded.
func (t *Task) finish() error {
	if t.job.TearDown != nil {
		if err := t.job.TearDown(t); err != nil {
			return fmt.Errorf("the job's TearDown: %w", err)
		}
	}
	if err := t.closeSkipped(); err != nil {
		return err
	}
	return t.closeNamed()
}
