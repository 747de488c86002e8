package workload

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of a workload. Beyond them it is refused, never cut.
const (
	// JobsMax, StagesMax of one job, and TasksMax of all jobs bound numbers.
	JobsMax   = 10_000_000
	StagesMax = 1_000
	TasksMax  = 20_000_000
	// PlacesMax bounds the copies of one task's input.
	PlacesMax = 64
	// NameBytesMax bounds each id, name, class, user, pool, kind and host.
	NameBytesMax = 1024
	// SubmitMax is the latest submission, and WorkMax the longest task. Together with
	// StageWorkMax, of all tasks of a stage, no sum of times overflows.
	SubmitMax    = 20 * 365 * 24 * time.Hour
	WorkMax      = 365 * 24 * time.Hour
	StageWorkMax = 200 * 365 * 24 * time.Hour
	// BytesMax bounds a workload's total input, shuffled bytes and output, each.
	BytesMax = math.MaxInt64
	// PriorityMax is the most that a priority may be above or below Normal.
	PriorityMax = 1_000_000
	// PropertiesMax bounds the properties of a job, and PropertyBytesMax the value of each.
	PropertiesMax    = 64
	PropertyBytesMax = 4096
	// SlotsMax bounds the slots of a task.
	SlotsMax = 1024
)

// checker checks jobs against the bounds, one after the other. Its errors name the job, but not its
// position in the source.
type checker struct {
	unordered              bool // times of submission are looked at later
	jobs, tasks            int
	last                   *Job
	ids                    map[string]bool
	input, shuffle, output int64
}

// Check returns the first problem of a workload: a job without work, a time or size that is
// negative or beyond the bounds, a duplicate id, jobs out of order.
func (w *Workload) Check() error {
	c := checker{}
	if err := checkName("the workload", "name", w.Name); err != nil {
		return err
	}
	if len(w.Jobs) == 0 {
		return errEmpty
	}
	for i := range w.Jobs {
		if err := c.job(&w.Jobs[i]); err != nil {
			return err
		}
	}
	if w.Imputed < 0 || w.Imputed > c.tasks {
		return fmt.Errorf("the work of %d tasks is said to be imputed, of %d", w.Imputed, c.tasks)
	}
	if w.LeftOut < 0 {
		return fmt.Errorf("%d jobs or tasks are said to be left out: numbers are not negative", w.LeftOut)
	}
	return nil
}

var errEmpty = errors.New("there is no job in it")

// orderError is returned for a job that stands behind a job with a later submission.
type orderError struct {
	id, before            string
	submit, beforesSubmit time.Duration
}

func (e *orderError) Error() string {
	return fmt.Sprintf("job %.64q is submitted after %v, and %.64q before it after %v: jobs stand in order of submission", e.id, e.submit, e.before, e.beforesSubmit)
}

func (c *checker) job(j *Job) error {
	if c.jobs++; c.jobs > JobsMax {
		return fmt.Errorf("there are more than %d jobs", JobsMax)
	}
	if j.ID == "" {
		return errors.New("a job has no id")
	}
	what := fmt.Sprintf("job %.64q", j.ID)
	for _, n := range []struct{ of, name string }{{"id", j.ID}, {"name", j.Name}, {"class", j.Class}, {"user", j.User}, {"pool", j.Pool}} {
		if err := checkName(what, n.of, n.name); err != nil {
			return err
		}
	}
	if c.ids == nil {
		c.ids = map[string]bool{}
	}
	if c.ids[j.ID] {
		return fmt.Errorf("%s stands there twice", what)
	}
	c.ids[j.ID] = true
	if j.Priority < -PriorityMax || j.Priority > PriorityMax {
		return fmt.Errorf("%s has the priority %d: it is from %d to %d", what, int32(j.Priority), -PriorityMax, PriorityMax)
	}
	if j.Deadline < 0 || j.Deadline > SubmitMax {
		return fmt.Errorf("%s has a deadline of %v: it is from 0, which is none, to %v", what, j.Deadline, SubmitMax)
	}
	if err := checkProperties(what, j.Properties); err != nil {
		return err
	}
	if !c.unordered {
		if err := c.submit(j); err != nil {
			return err
		}
	}
	return c.stages(what, j)
}

// submit checks when a job is submitted.
func (c *checker) submit(j *Job) error {
	switch {
	case c.last != nil && j.Submit < c.last.Submit:
		return &orderError{j.ID, c.last.ID, j.Submit, c.last.Submit}
	case j.Submit < 0:
		return fmt.Errorf("job %.64q is submitted %v before the workload begins: times are not negative", j.ID, -j.Submit)
	case j.Submit > SubmitMax:
		return fmt.Errorf("job %.64q is submitted after %v: at most %v is allowed", j.ID, j.Submit, SubmitMax)
	}
	c.last = j
	return nil
}

