package report

import (
	"fmt"
	"io"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/report/statistics"
)

// HoldAgainst sets each job's time in the replayed recording. 0 is unknown, and so is the time here
// of a job that did not succeed.
func (r *Run) HoldAgainst(sojourns []time.Duration) {
	var off, recorded []float64
	for i := range r.Jobs {
		j := &r.Jobs[i]
		j.Recorded = sojourns[i]
		if o, known := j.Off(); known {
			off, recorded = append(off, o), append(recorded, j.Recorded.Seconds())
		}
	}
	r.Summary.Off, r.Summary.Recorded = statistics.Describe(off), statistics.Describe(recorded)
}

// Off is the share by which the job's sojourn time differs from the recorded one; false: unknown.
func (j *Job) Off() (float64, bool) {
	if j.Recorded <= 0 || !j.Succeeded() {
		return 0, false
	}
	return (j.Sojourn() - j.Recorded).Abs().Seconds() / j.Recorded.Seconds(), true
}

// measuresOff are the measures of a run that replays a recording.
func (s *Summary) measuresOff() []measured {
	if s.Off.Count == 0 {
		return nil
	}
	return []measured{
		{Measure{"recorded sojourn mean", Seconds, allJobs}, s.Recorded.Mean},
		{Measure{"recorded sojourn median", Seconds, allJobs}, s.Recorded.Median},
		{Measure{"off the recorded sojourn median", Share, allJobs}, s.Off.Median},
		{Measure{"off the recorded sojourn max", Share, allJobs}, s.Off.Max},
	}
}

// RecordedText writes a line for people on a run's difference from the recording.
func (r *Run) RecordedText(w io.Writer) error {
	if r.Summary.Off.Count == 0 {
		_, err := fmt.Fprintf(w, "%s, seed %d: no job can be held against what was recorded\n", printable(r.Policy), r.Seed)
		return err
	}
	worst := &r.Jobs[0]
	for i := range r.Jobs {
		o, _ := r.Jobs[i].Off()
		if most, _ := worst.Off(); o > most {
			worst = &r.Jobs[i]
		}
	}
	_, err := fmt.Fprintf(w, "%s, seed %d: of %d jobs the sojourn is off the recorded one by %.1f %% in the median and %.1f %% at most (%s: %.3f s, recorded %.3f s)\n",
		printable(r.Policy), r.Seed, r.Summary.Off.Count, 100*r.Summary.Off.Median, 100*r.Summary.Off.Max, printable(worst.ID), worst.Sojourn().Seconds(), worst.Recorded.Seconds())
	return err
}
