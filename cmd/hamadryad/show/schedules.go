package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// scheduleValue is a schedule for programs.
type scheduleValue struct {
	Name          string     `json:"name"`
	User          string     `json:"user"`
	Cron          string     `json:"cron"`
	Zone          string     `json:"zone"`
	IfRunning     string     `json:"ifRunning"`
	StartDeadline string     `json:"startDeadline"`
	Command       []string   `json:"command"`
	Folder        string     `json:"folder"`
	Paused        bool       `json:"paused"`
	Next          []string   `json:"next"`
	Skipped       uint64     `json:"skipped"`
	Missed        uint64     `json:"missed"`
	Runs          []runValue `json:"runs"`
}

// runValue is a run of a schedule for programs.
type runValue struct {
	Run     uint64   `json:"run"`
	Due     string   `json:"due"`
	State   string   `json:"state"`
	Started string   `json:"started,omitempty"`
	Ended   string   `json:"ended,omitempty"`
	Tries   uint32   `json:"tries"`
	Jobs    []string `json:"jobs"`
	Reason  string   `json:"reason,omitempty"`
	ByHand  bool     `json:"byHand,omitempty"`
}

func scheduleOf(s *wire.Schedule) scheduleValue {
	d := s.GetDefinition()
	v := scheduleValue{
		Name: s.Name, User: s.User, Cron: d.GetCron(), Zone: d.GetZone(), IfRunning: ifRunning(d), StartDeadline: time.Duration(d.GetStartDeadlineNs()).String(),
		Command: d.GetCommand(), Folder: d.GetFolder(), Paused: s.Paused, Next: nextTimes(s), Skipped: s.Skipped, Missed: s.Missed, Runs: []runValue{},
	}
	for _, r := range s.Runs {
		v.Runs = append(v.Runs, runValue{
			Run: r.Number, Due: instant(r.Due), State: wire.RunStateName(r.State), Started: strings.TrimPrefix(instant(r.Started), "-"), Ended: strings.TrimPrefix(instant(r.Ended), "-"),
			Tries: r.Try, Jobs: jobsOfRun(r), Reason: r.Reason, ByHand: r.ByHand,
		})
	}
	return v
}

func ifRunning(d *wire.ScheduleDefinition) string {
	if i := int(d.GetIfRunning()); i >= 0 && i < len(wire.IfRunningNames) {
		return wire.IfRunningNames[i]
	}
	return "unknown"
}

// nextTimes are the next due times in the schedule's zone.
func nextTimes(s *wire.Schedule) []string {
	zone, err := time.LoadLocation(s.GetDefinition().GetZone())
	if err != nil {
		zone = time.UTC
	}
	list := []string{}
	for _, at := range s.Next {
		list = append(list, time.Unix(0, at).In(zone).Format(time.RFC3339))
	}
	return list
}

func jobsOfRun(r *wire.Run) []string {
	list := []string{}
	for _, id := range r.Jobs {
		list = append(list, scheduler.JobID(id).String())
	}
	return list
}

// Schedules lists schedules.
func (c *Printer) Schedules(list []*wire.Schedule) error {
	if c.structured() {
		return c.value(eachOf(list, scheduleOf))
	}
	if len(list) == 0 {
		return c.none("there are no schedules")
	}
	t := c.table("SCHEDULE", "USER", "TIMES", "ZONE", "NEXT", "RUNS", "LAST", "STATE", "JOB", wide+"COMMAND")
	for _, s := range list {
		next, last, state, job := "-", "-", "-", "-"
		if times := nextTimes(s); len(times) > 0 {
			next = times[0]
		}
		if s.Paused {
			next = "paused"
		}
		if n := len(s.Runs); n > 0 {
			r := s.Runs[n-1]
			last, state = instant(r.Due), wire.RunStateName(r.State)
			if jobs := jobsOfRun(r); len(jobs) > 0 {
				job = jobs[len(jobs)-1]
			}
		}
		t.row(s.Name, orDash(s.User), s.GetDefinition().GetCron(), s.GetDefinition().GetZone(), next, count(s.RunsMade), last, state, job, strings.Join(s.GetDefinition().GetCommand(), " "))
	}
	return t.end()
}

// Schedule prints one schedule, its next due times and its last runs.
func (c *Printer) Schedule(s *wire.Schedule) error {
	if c.structured() {
		return c.value(scheduleOf(s))
	}
	d := s.GetDefinition()
	state := "in force"
	if s.Paused {
		state = "paused"
	}
	fmt.Fprintf(c.Out, "%s: %s, of user %s\n", progress.OneLine(s.Name), state, orDash(progress.OneLine(s.User)))
	fmt.Fprintf(c.Out, "times: %s in %s\n", progress.OneLine(d.GetCron()), progress.OneLine(d.GetZone()))
	fmt.Fprintf(c.Out, "command: %s, in %s\n", progress.OneLine(strings.Join(d.GetCommand(), " ")), progress.OneLine(d.GetFolder()))
	fmt.Fprintf(c.Out, "if an earlier run has not ended: %s\nstart deadline: %v\n", ifRunning(d), time.Duration(d.GetStartDeadlineNs()))
	fmt.Fprintf(c.Out, "due times without a run: %d skipped, %d missed\n", s.Skipped, s.Missed)
	for _, at := range nextTimes(s) {
		fmt.Fprintf(c.Out, "next: %s\n", at)
	}
	if len(s.Runs) == 0 {
		return nil
	}
	fmt.Fprintln(c.Out)
	t := c.table("RUN", "DUE", "STATE", "STARTED", "ENDED", "TRIES", "JOBS", "REASON")
	for _, r := range s.Runs {
		t.row(count(r.Number), instant(r.Due), wire.RunStateName(r.State), instant(r.Started), instant(r.Ended), count(r.Try), orDash(strings.Join(jobsOfRun(r), " ")), orDash(r.Reason))
	}
	return t.end()
}

// ScheduleAdded prints when a new schedule is due first.
func (c *Printer) ScheduleAdded(s *wire.Schedule) {
	for _, at := range nextTimes(s) {
		fmt.Fprintf(c.Out, "%s runs first at %s\n", progress.OneLine(s.Name), at)
	}
}
