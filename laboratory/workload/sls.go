package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// readSLS reads the input of YARN's Scheduler Load Simulator, one object for each job. Containers
// of a type are a stage: maps, reduces after them, and others in parallel on slots of the default
// kind. A container's host is the host of its input, since the simulator requests it there. A
// container's priority within its job is left out.
func readSLS(in *bufio.Reader, c *collector) error {
	t := newTokens(in, 1)
	for n := 1; ; n++ {
		j := slsJob{collector: c, t: t, start: -1, count: 1}
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
		if err == nil {
			err = j.add(max(line, 1), n)
		}
		if err != nil {
			return c.at(c.last, err)
		}
	}
}

// slsJob is a job in the course of reading.
type slsJob struct {
	*collector
	t               *tokens
	id, user, queue string
	start, count    int64
	tasks           int64
	types           []string // in order of their first container
	stages          map[string]*Stage
}

func (j *slsJob) field(key string) error {
	t := j.t
	switch key {
	case "job.id":
		return t.text(&j.id)
	case "job.user":
		return t.text(&j.user)
	case "job.queue.name":
		return t.text(&j.queue)
	case "job.start.ms":
		return t.whole(&j.start)
	case "job.count":
		return t.whole(&j.count)
	case "job.tasks":
		return t.list(j.container)
	case "am.type", "job.end.ms", "am.memory-mb", "am.vcores":
		return t.skip()
	}
	return errUnknown
}

// container reads a container, or several equal ones.
func (j *slsJob) container() error {
	t, host, kind := j.t, "", "map"
	start, end, takes, count, memory := int64(-1), int64(-1), int64(-1), int64(1), int64(0)
	err := t.object(func(key string) error {
		switch key {
		case "container.host":
			return t.text(&host)
		case "container.type":
			return t.text(&kind)
		case "container.start.ms":
			return t.whole(&start)
		case "container.end.ms":
			return t.whole(&end)
		case "container.duration.ms", "duration.ms":
			return t.whole(&takes)
		case "count":
			return t.whole(&count)
		case "container.memory-mb":
			return t.whole(&memory)
		case "container.priority", "container.execution.type", "container.vcores", "container.allocation.id", "container.request.delay":
			return t.skip()
		}
		return errUnknown
	})
	if err != nil {
		return err
	}
	if takes < 0 {
		if start < 0 || end < start {
			return fmt.Errorf("a container runs from %d to %d: times are not negative, and the end is not before the start", start, end)
		}
		takes = end - start
	}
	task := Task{}
	if task.Work, err = milliseconds(takes, WorkMax); err != nil {
		return err
	}
	if host != "" {
		rack, name, ok := strings.Cut(strings.TrimPrefix(host, "/"), "/")
		if !ok {
			rack, name = "", rack
		}
		task.Places = []Place{{Host: name, Rack: rack}}
	}
	return j.keep(kind, task, count, memory)
}

func (j *slsJob) keep(kind string, task Task, count, memoryMB int64) error {
	switch {
	case count < 1 || count > TasksMax:
		return fmt.Errorf("%d containers: it is from 1 to %d", count, TasksMax)
	case memoryMB < 0 || memoryMB > 1<<30:
		return fmt.Errorf("%d MB of memory: it is from 0 to %d", memoryMB, 1<<30)
	}
	j.tasks += count
	if err := j.room(j.tasks); err != nil {
		return err
	}
	s := j.stages[kind]
	if s == nil {
		if j.stages == nil {
			j.stages = map[string]*Stage{}
		}
		if len(j.types) == StagesMax {
			return fmt.Errorf("there are more than %d types of containers", StagesMax)
		}
		s = &Stage{Name: kind, Kind: scheduler.DefaultKind}
		if kind == "map" || kind == "reduce" {
			s.Kind = kind
		}
		j.stages[kind] = s
		j.types = append(j.types, kind)
	}
	s.Memory = max(s.Memory, memoryMB<<20)
	s.Tasks = append(s.Tasks, slices.Repeat([]Task{task}, int(count))...)
	return nil
}

// add makes a job of the read data, as often as its count says; n is its position in the file.
func (j *slsJob) add(line, n int) error {
	submit, err := milliseconds(j.start, SubmitMax)
	if err != nil {
		return j.at(line, fmt.Errorf("job.start.ms: %w", err))
	}
	if j.count < 1 || j.count > JobsMax {
		return j.at(line, fmt.Errorf("job.count: %d jobs: it is from 1 to %d", j.count, JobsMax))
	}
	if j.tasks > 0 && j.count > TasksMax/j.tasks {
		return j.at(line, fmt.Errorf("%d jobs of %d tasks are too many: at most %d tasks are allowed in all", j.count, j.tasks, TasksMax))
	}
	if err := j.room(j.tasks * j.count); err != nil {
		return j.at(line, err)
	}
	job := Job{ID: j.id, User: j.user, Pool: j.queue, Submit: submit}
	slices.SortStableFunc(j.types, func(a, b string) int { return rank(a) - rank(b) })
	for _, kind := range j.types {
		if kind == "reduce" && len(job.Stages) > 0 && job.Stages[0].Name == "map" {
			j.stages[kind].After = []int{0}
		}
		job.Stages = append(job.Stages, *j.stages[kind])
	}
	if job.ID == "" {
		job.ID = "job" + strconv.Itoa(n)
	}
	for i := range j.count {
		one := job
		if j.count > 1 {
			one.ID = job.ID + "." + strconv.FormatInt(i+1, 10)
			one.Stages = slices.Clone(job.Stages)
			for k := range one.Stages {
				one.Stages[k].Tasks = slices.Clone(one.Stages[k].Tasks)
			}
		}
		if err := j.collector.add(line, one); err != nil {
			return err
		}
	}
	return nil
}

// rank puts maps first and reduces next.
func rank(kind string) int { return (slices.Index([]string{"reduce", "map"}, kind) + 1) * -1 }
