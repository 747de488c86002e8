package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/signature"
)

// unary makes a repeatable call and returns its answer.
func unary[Q, A any](ctx context.Context, c *Client, method func(context.Context, Q) (A, error), q Q) (a A, err error) {
	err = c.call(ctx, c.options.Call, func(ctx context.Context) (err error) {
		a, err = method(ctx, q)
		return err
	})
	return a, err
}

// Jobs lists the jobs that run or wait in order of their numbers. With all, it lists the ended jobs
// before them, in the order of their ends. It makes a call for each 10,000 ended jobs. A job that
// exists throughout is listed once, as the first call found it or as it ended.
func (c *Client) Jobs(ctx context.Context, all bool) ([]*wire.JobSummary, error) {
	a, err := unary(ctx, c, c.manager.Jobs, &wire.JobsRequest{All: all})
	list := a.GetJobs()
	for err == nil && a.GetBefore() > 0 {
		if a, err = unary(ctx, c, c.manager.Jobs, &wire.JobsRequest{All: all, Before: a.Before}); err == nil {
			list = joined(list, a.GetJobs())
		}
	}
	return list, err
}

// joined puts other ended jobs before a list.
func joined(list, others []*wire.JobSummary) []*wire.JobSummary {
	over := make(map[uint64]bool, len(others))
	for _, j := range others {
		over[j.Job] = true
	}
	list = slices.DeleteFunc(list, func(j *wire.JobSummary) bool { return over[j.Job] }) // it ended meanwhile
	live := slices.IndexFunc(list, func(j *wire.JobSummary) bool { return j.Ended == 0 })
	if live < 0 {
		live = len(list)
	}
	ended := slices.Concat(others, list[:live])
	slices.SortStableFunc(ended, wire.ByEnd)
	return append(ended, list[live:]...)
}

// NewestJobs is Jobs in one call; of the ended jobs it has the newest 10,000.
func (c *Client) NewestJobs(ctx context.Context, all bool) ([]*wire.JobSummary, error) {
	a, err := unary(ctx, c, c.manager.Jobs, &wire.JobsRequest{All: all})
	return a.GetJobs(), err
}

// Status describes a job; with attempts, also each of its attempts.
func (c *Client) Status(ctx context.Context, job uint64, attempts bool) (*wire.JobStatus, error) {
	return unary(ctx, c, c.manager.Status, &wire.StatusRequest{Job: job, Attempts: attempts})
}

// Kill ends a job. It returns when the manager has accepted that; Watch reports when nothing of the
// job is left.
func (c *Client) Kill(ctx context.Context, job uint64, reason string) error {
	_, err := unary(ctx, c, c.manager.Kill, &wire.JobRef{Job: job, Principal: c.principal, Reason: reason})
	return err
}

// KillElements ends elements of a job array.
func (c *Client) KillElements(ctx context.Context, job uint64, elements wire.ElementSet, reason string) error {
	_, err := unary(ctx, c, c.manager.Kill, &wire.JobRef{Job: job, Principal: c.principal, Reason: reason, Elements: wire.ElementRanges(elements)})
	return err
}

// Retry makes elements of a job array that failed or were killed run again; without elements, all of
// these.
func (c *Client) Retry(ctx context.Context, job uint64, elements wire.ElementSet) error {
	_, err := unary(ctx, c, c.manager.Retry, &wire.RetryRequest{Job: job, Principal: c.principal, Elements: wire.ElementRanges(elements)})
	return err
}

// Elements lists elements of a job array, a part of them at a time: ElementsRequest.After asks for
// the next.
func (c *Client) Elements(ctx context.Context, q *wire.ElementsRequest) (*wire.ElementsReply, error) {
	return unary(ctx, c, c.manager.Elements, q)
}

// Update changes a job's pool or priority; a nil value stays.
func (c *Client) Update(ctx context.Context, job uint64, pool *string, priority *int32) error {
	_, err := unary(ctx, c, c.manager.Update, &wire.UpdateRequest{Job: job, Principal: c.principal, Pool: pool, Priority: priority})
	return err
}

// Limit changes a job's time limit or deadline; what the change does not name stays.
func (c *Client) Limit(ctx context.Context, job uint64, change *wire.JobLimitsChange) error {
	_, err := unary(ctx, c, c.manager.Update, &wire.UpdateRequest{Job: job, Principal: c.principal, Limits: change})
	return err
}

// Access returns what a user may do; "" is the caller.
func (c *Client) Access(ctx context.Context, user string) (*wire.AccessReply, error) {
	return unary(ctx, c, c.manager.Access, &wire.AccessRequest{User: user})
}

