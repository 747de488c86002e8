package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Job is a live or ended job. One goroutine uses it, until Close. Its errors have a status of gRPC:
// DataLoss if its file is damaged, or gone; a jobfile.DamageError says which it is.
type Job struct {
	ID scheduler.JobID
	// Status is without attempts. Its owner may change it, but not what it points to.
	Status *wire.JobStatus
	// Damage is why an ended job is not shown as a whole; nil: everything kept and requested is.
	Damage error

	of    *Reader
	lives bool
	file  *jobfile.Reader // of an ended job; nil: not open, or there is none
	lost  bool            // history has no file of it: only the model's data is left
	gone  error           // history should have a file of it, and has none
}

// Find finds a job; nil for an unknown one.
func (j *Reader) Find(ctx context.Context, id scheduler.JobID) (*Job, error) {
	s, known, err := j.JobStatus(ctx, id, false)
	if err != nil {
		return nil, StatusOf(err)
	}
	found := &Job{ID: id, Status: s, of: j}
	if known && s.GetSummary().GetEnded() == 0 {
		found.lives = true
		return found, nil
	}
	if s := j.history.Status(id); s != nil {
		found.Status = s
		return found, nil
	}
	return found.ended(ctx)
}

// ended reads the status of an ended job from its file.
func (j *Job) ended(ctx context.Context) (*Job, error) {
	err := j.open(ctx)
	var s *wire.JobStatus
	if err == nil && j.file != nil {
		s, err = j.fileStatus()
	}
	switch {
	case err == nil && s != nil:
		j.Status = s
		return j, nil
	case status.Code(err) == codes.DataLoss:
		j.Damage = err
	case j.Status == nil && err != nil:
		return nil, err
	}
	if j.Status != nil { // remembered by the model
		return j, nil
	}
	summary, wrong := j.of.history.Summary(j.ID)
	if wrong != nil || summary == nil { // its owner is unknown, so no caller may look at it
		return nil, cmp.Or(StatusOf(wrong), err)
	}
	if err == nil {
		j.gone = StatusOf(j.of.history.GoneError(j.ID))
		j.Damage = j.gone
	}
	j.Status = &wire.JobStatus{Summary: summary}
	return j, nil
}

// fileStatus is the status from the file, with notes about missing data.
func (j *Job) fileStatus() (*wire.JobStatus, error) {
	s, err := j.file.Status()
	if err != nil {
		return nil, j.damaged(err)
	}
	course, err := j.file.Course()
	if err != nil {
		return nil, j.damaged(err)
	}
	if course.Missed > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("(history could not be written: it lacks %d attempts)", course.Missed))
	}
	for _, lack := range course.Lacks {
		s.Notes = append(s.Notes, fmt.Sprintf("(history is not whole: %s)", lack))
	}
	return s, nil
}

// open opens the file of an ended job, once. If history has none nothing is open then.
func (j *Job) open(ctx context.Context) error {
	if j.file != nil || j.lost {
		return j.gone
	}
	r, err := j.of.history.Open(ctx, j.ID)
	notYet := errors.Is(err, history.ErrNotYet)
	if notYet {
		j.Damage = delayed{err}
	}
	if j.lost = notYet || errors.Is(err, history.ErrUnknown); j.lost {
		return nil
	}
	j.file = r
	return j.damaged(err)
}

// damaged reports a damaged file to history.
func (j *Job) damaged(err error) error {
	j.of.history.NoteDamage(err)
	return StatusOf(err)
}

// Close closes the job's open file.
func (j *Job) Close() {
	if j.file != nil {
		_ = j.file.Close() // it was read only
	}
}

// Lives reports whether the job was live when it was found.
func (j *Job) Lives() bool { return j.lives }

// Graph is the job's stages and connections, which the caller must not change; nil if it was not
// kept.
func (j *Job) Graph(ctx context.Context) (*wire.Graph, error) {
	if j.lives {
		g, err := j.of.Graph(ctx, j.ID)
		if g != nil || err != nil {
			return g, StatusOf(err)
		}
	}
	if err := j.open(ctx); err != nil || j.file == nil {
		return nil, err
	}
	g, err := j.file.Graph()
	return g, j.damaged(err)
}

// attemptsTogether is how many attempts of a live job are read in one lock.
const attemptsTogether = 4096

// Each calls take with the kept attempts, in order of id, until take returns false. It returns how
// many attempts are kept, of how many. It may leave out attempts that q does not select. take's
// argument is overwritten after it returns.
func (j *Job) Each(ctx context.Context, q jobfile.Query, take func(*changes.Attempt) bool) (kept, of int, err error) {
	var rows []changes.Attempt
	if j.lives {
		rows = make([]changes.Attempt, 0, attemptsTogether)
	}
	for j.lives {
		if rows, kept, of, j.lives, err = j.of.Attempts(ctx, j.ID, q.After, rows); err != nil {
			return 0, 0, StatusOf(err)
		}
		for i := range rows {
			if q.After = rows[i].ID; !take(&rows[i]) {
				return kept, of, nil
			}
		}
		if j.lives && len(rows) == 0 {
			return kept, of, nil
		}
	}
	if err := j.open(ctx); err != nil {
		return 0, 0, err
	}
	if j.file == nil {
		return j.eachRemembered(ctx, q.After, take)
	}
	n, all := j.file.Kept()
	return int(n), int(all), j.damaged(j.file.Each(q, take))
}

