package workload

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Our own format is lines of JSON: a header, which may have the counts, then each job. A stage's tasks are
// columns: lists as long as the number of tasks, or missing where all values are zero.
const (
	ownForm    = "hamadryad-workload"
	ownVersion = 1
)

// Write writes a workload that passes Check in the format Own. Read returns the same workload.
func (w *Workload) Write(to io.Writer) error {
	if err := w.Check(); err != nil {
		return err
	}
	out := bufio.NewWriterSize(to, headBytes)
	o := ownWriter{}
	o.header(w)
	for i := -1; ; i++ {
		o.b = append(o.b, '\n')
		if len(o.b) > LineBytesMax {
			return fmt.Errorf("job %.64q takes a line of %d bytes: at most %d are allowed", w.Jobs[max(i, 0)].ID, len(o.b), LineBytesMax)
		}
		if _, err := out.Write(o.b); err != nil {
			return err
		}
		if i+1 == len(w.Jobs) {
			return out.Flush()
		}
		o.b = o.b[:0]
		o.job(&w.Jobs[i+1])
	}
}

// ownWriter writes a line.
type ownWriter struct{ b []byte }

func (o *ownWriter) header(w *Workload) {
	o.open("form")
	o.text(ownForm)
	o.number("version", ownVersion)
	o.name("name", w.Name)
	o.number("jobs", int64(len(w.Jobs)))
	o.number("tasks", int64(w.Tasks()))
	if w.Imputed > 0 {
		o.number("imputed", int64(w.Imputed))
	}
	if w.LeftOut > 0 {
		o.number("left_out", int64(w.LeftOut))
	}
	if m := w.Machine; m.Seen {
		o.number("processors_seen", int64(m.Processors))
	} else if m.Processors > 0 {
		o.number("processors", int64(m.Processors))
		if m.Nodes > 0 {
			o.number("nodes", int64(m.Nodes))
		}
	}
	o.b = append(o.b, '}')
}

func (o *ownWriter) job(j *Job) {
	o.open("id")
	o.text(j.ID)
	o.name("name", j.Name)
	o.name("class", j.Class)
	o.name("user", j.User)
	o.name("pool", j.Pool)
	if j.Priority != 0 {
		o.number("priority", int64(j.Priority))
	}
	if len(j.Properties) > 0 {
		o.properties(j.Properties)
	}
	o.number("submit_ns", int64(j.Submit))
	if j.Deadline > 0 {
		o.number("deadline_ns", int64(j.Deadline))
	}
	o.key("stages")
	for i := range j.Stages {
		o.b = append(o.b, "[,"[min(i, 1)])
		o.stage(&j.Stages[i])
	}
	o.b = append(o.b, "]}"...)
}

func (o *ownWriter) stage(s *Stage) {
	o.open("name")
	o.text(s.Name)
	o.name("kind", s.Kind)
	if len(s.After) > 0 {
		o.key("after")
		for i, a := range s.After {
			o.b = strconv.AppendInt(append(o.b, "[,"[min(i, 1)]), int64(a), 10)
		}
		o.b = append(o.b, ']')
	}
	if s.SlowStart > 0 {
		o.key("slow_start")
		o.b = strconv.AppendFloat(o.b, s.SlowStart, 'g', -1, 64)
	}
	o.name("channel", string(s.Channel))
	o.name("pattern", string(s.Pattern))
	if s.Memory > 0 {
		o.number("memory", s.Memory)
	}
	if s.Slots > 0 {
		o.number("slots", int64(s.Slots))
	}
	for i, c := range s.Resources {
		if i == 0 {
			o.key("resources")
		}
		o.b = append(o.b, "{,"[min(i, 1)])
		o.text(c.Kind)
		o.b = strconv.AppendInt(append(o.b, ':'), int64(c.Count), 10)
	}
	if len(s.Resources) > 0 {
		o.b = append(o.b, '}')
	}
	if s.Estimate > 0 {
		o.number("estimate_ns", int64(s.Estimate))
	}
	if s.FailureRate > 0 {
		o.key("failure_rate")
		o.b = strconv.AppendFloat(o.b, s.FailureRate, 'g', -1, 64)
	}
	for i, c := range columns {
		o.column(c.name, i == 0, s.Tasks, c.of)
	}
	o.places(s.Tasks)
	o.b = append(o.b, '}')
}