// Launchers lists the launchers. Those named in attemptsOf have their live attempts and their last
// ended attempts.
func (c *Client) Launchers(ctx context.Context, attemptsOf ...string) ([]*wire.LauncherStatus, error) {
	a, err := unary(ctx, c, c.manager.Launchers, &wire.LaunchersRequest{AttemptsOf: attemptsOf})
	return a.GetLaunchers(), err
}

// Drain stops new work on a launcher, or allows it again.
func (c *Client) Drain(ctx context.Context, launcher string, drain bool) error {
	_, err := unary(ctx, c, c.manager.Drain, &wire.DrainRequest{Launcher: launcher, Principal: c.principal, Drain: drain})
	return err
}

// Policy describes the running policy; when brief, without the checksum of its program, for which
// the manager reads the whole program once.
func (c *Client) Policy(ctx context.Context, brief bool) (*wire.PolicyReply, error) {
	return unary(ctx, c, c.manager.Policy, &wire.PolicyQuery{Brief: brief})
}

// PolicyPage requests the policy's own pages, signed with the user's key if there is one, as Key
// says. The answer's status is that of HTTP. A change is made at most once: the error matches
// ErrUnknown when an answer was lost and the outcome is unknown.
func (c *Client) PolicyPage(ctx context.Context, query, accept string, changes bool) (*wire.PageReply, error) {
	key, err := Key()
	if err != nil {
		return nil, err
	}
	var answer *wire.PageReply
	for try := 1; ; try++ {
		lost := false
		q := &wire.PageRequest{Method: "GET", Path: "/", Query: query, Accept: accept}
		err := c.call(ctx, c.options.Call, func(ctx context.Context) error {
			if key != "" && (!lost || !changes) { // a signature counts once, so no change is made twice
				q.Query, q.Authorization = signature.Sign(query, nil, c.principal.GetName(), time.Now(), key, signature.SHA256)
			}
			var err error
			answer, err = c.manager.PolicyPage(ctx, q)
			lost = lost || waits(err) == "" && (isUnavailable(err) || status.Code(err) == codes.DeadlineExceeded)
			return err
		})
		denied := err == nil && key != "" && (answer.GetStatus() == http.StatusUnauthorized || answer.GetStatus() == http.StatusInternalServerError)
		switch {
		case !denied:
			return answer, err
		case lost && changes:
			return nil, fmt.Errorf("%w: look with \"hamadryad queue info\" before you ask again", ErrUnknown)
		case try == signTriesMax:
			return answer, nil
		}
		if err := signLater(ctx); err != nil {
			return nil, err
		}
	}
}

// ErrUnknown is matched by the error of a change that may or may not have been made.
var ErrUnknown = errors.New("the manager's answer was lost, and it is not known whether the change was made")

// ReloadPolicy has the manager restart the policy's program, and returns when the new process has
// taken over.
func (c *Client) ReloadPolicy(ctx context.Context) (*wire.PolicyReply, error) {
	return unary(ctx, c, c.manager.ReloadPolicy, &wire.ReloadRequest{Principal: c.principal})
}

// Settings returns the configuration in force.
func (c *Client) Settings(ctx context.Context) (*wire.SettingsReply, error) {
	return unary(ctx, c, c.manager.Settings, &wire.Empty{})
}

// Logs forwards the logs of a job's attempts, or of one attempt, as the request says. It does not
// retry once a part has come, nor if the manager answers that a launcher is away.
func (c *Client) Logs(ctx context.Context, q *wire.LogsRequest, take func(*wire.LogChunk) error) error {
	began := false
	err := c.call(ctx, 0, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := c.manager.Logs(ctx, q)
		if err != nil {
			return err
		}
		for {
			chunk := &wire.LogChunk{}
			if err := stream.Recv(chunk); err != nil {
				if why := waits(err); why != "" {
					return &Error{Code: codes.Unavailable, Message: why}
				}
				if began && isUnavailable(err) {
					return errors.New("the manager went away in mid-log: ask again")
				}
				return err
			}
			began = true
			if err := take(chunk); err != nil {
				return err
			}
		}
	})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// watchEnd is the last status received.
type watchEnd struct{ last *wire.JobStatus }

// Watch forwards a job's status as it changes, to the end of the job, and returns the last one. It
// continues after a restart of the manager. Take may be nil. A manager that lost its data may give
// the number to another job: that is an error, and Take never gets its status.
func (c *Client) Watch(ctx context.Context, job uint64, take func(*wire.JobStatus)) (*wire.JobStatus, error) {
	end := watchEnd{}
	for {
		before := end.last
		err := c.call(ctx, 0, func(ctx context.Context) error { return c.watchOnce(ctx, job, take, &end) })
		switch {
		case end.last != nil && Ended(end.last.GetSummary().GetState()):
			return end.last, nil
		case errors.Is(err, io.EOF) && end.last != before, errors.Is(err, errCut):
			// The manager closed the stream early, as it does when it shuts down.
		case errors.Is(err, io.EOF):
			// It closed without a message: not more often than retryMax allows.
			select {
			case <-ctx.Done():
				return end.last, ctx.Err()
			case <-time.After(retryMax):
			}
		case err != nil:
			return end.last, err
		}
	}
}