// eachRemembered is Each for a job that only the model remembers. If the model has forgotten it,
// too, the error says why there is no file.
func (j *Job) eachRemembered(ctx context.Context, after scheduler.AttemptID, take func(*changes.Attempt) bool) (kept, of int, err error) {
	s, known, err := j.of.JobStatus(ctx, j.ID, true)
	if err == nil {
		_, _, of, _, err = j.of.Attempts(ctx, j.ID, 0, nil)
	}
	if err != nil {
		return 0, 0, StatusOf(err)
	}
	if !known {
		return 0, 0, j.Damage
	}
	stages := map[string]int32{}
	for i, t := range s.GetStages() {
		stages[t.Name] = int32(i)
	}
	rows := slices.SortedFunc(slices.Values(s.GetAttempts()), func(x, y *wire.AttemptStatus) int { return cmp.Compare(x.Attempt, y.Attempt) })
	for _, r := range rows {
		f := changes.Attempt{
			ID: scheduler.AttemptID(r.Attempt), Job: j.ID, On: r.Launcher, Stage: stages[r.Stage], Index: int32(r.Index), State: changes.Ended, Speculative: r.Speculative,
			Outcome: outcomes[r.State], Started: scheduler.Time(r.Started), Since: scheduler.Time(r.Ended), Suspended: time.Duration(r.SuspendedNs), Reason: r.Reason,
		}
		if f.ID > after && !take(&f) {
			break
		}
	}
	return len(rows), max(len(rows), of), nil
}

// outcomes are the ends of attempts by their words.
var outcomes = func() map[string]scheduler.AttemptOutcome {
	m := map[string]scheduler.AttemptOutcome{}
	for o := scheduler.Finished; o <= scheduler.Killed; o++ {
		m[o.String()] = o
	}
	return m
}()

// Newest are the n attempts of an ended job with the largest ids, in order, and how many there
// were.
func (j *Job) Newest(ctx context.Context, n int) (rows []changes.Attempt, of int, err error) {
	if err := j.open(ctx); err != nil {
		return nil, 0, err
	}
	if j.file == nil {
		_, of, err = j.eachRemembered(ctx, 0, func(a *changes.Attempt) bool { rows = append(rows, *a); return true })
		return rows[max(0, len(rows)-n):], of, err
	}
	rows, err = j.file.Newest(n)
	_, all := j.file.Kept()
	return rows, int(all), j.damaged(err)
}

// StatusWithAttempts describes the job with its attempts: all live ones, and the newest ended ones.
// For an ended job there are at most most of them, and damage of its file is then in Damage.
func (j *Job) StatusWithAttempts(ctx context.Context, most int) (*wire.JobStatus, error) {
	if j.lives {
		now, known, err := j.of.JobStatus(ctx, j.ID, true)
		if err != nil {
			return nil, StatusOf(err)
		}
		if known {
			return now, nil
		}
		return j.Status, nil // it ended after it was found
	}
	rows, of, err := j.Newest(ctx, most)
	if err != nil && status.Code(err) != codes.DataLoss {
		return nil, err
	}
	j.Damage = cmp.Or(j.Damage, err)
	st := j.Status
	for i := range rows {
		st.Attempts = append(st.Attempts, AttemptStatus(st.Stages, &rows[i]))
	}
	if of > len(rows) {
		st.Notes = append(slices.Clip(st.Notes), fmt.Sprintf("(%d of %d attempts are shown)", len(rows), of))
	}
	return st, nil
}

// damaged is the error of a damaged file, with its status.
type damaged struct{ *jobfile.DamageError }

// GRPCStatus implements the interface of package grpc/status.
func (d damaged) GRPCStatus() *status.Status { return status.New(codes.DataLoss, d.Error()) }

// Unwrap returns the error that names the file.
func (d damaged) Unwrap() error { return d.DamageError }

// delayed is the error of a file that is not written yet, with its status.
type delayed struct{ error }

// GRPCStatus implements the interface of package grpc/status.
func (d delayed) GRPCStatus() *status.Status { return status.New(codes.Unavailable, d.Error()) }

// Unwrap returns the cause.
func (d delayed) Unwrap() error { return d.error }

// StatusOf gives an error of history, of the model or of a context its status.
func StatusOf(err error) error {
	var damage *jobfile.DamageError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &damage):
		return damaged{damage}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	}
	return status.Error(codes.Internal, err.Error())
}