func (o *ownWriter) properties(list []scheduler.Property) {
	for i, p := range list {
		if i == 0 {
			o.key("properties")
		}
		o.b = append(o.b, "{,"[min(i, 1)])
		o.text(p.Name)
		o.b = append(o.b, ':')
		o.text(p.Value)
	}
	o.b = append(o.b, '}')
}

// columns are the numeric properties of tasks.
var columns = []struct {
	name string
	of   func(*Task) *int64
}{
	{"work_ns", func(t *Task) *int64 { return (*int64)(&t.Work) }},
	{"input", func(t *Task) *int64 { return &t.Input }},
	{"shuffle", func(t *Task) *int64 { return &t.Shuffle }},
	{"output", func(t *Task) *int64 { return &t.Output }},
}

func (o *ownWriter) column(name string, always bool, tasks []Task, of func(*Task) *int64) {
	for i := range tasks {
		always = always || *of(&tasks[i]) != 0
	}
	if !always {
		return
	}
	o.key(name)
	for i := range tasks {
		o.b = strconv.AppendInt(append(o.b, "[,"[min(i, 1)]), *of(&tasks[i]), 10)
	}
	o.b = append(o.b, ']')
}

func (o *ownWriter) places(tasks []Task) {
	any := false
	for i := range tasks {
		any = any || len(tasks[i].Places) > 0
	}
	if !any {
		return
	}
	o.key("places")
	for i := range tasks {
		o.b = append(o.b, "[,"[min(i, 1)], '[')
		for k, p := range tasks[i].Places {
			if k > 0 {
				o.b = append(o.b, ',')
			}
			o.b = append(o.b, '[')
			o.text(p.Host)
			if p.Rack != "" {
				o.b = append(o.b, ',')
				o.text(p.Rack)
			}
			o.b = append(o.b, ']')
		}
		o.b = append(o.b, ']')
	}
	o.b = append(o.b, ']')
}

// open begins an object with the key of its first field, key goes on with the next one.
func (o *ownWriter) open(key string) { o.b = append(append(append(o.b, `{"`...), key...), `":`...) }
func (o *ownWriter) key(key string)  { o.b = append(append(append(o.b, `,"`...), key...), `":`...) }

func (o *ownWriter) number(key string, n int64) {
	o.key(key)
	o.b = strconv.AppendInt(o.b, n, 10)
}

func (o *ownWriter) name(key, name string) {
	if name != "" {
		o.key(key)
		o.text(name)
	}
}

func (o *ownWriter) text(s string) {
	quoted, _ := json.Marshal(s) // a string always encodes
	o.b = append(o.b, quoted...)
}

// readOwn reads what Write wrote.
func readOwn(in *bufio.Reader, c *collector) error {
	jobs, tasks, imputed := int64(-1), int64(-1), int64(0)
	err := c.each(in, func(l *lines) error {
		t := newTokens(bytes.NewReader(l.text), l.n)
		if l.n == 1 {
			if err := ownHeader(t, c, &jobs, &tasks, &imputed); err != nil {
				return err
			}
			return t.end()
		}
		j, err := ownJob(t, c)
		if err != nil {
			return err
		}
		if err := t.end(); err != nil {
			return err
		}
		return c.add(l.n, j)
	})
	if err != nil {
		return err
	}
	have, haveTasks := int64(len(c.workload.Jobs)), int64(c.checker.tasks)
	if err := checkCounts(jobs, have, tasks, haveTasks); err != nil {
		return c.at(c.last, err)
	}
	if imputed < 0 || imputed > haveTasks {
		return c.at(1, fmt.Errorf("the work of %d tasks is said to be imputed, of %d", imputed, haveTasks))
	}
	c.workload.Imputed = int(imputed)
	return nil
}