func (c *checker) stages(what string, j *Job) error {
	if len(j.Stages) == 0 {
		return fmt.Errorf("%s has no stage", what)
	}
	if len(j.Stages) > StagesMax {
		return fmt.Errorf("%s has %d stages: at most %d are allowed", what, len(j.Stages), StagesMax)
	}
	names := make(map[string]bool, len(j.Stages))
	for i := range j.Stages {
		s := &j.Stages[i]
		if s.Name == "" || s.Kind == "" {
			return fmt.Errorf("%s: stage %d needs a name and a kind of slot", what, i+1)
		}
		if names[s.Name] {
			return fmt.Errorf("%s: two of its stages are named %q", what, s.Name)
		}
		names[s.Name] = true
		place := fmt.Sprintf("%s, stage %.64q", what, s.Name)
		if err := c.stage(place, s, i); err != nil {
			return err
		}
		if err := checkResources(place, s.Resources); err != nil {
			return err
		}
		if err := j.checkChannel(place, s); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) stage(what string, s *Stage, at int) error {
	if err := checkName(what, "name", s.Name); err != nil {
		return err
	}
	if err := checkName(what, "kind", s.Kind); err != nil {
		return err
	}
	for i, a := range s.After {
		if a < 0 || a >= at || i > 0 && a <= s.After[i-1] {
			return fmt.Errorf("%s: it comes after stages %v: they are named by their place from 0, in ascending order, and stand before it", what, s.After)
		}
	}
	switch {
	case !(s.SlowStart >= 0 && s.SlowStart <= 1) || math.Signbit(s.SlowStart):
		return fmt.Errorf("%s: its slow-start is %v: it is above 0 and at most 1, or 0 for the model's", what, s.SlowStart)
	case s.SlowStart > 0 && len(s.After) == 0:
		return fmt.Errorf("%s: it has a slow-start and comes after no stage", what)
	case s.Memory < 0:
		return fmt.Errorf("%s: its memory is %d bytes: sizes are not negative", what, s.Memory)
	case s.Slots < 0 || s.Slots > SlotsMax:
		return fmt.Errorf("%s: a task takes %d slots: it is from 1 to %d, or 0 for 1", what, s.Slots, SlotsMax)
	case s.Estimate < 0 || s.Estimate > WorkMax:
		return fmt.Errorf("%s: its estimate is %v: it is from 0, which is none, to %v", what, s.Estimate, WorkMax)
	case !(s.FailureRate >= 0 && s.FailureRate <= 1) || math.Signbit(s.FailureRate):
		return fmt.Errorf("%s: its failure rate is %v: it is from 0 to 1", what, s.FailureRate)
	case len(s.Tasks) == 0:
		return fmt.Errorf("%s: it has no task", what)
	}
	if c.tasks += len(s.Tasks); c.tasks > TasksMax {
		return fmt.Errorf("%s: with it there are %d tasks: at most %d are allowed", what, c.tasks, TasksMax)
	}
	var sum time.Duration
	for i := range s.Tasks {
		if err := c.task(&s.Tasks[i]); err != nil {
			return fmt.Errorf("%s, task %d: %w", what, i, err)
		}
		if sum += s.Tasks[i].Work; sum > StageWorkMax {
			return fmt.Errorf("%s: its tasks take more than %v together", what, StageWorkMax)
		}
	}
	return nil
}

func (c *checker) task(t *Task) error {
	switch {
	case t.Work < 0:
		return fmt.Errorf("it takes %v: times are not negative", t.Work)
	case t.Work > WorkMax:
		return fmt.Errorf("it takes %v: at most %v is allowed", t.Work, WorkMax)
	case len(t.Places) > PlacesMax:
		return fmt.Errorf("its input lies on %d hosts: at most %d are allowed", len(t.Places), PlacesMax)
	}
	for _, b := range []struct {
		what string
		n    int64
		sum  *int64
	}{{"input", t.Input, &c.input}, {"shuffled input", t.Shuffle, &c.shuffle}, {"output", t.Output, &c.output}} {
		switch {
		case b.n < 0:
			return fmt.Errorf("its %s is %d bytes: sizes are not negative", b.what, b.n)
		case b.n > BytesMax-*b.sum:
			return fmt.Errorf("with its %s of %d bytes all tasks have more than %d", b.what, b.n, int64(BytesMax))
		}
		*b.sum += b.n
	}
	for _, p := range t.Places {
		if p.Host == "" {
			return errors.New("a place of its input names no host")
		}
		if err := checkName("a place of its input", "host", p.Host); err != nil {
			return err
		}
		if err := checkName("a place of its input", "rack", p.Rack); err != nil {
			return err
		}
	}
	return nil
}

func checkName(what, of, name string) error {
	switch {
	case len(name) > NameBytesMax:
		return fmt.Errorf("%s: its %s has %d bytes: at most %d are allowed", what, of, len(name), NameBytesMax)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%s: its %s %.80q is no line of text", what, of, name)
	}
	return nil
}
