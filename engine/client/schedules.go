package client

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// RunVariable is the environment variable that names the run of a schedule of which a program is
// part. Jobs that the program submits count as those of the run.
const RunVariable = "HAMADRYAD_SCHEDULED_RUN"

// scheduledRun is the run that the environment names; nil: none.
func scheduledRun() (*wire.RunKey, error) {
	text := os.Getenv(RunVariable)
	if text == "" {
		return nil, nil
	}
	key, err := wire.ParseRunKey(text)
	if err != nil {
		return nil, Misuse("$%s: %w: unset it", RunVariable, err)
	}
	return key, nil
}

// AddSchedule adds a schedule of the caller.
func (c *Client) AddSchedule(ctx context.Context, name string, d *wire.ScheduleDefinition, replace bool) error {
	_, err := unary(ctx, c, c.manager.AddSchedule, &wire.AddScheduleRequest{Principal: c.principal, Name: name, Definition: d, Replace: replace})
	return err
}

// Schedules lists the caller's schedules, or those of all users, each with so many next due times.
// With a name it lists those of that name alone.
func (c *Client) Schedules(ctx context.Context, name string, allUsers bool, next int) (*wire.SchedulesReply, error) {
	return unary(ctx, c, c.manager.Schedules, &wire.SchedulesRequest{Principal: c.principal, Name: name, AllUsers: allUsers, Next: uint32(max(next, 0))})
}

// ChangeSchedule pauses, resumes or removes a schedule, or has it run now. "" is the caller's own.
func (c *Client) ChangeSchedule(ctx context.Context, user, name string, act wire.ScheduleAct) error {
	_, err := unary(ctx, c, c.manager.ChangeSchedule, &wire.ChangeScheduleRequest{Principal: c.principal, User: user, Name: name, Act: act})
	return err
}

// TakeRun asks for a due run of the caller's schedules, and waits for one for a while. The answer
// has no key when there is none. A runner that holds runs calls it at least once a minute.
func (c *Client) TakeRun(ctx context.Context, runner string, held []*wire.RunKey, full bool) (*wire.TakeRunReply, error) {
	q := &wire.TakeRunRequest{Principal: c.principal, Runner: runner, Held: held, Full: full}
	var r *wire.TakeRunReply
	err := c.call(ctx, 0, func(ctx context.Context) (err error) { // the manager waits, too: that is no silence
		ctx, cancel := context.WithTimeout(ctx, takeRunMax)
		defer cancel()
		r, err = c.manager.TakeRun(ctx, q)
		return err
	})
	return r, err
}

// takeRunMax bounds one try of TakeRun. The manager answers within 15 seconds.
const takeRunMax = time.Minute

// EndRun tells how the command of a run ended; with "" it succeeded.
func (c *Client) EndRun(ctx context.Context, key *wire.RunKey, failure string) error {
	_, err := unary(ctx, c, c.manager.EndRun, &wire.EndRunRequest{Principal: c.principal, Key: key, Succeeded: failure == "", Reason: failure})
	return err
}

// RunEnvironment is the variable that names a run to its command.
func RunEnvironment(key *wire.RunKey) string {
	return fmt.Sprintf("%s=%s", RunVariable, wire.RunKeyText(key))
}