// checkCounts compares the counts of a header, of which a negative one is missing, with those of
// the file.
func checkCounts(jobs, haveJobs, tasks, haveTasks int64) error {
	const cut = "the file was cut or changed"
	switch {
	case (jobs < 0 || jobs == haveJobs) && (tasks < 0 || tasks == haveTasks):
		return nil
	case jobs < 0:
		return fmt.Errorf("the header tells of %d tasks, and there are %d: %s", tasks, haveTasks, cut)
	case tasks < 0:
		return fmt.Errorf("the header tells of %d jobs, and there are %d: %s", jobs, haveJobs, cut)
	}
	return fmt.Errorf("the header tells of %d jobs with %d tasks, and there are %d with %d: %s", jobs, tasks, haveJobs, haveTasks, cut)
}

// ownHeader reads the header. Counts that it does not have stay as they are.
func ownHeader(t *tokens, c *collector, jobs, tasks, imputed *int64) error {
	form, version := "", int64(0)
	err := t.object(func(key string) error {
		switch key {
		case "form":
			return t.text(&form)
		case "version":
			return t.whole(&version)
		case "name":
			return t.text(&c.workload.Name)
		case "jobs":
			return t.count(jobs)
		case "tasks":
			return t.count(tasks)
		case "imputed":
			return t.whole(imputed)
		case "left_out":
			var n int64
			err := t.count(&n)
			c.workload.LeftOut = int(n)
			return err
		case "nodes":
			return t.size(&c.workload.Machine.Nodes)
		case "processors_seen":
			c.workload.Machine.Seen = true
			return t.size(&c.workload.Machine.Processors)
		case "processors":
			return t.size(&c.workload.Machine.Processors)
		}
		if version > ownVersion {
			return t.skip() // the message below is better
		}
		return errUnknown
	})
	switch {
	case err != nil:
		return err
	case form != ownForm:
		return fmt.Errorf("the form is %.64q, and not %q", form, ownForm)
	case version > ownVersion:
		return fmt.Errorf("the form has the version %d, and this program reads %d: use the version of Hamadryad that wrote it, or a newer one", version, ownVersion)
	case version < ownVersion:
		return fmt.Errorf("the form has the version %d, and this program reads %d: use the program that wrote it", version, ownVersion)
	}
	return nil
}

func ownJob(t *tokens, c *collector) (j Job, err error) {
	priority, submit, deadline, tasks := int64(0), int64(-1), int64(0), c.checker.tasks
	err = t.object(func(key string) error {
		switch key {
		case "id":
			return t.text(&j.ID)
		case "name":
			return t.text(&j.Name)
		case "class":
			return t.text(&j.Class)
		case "user":
			return t.text(&j.User)
		case "pool":
			return t.text(&j.Pool)
		case "priority":
			return t.whole(&priority)
		case "submit_ns":
			return t.whole(&submit)
		case "deadline_ns":
			return t.whole(&deadline)
		case "properties":
			return ownProperties(t, &j.Properties)
		case "stages":
			return t.list(func() error {
				if len(j.Stages) == StagesMax {
					return fmt.Errorf("there are more than %d of them", StagesMax)
				}
				s, err := ownStage(t, TasksMax-tasks)
				tasks += len(s.Tasks)
				j.Stages = append(j.Stages, s)
				return err
			})
		}
		return errUnknown
	})
	switch {
	case err != nil:
		return j, err
	case priority < -PriorityMax || priority > PriorityMax:
		return j, fmt.Errorf("the priority is %d: it is from %d to %d", priority, -PriorityMax, PriorityMax)
	case submit < 0:
		return j, errors.New("submit_ns is missing or negative")
	}
	j.Priority = scheduler.Priority(priority)
	j.Submit, j.Deadline = time.Duration(submit), time.Duration(deadline)
	return j, nil
}

// ownProperties reads an object of texts.
func ownProperties(t *tokens, list *[]scheduler.Property) error {
	err := t.object(func(key string) error {
		if len(*list) == PropertiesMax {
			return fmt.Errorf("there are more than %d of them", PropertiesMax)
		}
		p := scheduler.Property{Name: key}
		err := t.text(&p.Value)
		*list = append(*list, p)
		return err
	})
	slices.SortFunc(*list, func(a, b scheduler.Property) int { return strings.Compare(a.Name, b.Name) })
	return noEnd(err)
}

