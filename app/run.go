package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/plan/declared"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/split"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Client runs the program's jobs. It is safe for concurrent use.
type Client struct {
	manager *client.Client
	defs    []job.Definition
	options *options
	flags   *declared.Flags // the program's own
	args    []string
	show    io.Writer
	// unkilled counts the jobs whose kill a signal handler waits for; nil: no handler waits.
	unkilled *inHand
}

// Args are the command line's arguments after the flags.
func (c *Client) Args() []string { return c.args }

// Counter is a job's counter.
type Counter struct {
	Name  string
	Value int64
}

// Result is how a job ended.
type Result struct {
	Job      scheduler.JobID
	Name     string // --name, or the definition's
	State    string // succeeded, failed or killed
	Counters []Counter
	Outputs  []string // the published folders
	// Local counts the finished attempts that read stored files, by the locality of most of their
	// input: indexed by scheduler.Locality.
	Local   [scheduler.LocalityLevels]int
	Elapsed time.Duration
}

// Counter returns the value of a counter, 0 if no node counted.
func (r *Result) Counter(name string) int64 {
	for _, c := range r.Counters {
		if c.Name == name {
			return c.Value
		}
	}
	return 0
}

// JobError is the error of a job that ended without success.
type JobError struct {
	Result  *Result
	Failure *Failure // nil for a job that was killed before any attempt failed
}

// Failure is what made a job fail, as its last attempt reported it. Unknown fields are "" or 0.
type Failure struct {
	Message string // the error, or the value of the panic
	Stage   string
	Index   int    // of the node in its stage
	Record  string // origin of the current record: path:offset, or channel and number
	Stack   string // of a panic

	text string // all fields as one text for a person
}

// failureOf converts the manager's message; nil gives nil.
func failureOf(f *wire.Failure) *Failure {
	if f == nil {
		return nil
	}
	return &Failure{Message: f.Message, Stage: f.Stage, Index: int(f.Index), Record: f.Record, Stack: f.Stack, text: f.Text()}
}

// Error names job, stage, node and record, and the commands that show more.
func (e *JobError) Error() string {
	text := fmt.Sprintf("%s (%s) %s", e.Result.Job, e.Result.Name, e.Result.State)
	if e.Failure != nil && e.Failure.text != "" {
		text += ": " + e.Failure.text
	}
	return text + fmt.Sprintf("\n  more: hamadryad status %s; hamadryad logs %[1]s", e.Result.Job)
}

// Run submits one of the program's jobs with arguments, waits for its end and shows its progress.
// When the context ends, it kills the job and waits until nothing of it is left. If the job fails,
// the error is a *JobError and the result is returned too.
func (c *Client) Run(ctx context.Context, name string, args []string) (*Result, error) {
	began := time.Now()
	c.manager.Connect() // while the graph is built
	submission, err := c.submission(ctx, name, args)
	if err != nil {
		return nil, wrongUse(err)
	}
	killed := c.unkilled.begin() // counted before Submit: a signal during Submit must kill the job
	defer killed()
	owner, err := c.manager.Submit(ctx, submission)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", name, err)
	}
	id := scheduler.JobID(owner.Job)
	d := c.display(id, submission.Spec.Name)
	status, err := c.follow(ctx, owner, submission.Spec, d, killed)
	d.Close()
	if err != nil {
		return nil, fmt.Errorf("%s (%s): %w", id, submission.Spec.Name, err)
	}
	r := result(status, submission.Spec, time.Since(began))
	if r.State == "succeeded" && !c.options.quiet {
		progress.Succeeded(c.show, status, r.Elapsed)
	}
	return r, outcome(ctx, r, status)
}

