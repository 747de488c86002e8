package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// readRumen reads histories of jobs, one object after the other, as Rumen's TraceBuilder writes
// them and Mumak, Gridmix and the SLS read them.
//
// A task's work is the time of its successful attempt. A task without one takes the time of another
// task of its stage, in turn. Where none succeeded at all, it takes the time of its own longest
// attempt. All these are imputed. So are tasks that a job's totals count beyond its lists, unless
// no task of the stage ever ran: then they are left out. Tasks that set a job up and clean after it
// are left out: the laboratory has its own. Jobs that failed or were killed take part as if they
// had succeeded.
func readRumen(in *bufio.Reader, c *collector) error {
	c.absolute = true
	t := newTokens(in, 1)
	for {
		j := rumenJob{collector: c, t: t, submit: -1, maps: rumenStage{total: -1}, reduces: rumenStage{total: -1}}
		line := 0
		err := t.object(func(key string) error {
			if line == 0 {
				line = t.line()
			}
			return j.field(key)
		})
		c.last = t.line()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return c.at(c.last, err)
		}
		job, err := j.job()
		if err != nil {
			return c.at(max(line, 1), err)
		}
		if err := c.add(max(line, 1), job); err != nil {
			return err
		}
		c.workload.Imputed += j.imputed
	}
}

// rumenJob is a job in the course of reading.
type rumenJob struct {
	*collector
	t                               *tokens
	id, name, user, queue, priority string
	submit, mapMB, reduceMB         int64
	maps, reduces                   rumenStage
	imputed                         int
}

// rumenStage are the tasks of a kind. work is the time of each task's successful attempt, or -1;
// tried is the time of its longest attempt, or -1.
type rumenStage struct {
	total       int64
	tasks       []Task
	work, tried []time.Duration
}

// rumenNoted are fields that do not describe work.
var rumenNoted = map[string]bool{
	"computonsPerMapInputByte": true, "computonsPerMapOutputByte": true, "computonsPerReduceInputByte": true, "computonsPerReduceOutputByte": true,
	"launchTime": true, "finishTime": true, "heapMegabytes": true, "outcome": true, "jobtype": true, "directDependantJobs": true, "otherTasks": true,
	"successfulMapAttemptCDFs": true, "failedMapAttemptCDFs": true, "successfulReduceAttemptCDF": true, "failedReduceAttemptCDF": true,
	"mapperTriesToSucceed": true, "failedMapperFraction": true, "relativeTime": true, "clusterMapMB": true, "clusterReduceMB": true, "jobProperties": true,
}

func (j *rumenJob) field(key string) error {
	t := j.t
	switch key {
	case "jobID":
		return t.text(&j.id)
	case "jobName":
		return t.text(&j.name)
	case "user":
		return t.text(&j.user)
	case "queue":
		return t.text(&j.queue)
	case "priority":
		return t.text(&j.priority)
	case "submitTime":
		return t.whole(&j.submit)
	case "totalMaps":
		return t.whole(&j.maps.total)
	case "totalReduces":
		return t.whole(&j.reduces.total)
	case "jobMapMB":
		return t.whole(&j.mapMB)
	case "jobReduceMB":
		return t.whole(&j.reduceMB)
	case "mapTasks":
		return j.tasks(&j.maps, false)
	case "reduceTasks":
		return j.tasks(&j.reduces, true)
	}
	if rumenNoted[key] {
		return t.skip()
	}
	return errUnknown
}

func (j *rumenJob) tasks(s *rumenStage, reduce bool) error {
	return j.t.list(func() error {
		if err := j.room(int64(len(j.maps.tasks) + len(j.reduces.tasks) + 1)); err != nil {
			return err
		}
		return j.task(s, reduce)
	})
}