// ownResources reads an object of counts.
func ownResources(t *tokens, list *[]scheduler.ResourceCount) error {
	err := t.object(func(key string) error {
		var n int64
		if err := t.count(&n); err != nil {
			return err
		}
		if n > math.MaxInt32 {
			return fmt.Errorf("%d are too many", n)
		}
		if len(*list) == resourcesMax {
			return fmt.Errorf("there are more than %d kinds", resourcesMax)
		}
		*list = append(*list, scheduler.ResourceCount{Kind: key, Count: int(n)})
		return nil
	})
	slices.SortFunc(*list, func(a, b scheduler.ResourceCount) int { return strings.Compare(a.Kind, b.Kind) })
	return noEnd(err)
}

// resourcesMax bounds the kinds that are read; Check has the bound of the contract.
const resourcesMax = 1000

func ownStage(t *tokens, most int) (s Stage, err error) {
	var after []int64
	slots, estimate := int64(0), int64(0)
	values := make([][]int64, len(columns))
	var places [][]Place
	err = t.object(func(key string) error {
		switch key {
		case "name":
			return t.text(&s.Name)
		case "kind":
			return t.text(&s.Kind)
		case "after":
			return t.wholes(&after, StagesMax)
		case "slow_start":
			return t.fraction(&s.SlowStart)
		case "channel":
			return t.text((*string)(&s.Channel))
		case "pattern":
			return t.text((*string)(&s.Pattern))
		case "memory":
			return t.whole(&s.Memory)
		case "slots":
			return t.whole(&slots)
		case "resources":
			return ownResources(t, &s.Resources)
		case "estimate_ns":
			return t.whole(&estimate)
		case "failure_rate":
			return t.fraction(&s.FailureRate)
		case "places":
			return t.list(func() error {
				list, err := ownPlaces(t)
				if places = append(places, list); len(places) > most {
					return fmt.Errorf("there are more than %d of them", most)
				}
				return err
			})
		}
		for i, c := range columns {
			if c.name == key {
				return t.wholes(&values[i], most)
			}
		}
		return errUnknown
	})
	if err != nil {
		return s, err
	}
	if slots < 0 || slots > SlotsMax {
		return s, fmt.Errorf("slots: a task takes %d: it is from 1 to %d, or 0 for 1", slots, SlotsMax)
	}
	s.Slots, s.Estimate = int(slots), time.Duration(estimate)
	for _, a := range after {
		if a < 0 || a >= StagesMax {
			return s, fmt.Errorf("after: there is no stage %d", a)
		}
		s.After = append(s.After, int(a))
	}
	s.Tasks = make([]Task, len(values[0]))
	for i, c := range columns {
		if values[i] != nil && len(values[i]) != len(s.Tasks) {
			return s, fmt.Errorf("%s has %d values, and %s %d", c.name, len(values[i]), columns[0].name, len(s.Tasks))
		}
		for k, v := range values[i] {
			*c.of(&s.Tasks[k]) = v
		}
	}
	if places != nil && len(places) != len(s.Tasks) {
		return s, fmt.Errorf("places has %d values, and %s %d", len(places), columns[0].name, len(s.Tasks))
	}
	for k, p := range places {
		s.Tasks[k].Places = p
	}
	return s, nil
}

// ownPlaces reads the places of one task: lists of a host and, where it is known, a rack.
func ownPlaces(t *tokens) (places []Place, err error) {
	err = t.list(func() error {
		if len(places) == PlacesMax {
			return fmt.Errorf("a task has more than %d", PlacesMax)
		}
		var p [2]string
		n := 0
		err := t.list(func() error {
			if n++; n > 2 {
				return errors.New("a place is a host and a rack")
			}
			return t.text(&p[n-1])
		})
		places = append(places, Place{p[0], p[1]})
		return err
	})
	return places, err
}