// submission builds the graph and everything that is submitted with it.
func (c *Client) submission(ctx context.Context, name string, args []string) (client.Submission, error) {
	i := slices.IndexFunc(c.defs, func(d job.Definition) bool { return d.Name == name })
	if i < 0 {
		return client.Submission{}, fmt.Errorf("this program has no job %q", name)
	}
	g, err := job.Build(c.defs[i], args, job.WithElements(split.Planner(ctx, c.tell), c.options.elements.Elements))
	if err != nil {
		return client.Submission{}, err
	}
	if err := client.CheckOutputs(ctx, g.Outputs()); err != nil {
		return client.Submission{}, fmt.Errorf("job %s: %w", name, err)
	}
	graph, err := plan.Graph(g)
	if err != nil {
		return client.Submission{}, fmt.Errorf("job %s: %w", name, err)
	}
	channels, err := c.options.channelFolder(ctx)
	if err != nil {
		return client.Submission{}, fmt.Errorf("job %s: %w", name, err)
	}
	plan.KeepChannels(graph, channels)
	properties, err := c.options.properties.merge(g.Properties())
	if err != nil {
		return client.Submission{}, err
	}
	memory, err := c.options.stageMemory(properties, graph)
	if err != nil {
		return client.Submission{}, fmt.Errorf("job %s: %w", name, err)
	}
	files, err := commandFiles(g)
	if err != nil {
		return client.Submission{}, fmt.Errorf("job %s: %w", name, err)
	}
	flags, err := c.flags.Settings()
	if err != nil {
		return client.Submission{}, fmt.Errorf("job %s: %w", name, err)
	}
	environment, err := c.options.env.environment(c.defs[i])
	if err != nil {
		return client.Submission{}, fmt.Errorf("job %s: %w", name, err)
	}
	blob, err := plan.Encode(&plan.Submission{
		Name: name, Args: args, Inputs: g.Planned(), Folders: g.Outputs(), Files: files, Channels: channels, Memory: memory, Elements: c.options.elements.String(),
		Flags: flags, Arguments: c.args, Environment: environment, Shape: plan.Shape(graph, g),
	})
	if err != nil {
		return client.Submission{}, fmt.Errorf("job %s: %w", name, err)
	}
	if err := plan.GiveResources(graph, plan.Resources(c.options.resources)); err != nil {
		return client.Submission{}, fmt.Errorf("job %s: %w", name, err)
	}
	if err := plan.GiveExpected(graph, plan.Expected(c.options.expected)); err != nil {
		return client.Submission{}, fmt.Errorf("job %s: %w", name, err)
	}
	if err := plan.GiveAttempts(graph, plan.Attempts(c.options.attempts)); err != nil {
		return client.Submission{}, fmt.Errorf("job %s: %w", name, err)
	}
	if err := plan.GiveKinds(graph, plan.Kinds(c.options.slots)); err != nil {
		return client.Submission{}, fmt.Errorf("job %s: %w", name, err)
	}
	program, err := os.Executable()
	if err != nil {
		return client.Submission{}, fmt.Errorf("find this program's own file: %w", err)
	}
	return client.Submission{Plan: blob, Program: program, Spec: &wire.JobSpec{
		Name: cmp.Or(c.options.name, name), Pool: c.options.pool, Priority: int32(c.options.priority), Properties: properties,
		Graph: graph, Fingerprint: plan.Fingerprint(graph), Outputs: g.Outputs(),
		Limits: c.options.limits.message(), After: c.options.after, NoSpeculation: c.options.noSpeculation, AttemptsMax: c.options.attempts[""],
	}}, nil
}

// tell prints a line for people, unless --quiet is set.
func (c *Client) tell(text string) {
	if !c.options.quiet {
		fmt.Fprintln(c.show, text)
	}
}

// display shows the job's progress, unless --quiet is set.
func (c *Client) display(id scheduler.JobID, name string) progress.Display {
	if c.options.quiet {
		return progress.Silent{}
	}
	return progress.New(c.show, fmt.Sprintf("%s %s", id, name))
}

// follow watches a job to its end. When the context ends, it kills the job, and calls answered
// after the manager has answered the kill.
func (c *Client) follow(ctx context.Context, job plan.Owner, spec *wire.JobSpec, d progress.Display, answered func()) (*wire.JobStatus, error) {
	lasting := context.WithoutCancel(ctx)
	watched := make(chan struct{})
	killed := make(chan error, 1)
	go func() {
		select {
		case <-ctx.Done():
			d.Note("killing the job; ctrl-C once more ends this program without waiting for that")
			err := c.manager.Kill(lasting, job.Job, fmt.Sprint(context.Cause(ctx)))
			answered()
			killed <- err
		case <-watched:
			killed <- nil
		}
	}()
	status, err := c.manager.Watch(lasting, job.Job, d.Update)
	close(watched)
	// The manager refuses a kill after the job's end; that is no error.
	if killErr := <-killed; killErr != nil && err != nil {
		err = errors.Join(err, killErr)
	}
	// Finished files that could not be published stay: the failure says where.
	if err == nil && status.Summary.State != wire.JobState_JOB_STATE_SUCCEEDED && len(status.Kept) == 0 {
		if err := client.RemoveFolders(lasting, spec, job); err != nil {
			d.Note(fmt.Sprintf("can't remove what the job left: %v", err))
		}
	}
	return status, err
}

func result(s *wire.JobStatus, spec *wire.JobSpec, elapsed time.Duration) *Result {
	r := &Result{Job: scheduler.JobID(s.GetSummary().GetJob()), Name: spec.Name, State: client.StateName(s.GetSummary().GetState()), Elapsed: elapsed}
	for _, x := range s.Counters {
		r.Counters = append(r.Counters, Counter{x.Name, x.Value})
	}
	for level, n := range s.LocalAttempts {
		r.Local[level] = int(n)
	}
	if s.Summary.State == wire.JobState_JOB_STATE_SUCCEEDED {
		r.Outputs = spec.Outputs
	}
	return r
}

func outcome(ctx context.Context, r *Result, s *wire.JobStatus) error {
	if s.Summary.State == wire.JobState_JOB_STATE_SUCCEEDED {
		return nil
	}
	err := error(&JobError{Result: r, Failure: failureOf(s.Failure)})
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}
