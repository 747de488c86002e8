package report

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// column is a column of the table of jobs.
type column struct {
	name  string
	value func(*Job) string
}

// recorded are the further columns of a run that replays a recording.
var recorded = []column{
	{"recorded_sojourn_s", func(j *Job) string {
		if j.Recorded <= 0 {
			return ""
		}
		return seconds(j.Recorded)
	}},
	{"off_recorded", func(j *Job) string {
		off, known := j.Off()
		if !known {
			return ""
		}
		return number(off)
	}},
}

// columns are the columns of the table of jobs.
var columns = []column{
	{"job_id", func(j *Job) string { return j.ID }},
	{"name", func(j *Job) string { return j.Name }},
	{"class", func(j *Job) string { return j.Class }},
	{"user", func(j *Job) string { return j.User }},
	{"pool", func(j *Job) string { return j.Pool }},
	{"submitted_s", func(j *Job) string { return seconds(j.Submitted) }},
	{"started_s", func(j *Job) string {
		if j.Started < 0 {
			return ""
		}
		return seconds(j.Started)
	}},
	{"ended_s", func(j *Job) string { return seconds(j.Ended) }},
	{"sojourn_s", func(j *Job) string { return seconds(j.Sojourn()) }},
	{"slowdown", func(j *Job) string {
		if j.Slowdown == 0 {
			return ""
		}
		return number(j.Slowdown)
	}},
	{"state", func(j *Job) string { return j.State }},
	{"tasks", func(j *Job) string { return strconv.Itoa(j.Tasks) }},
	{"attempts", func(j *Job) string { return strconv.Itoa(j.Attempts) }},
	{"preempted_attempts", func(j *Job) string { return strconv.Itoa(j.Preempted) }},
	{"killed_attempts", func(j *Job) string { return strconv.Itoa(j.Killed) }},
	{"suspended_attempts", func(j *Job) string { return strconv.Itoa(j.Suspended) }},
	{"lost_attempts", func(j *Job) string { return strconv.Itoa(j.Lost) }},
	{"busy_slot_s", func(j *Job) string { return seconds(j.Busy) }},
	{"wasted_slot_s", func(j *Job) string { return seconds(j.Wasted) }},
	{"finished_node_local_attempts", func(j *Job) string { return strconv.Itoa(j.Near[0]) }},
	{"finished_rack_local_attempts", func(j *Job) string { return strconv.Itoa(j.Near[1]) }},
	{"finished_remote_attempts", func(j *Job) string { return strconv.Itoa(j.Near[2]) }},
}

// CSV writes a row for each job, by RFC 4180 with a header. Times are exact, in seconds from the
// beginning of the workload. Missing values are empty: the start of a job without a started
// attempt, the slowdown of a job without work. Two more columns have the jobs' times in a replayed
// recording.
func (r *Run) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	columns := columns
	if r.Summary.Recorded.Count > 0 {
		columns = slices.Concat(columns, recorded)
	}
	row := make([]string, len(columns))
	for i, c := range columns {
		row[i] = c.name
	}
	if err := out.Write(row); err != nil {
		return err
	}
	for k := range r.Jobs {
		for i, c := range columns {
			row[i] = c.value(&r.Jobs[k])
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// seconds is a time in seconds, to the last nanosecond.
func seconds(d time.Duration) string {
	sign, n := "", uint64(d) //nolint:gosec // the next lines turn what is negative
	if d < 0 {
		sign, n = "-", -n
	}
	s := strconv.FormatUint(n%1e9+1e9, 10)[1:]
	return strings.TrimSuffix(sign+strconv.FormatUint(n/1e9, 10)+"."+strings.TrimRight(s, "0"), ".")
}

// number writes a quotient with the digits that are the same on any machine.
func number(x float64) string { return strconv.FormatFloat(x, 'g', 9, 64) }