// task reads a task of a stage.
func (j *rumenJob) task(s *rumenStage, reduce bool) error {
	t, task, id := j.t, Task{}, ""
	work, tried := time.Duration(-1), time.Duration(-1)
	in, out := int64(0), int64(0)
	err := t.object(func(key string) error {
		switch key {
		case "taskID":
			return t.text(&id)
		case "inputBytes":
			return t.whole(&in)
		case "outputBytes":
			return t.whole(&out)
		case "preferredLocations":
			return j.places(&task)
		case "attempts":
			return t.list(func() error {
				a, err := j.attempt()
				if err != nil {
					return err
				}
				ran, err := a.ran(reduce && !j.options.WholeReduces)
				switch {
				case err != nil:
					return err
				case a.succeeded():
					work = ran
					task.Input, task.Shuffle, task.Output = a.bytes(reduce)
				default:
					tried = max(tried, ran)
				}
				return nil
			})
		case "startTime", "finishTime", "numberMaps", "numberReduces", "inputRecords", "outputRecords", "taskStatus", "taskType", "failedDueToAttempt":
			return t.skip()
		}
		return errUnknown
	})
	if err != nil {
		return err
	}
	if !reduce && task.Input == 0 {
		task.Input = max(in, 0)
	}
	if task.Output == 0 {
		task.Output = max(out, 0)
	}
	s.tasks, s.work, s.tried = append(s.tasks, task), append(s.work, work), append(s.tried, tried)
	return nil
}

// places reads the hosts of a task's input, with their racks.
func (j *rumenJob) places(to *Task) error {
	return j.t.list(func() error {
		var layers []string
		err := j.t.object(func(key string) error {
			if key != "layers" {
				return errUnknown
			}
			return j.t.list(func() error {
				if len(layers) == 2 {
					return errors.New("a place is a rack and a host")
				}
				layers = append(layers, "")
				return j.t.text(&layers[len(layers)-1])
			})
		})
		if err != nil {
			return err
		}
		if len(to.Places) == PlacesMax {
			return fmt.Errorf("there are more than %d of them", PlacesMax)
		}
		switch len(layers) {
		case 1:
			to.Places = append(to.Places, Place{Host: unescape(layers[0])})
		case 2:
			to.Places = append(to.Places, Place{Host: unescape(layers[1]), Rack: unescape(layers[0])})
		default:
			return errors.New("a place names no host")
		}
		return nil
	})
}

// unescape removes the backslashes before dots of older traces.
func unescape(name string) string { return strings.ReplaceAll(name, `\.`, ".") }

// rumenAttempt is the used part of an attempt; -1 is unknown.
type rumenAttempt struct {
	result                                     string
	start, finish, shuffled                    int64
	read, written, mapOut, shuffleIn, mapInput int64
}

func (j *rumenJob) attempt() (rumenAttempt, error) {
	a, t := rumenAttempt{start: -1, finish: -1, shuffled: -1}, j.t
	numbers := map[string]*int64{
		"startTime": &a.start, "finishTime": &a.finish, "shuffleFinished": &a.shuffled, "hdfsBytesRead": &a.read, "hdfsBytesWritten": &a.written,
		"mapOutputBytes": &a.mapOut, "reduceShuffleBytes": &a.shuffleIn, "mapInputBytes": &a.mapInput,
	}
	err := t.object(func(key string) error {
		if n := numbers[key]; n != nil {
			return t.whole(n)
		}
		switch key {
		case "result":
			return t.text(&a.result)
		case "attemptID", "hostName", "location", "sortFinished", "mapFinished", "fileBytesRead", "fileBytesWritten", "mapInputRecords", "mapOutputRecords",
			"combineInputRecords", "reduceInputGroups", "reduceInputRecords", "reduceOutputRecords", "spilledRecords",
			"clockSplits", "cpuUsages", "vmemKbytes", "physMemKbytes", "resourceUsageMetrics":
			return t.skip()
		}
		return errUnknown
	})
	return a, err
}

// succeeded reports whether the attempt's work counts.
func (a *rumenAttempt) succeeded() bool { return a.result == "SUCCESS" || a.result == "SUCCEEDED" }

