package metrics

import "time"

// Schedules is the state of schedules, and what became of their due times since the manager began.
type Schedules struct {
	InForce, Paused         int
	Waiting, Running        int           // runs
	Late                    time.Duration // of the waiting run that was due first; 0: none waits
	Due, Skipped, Missed    uint64        // due times; without a run as an earlier one went on; without a run as nobody was there
	Starts                  uint64        // of commands
	Succeeded, Failed, Lost uint64        // runs that ended so
	Untaken                 uint64        // runs that no runner took in time
}

var (
	schedulesDesc    = describe("schedules", "Schedules, by state: in force or paused.", "state")
	scheduleRuns     = describe("schedule_runs", "Runs of schedules that have not ended, by state: waiting for a runner, or running.", "state")
	scheduleLate     = describe("schedule_late_seconds", "For how long the run that was due first has waited for a runner; 0: none waits.")
	scheduleDue      = describe("schedule_due_total", "Due times of schedules that were decided, since this manager began.")
	scheduleWithout  = describe("schedule_due_without_run_total", "Due times that got no run, by reason: skipped, as an earlier run had not ended, or missed, as no manager ran; since this manager began.", "reason")
	scheduleStarts   = describe("schedule_starts_total", "Starts of commands of schedules' runs, since this manager began. A run whose runner is lost is started again.")
	scheduleRunsOver = describe("schedule_runs_ended_total", "Runs that ended, by outcome: succeeded, failed, missed (no runner took it in time) or lost (its runner was lost after a job); since this manager began.", "outcome")
)

// schedules collects the metrics of schedules.
func (e Edges) schedules(to metric) {
	s := e.Schedules()
	to.gauge(schedulesDesc, float64(s.InForce), "in force")
	to.gauge(schedulesDesc, float64(s.Paused), "paused")
	to.gauge(scheduleRuns, float64(s.Waiting), "waiting")
	to.gauge(scheduleRuns, float64(s.Running), "running")
	to.gauge(scheduleLate, s.Late.Seconds())
	to.count(scheduleDue, s.Due)
	to.count(scheduleWithout, s.Skipped, "skipped")
	to.count(scheduleWithout, s.Missed, "missed")
	to.count(scheduleStarts, s.Starts)
	to.count(scheduleRunsOver, s.Succeeded, "succeeded")
	to.count(scheduleRunsOver, s.Failed, "failed")
	to.count(scheduleRunsOver, s.Untaken, "missed")
	to.count(scheduleRunsOver, s.Lost, "lost")
}