// errCut says that a stream broke after it had brought something.
var errCut = errors.New("stream cut")

func (c *Client) watchOnce(ctx context.Context, job uint64, take func(*wire.JobStatus), end *watchEnd) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.manager.Watch(ctx, &wire.StatusRequest{Job: job})
	if err != nil {
		return err
	}
	for came := false; ; came = true {
		s := &wire.JobStatus{}
		if err := stream.Recv(s); err != nil {
			if came && (isUnavailable(err) || status.Code(err) == codes.Unauthenticated) {
				return errCut // a new wait begins: the manager was up a moment ago, and the file may have a newer token
			}
			return err
		}
		c.heard.Store(true)
		if another(end.last, s) {
			return fmt.Errorf("job-%d is another job now: the manager lost its data, and with it the job that was followed: submit your job again", job)
		}
		end.last = s
		if take != nil {
			take(s)
		}
		if Ended(s.GetSummary().GetState()) {
			return nil
		}
	}
}

// another reports whether two statuses of one number are of two jobs, by their times of submission.
func another(last, now *wire.JobStatus) bool {
	before, after := last.GetSummary().GetSubmitted(), now.GetSummary().GetSubmitted()
	return before != 0 && after != 0 && before != after
}

// applyMax bounds a change of the configuration, or its comparison: the manager gives up before.
const applyMax = 3 * time.Minute

// DiffSettings returns what a text of the configuration's file would change, and its mistakes. The
// policy judges it, too, if no other mistake prevents that. With version, it is about that
// version's text.
func (c *Client) DiffSettings(ctx context.Context, text []byte, version uint64) (*wire.SettingsDiff, error) {
	d, err := unary(ctx, c, c.manager.DiffSettings, &wire.SettingsText{Text: text, Version: version})
	if err != nil || len(d.Problems) > 0 {
		return d, err
	}
	err = c.call(ctx, applyMax, func(ctx context.Context) error {
		checked, err := c.manager.DiffSettings(ctx, &wire.SettingsText{Text: text, Version: version, Check: true})
		d.Problems = checked.GetProblems()
		return err
	})
	return d, err
}

// ApplySettings puts a text, or with version that version's text, into the configuration's file and
// in force. tag is the current file's tag, from Settings. The call may be repeated.
func (c *Client) ApplySettings(ctx context.Context, text []byte, version uint64, tag, comment string) (v *wire.SettingsVersion, err error) {
	err = c.call(ctx, applyMax, func(ctx context.Context) (err error) {
		v, err = c.manager.ApplySettings(ctx, &wire.ApplyRequest{Principal: c.principal, Text: text, Version: version, Tag: tag, Comment: comment})
		return err
	})
	return v, err
}

// SettingsVersions lists the kept texts of the configuration's file, the newest first; with
// version, that version alone with its text.
func (c *Client) SettingsVersions(ctx context.Context, version uint64) ([]*wire.SettingsVersion, error) {
	r, err := unary(ctx, c, c.manager.SettingsVersions, &wire.VersionsRequest{Version: version})
	return r.GetVersions(), err
}

// Audit forwards the lines of the audit that match a query, the newest first, up to a limit; 0:
// all. It makes as many calls as it needs. Take gets each answer's lines, which may be none; more
// says that there are others behind the limit.
func (c *Client) Audit(ctx context.Context, q *wire.AuditRequest, limit int, take func(*wire.AuditReply) error) (more bool, err error) {
	for left := limit; ; {
		q.Limit = uint32(min(max(left, 0), auditPage))
		r, err := unary(ctx, c, c.manager.Audit, q)
		if err != nil {
			return false, err
		}
		if err := take(r); err != nil {
			return false, err
		}
		left -= len(r.Lines)
		q.Cursor = r.Next
		if q.Cursor == "" || limit > 0 && left == 0 {
			return q.Cursor != "", nil
		}
	}
}

// auditPage is the number of lines in one call.
const auditPage = 1000

// Pages returns where the manager's web pages are.
func (c *Client) Pages(ctx context.Context) (*wire.PagesReply, error) {
	return unary(ctx, c, c.manager.Pages, &wire.Empty{})
}