// ran is an attempt's time, or its time since its input was complete. A history may have any time
// for an unsuccessful attempt: -1 is unknown.
func (a *rumenAttempt) ran(withInput bool) (time.Duration, error) {
	if a.start < 0 || a.finish < a.start {
		if a.succeeded() {
			return 0, fmt.Errorf("an attempt that succeeded ran from %d to %d: times are not negative, and the end is not before the start", a.start, a.finish)
		}
		return -1, nil
	}
	from := a.start
	if withInput && a.shuffled >= a.start && a.shuffled <= a.finish {
		from = a.shuffled
	}
	d, err := milliseconds(a.finish-from, WorkMax)
	if err != nil && !a.succeeded() {
		return -1, nil
	}
	return d, err
}

func (a *rumenAttempt) bytes(reduce bool) (in, shuffle, out int64) {
	if reduce {
		return 0, max(a.shuffleIn, 0), max(a.written, 0)
	}
	if a.read <= 0 {
		a.read = a.mapInput
	}
	if a.mapOut <= 0 {
		a.mapOut = a.written
	}
	return max(a.read, 0), 0, max(a.mapOut, 0)
}

// job makes a job of the read data.
func (j *rumenJob) job() (job Job, err error) {
	job = Job{ID: j.id, Name: j.name, User: j.user, Pool: j.queue}
	if j.submit < 0 {
		return job, fmt.Errorf("job %.64q: submitTime is missing or negative", j.id)
	}
	if job.Submit, err = milliseconds(j.submit, instantMax); err != nil {
		return job, fmt.Errorf("job %.64q: submitTime: %w", j.id, err)
	}
	if j.priority != "" {
		if job.Priority, err = scheduler.ParsePriority(j.priority); err != nil {
			return job, fmt.Errorf("job %.64q: %w", j.id, err)
		}
	}
	for _, s := range []struct {
		name  string
		stage *rumenStage
	}{{"maps", &j.maps}, {"reduces", &j.reduces}} {
		if err := j.fill(s.stage); err != nil {
			return job, fmt.Errorf("job %.64q: %s: %w", j.id, s.name, err)
		}
	}
	job.Stages = mapReduce(j.maps.tasks, j.reduces.tasks)
	for i := range job.Stages {
		mb := j.mapMB
		if job.Stages[i].Kind == ReduceKind {
			mb = j.reduceMB
		}
		if mb > 1<<30 {
			return job, fmt.Errorf("job %.64q: a task has %d MB of memory, which is beyond all bounds", j.id, mb)
		}
		job.Stages[i].Memory = max(mb, 0) << 20
	}
	return job, nil
}

// fill gives each task its work.
func (j *rumenJob) fill(s *rumenStage) error {
	known := atLeast(s.work)
	if len(known) == 0 {
		known = atLeast(s.tried)
		copy(s.work, s.tried)
		j.imputed += len(known)
	}
	if missing := s.total - int64(len(s.tasks)); missing > 0 && len(known) > 0 {
		if missing > TasksMax {
			return fmt.Errorf("%d are too many: at most %d tasks are allowed in all", s.total, TasksMax)
		}
		if err := j.room(int64(len(j.maps.tasks)+len(j.reduces.tasks)) + missing); err != nil {
			return err
		}
		for range missing {
			s.tasks, s.work, s.tried = append(s.tasks, Task{}), append(s.work, -1), append(s.tried, -1)
		}
	}
	turn := 0
	for i := range s.tasks {
		if s.work[i] < 0 {
			if len(known) == 0 {
				return errors.New("no attempt tells how long a task runs: take the job out of the file")
			}
			s.work[i] = known[turn%len(known)]
			turn++
			j.imputed++
		}
		s.tasks[i].Work = s.work[i]
	}
	return nil
}

// atLeast are the known times.
func atLeast(times []time.Duration) (known []time.Duration) {
	for _, d := range times {
		if d >= 0 {
			known = append(known, d)
		}
	}
	return known
}
