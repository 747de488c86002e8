package workload

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Bounds of a table.
const (
	// rowBytesMax bounds a row.
	rowBytesMax = 1 << 20
	// columnsMax bounds the columns of a row.
	columnsMax = 1000
)

// table reads a table by its mapping. It holds all jobs, since the rows of a job may lie anywhere.
type table struct {
	*collector
	mapping *Mapping
	columns []tableColumn
	keep    []tableCondition
	width   int   // columns of each row; 0: no row was read
	rows    int   // without the header
	kept    int   // of these
	latest  int64 // of the events so far
	jobs    map[string]*tableJob
	order   []*tableJob
	tasks   int64
	open    map[taskKey]openTask // tasks whose events are incomplete
}

type tableColumn struct {
	*MappedColumn
	at     int // index in a row
	field  field
	factor float64
}

type tableCondition struct {
	at int
	is []string
}

// tableJob is a job in the course of reading.
type tableJob struct {
	Job
	line      int // of its first row
	submitted bool
	stages    map[string]int // index in Stages, by name
}

type taskKey struct {
	job         *tableJob
	stage, task string
}

// openTask is a task whose start was told and whose end was not.
type openTask struct {
	start   int64
	running bool
}

// tableRow is the values of a row: times in nanoseconds and sizes in bytes. has says which cells
// have a value.
type tableRow struct {
	text       [fieldTasks]string
	number     [fieldsEnd]int64
	has        [fieldsEnd]bool
	properties []scheduler.Property
}

// readTable reads separated values by a mapping. Jobs are sorted by submission. Rows that do not
// tell how long a task worked are left out.
func readTable(in *bufio.Reader, c *collector, m *Mapping) error {
	if m == nil {
		return fmt.Errorf("the format %s needs a mapping of its columns: one of %v, or a file", CSV, GivenMappings())
	}
	c.absolute, c.checker.unordered = true, true
	t := &table{collector: c, mapping: m, jobs: map[string]*tableJob{}, open: map[taskKey]openTask{}}
	separator := byte(',')
	if m.Separator != "" {
		separator = m.Separator[0]
	}
	var cells []string
	err := c.eachOf(&lines{in: in, longest: rowBytesMax}, func(l *lines) (err error) {
		if cells, err = split(cells[:0], string(l.text), separator); err != nil {
			return err
		}
		if t.width == 0 {
			t.width = len(cells)
			if err := t.resolve(cells); err != nil || m.Header {
				return err
			}
		}
		if len(cells) != t.width {
			return fmt.Errorf("there are %d columns, and %d in the first line", len(cells), t.width)
		}
		return t.row(l.n, cells)
	})
	if err != nil {
		return err
	}
	return t.finish()
}

// split splits a row at its separators. A cell may stand in quotes, which are doubled within; it
// ends on its line.
func split(cells []string, line string, separator byte) ([]string, error) {
	for {
		if len(cells) == columnsMax {
			return nil, fmt.Errorf("there are more than %d columns", columnsMax)
		}
		if !strings.HasPrefix(line, `"`) {
			cell, rest, more := strings.Cut(line, string(separator))
			cells = append(cells, cell)
			if !more {
				return cells, nil
			}
			line = rest
			continue
		}
		end := 1
		for {
			k := strings.IndexByte(line[end:], '"')
			if k < 0 {
				return nil, fmt.Errorf("column %d: its quotes do not end on the line", len(cells)+1)
			}
			end += k + 1
			if end == len(line) || line[end] != '"' {
				break
			}
			end++
		}
		cells = append(cells, strings.ReplaceAll(line[1:end-1], `""`, `"`))
		switch {
		case end == len(line):
			return cells, nil
		case line[end] != separator:
			return nil, fmt.Errorf("column %d: %.16q stands behind its quotes", len(cells), line[end:])
		}
		line = line[end+1:]
	}
}

// resolve finds the mapped columns in the first line.
func (t *table) resolve(first []string) error {
	find := func(column string) (int, error) {
		if t.mapping.Header {
			if i := slices.Index(first, column); i >= 0 {
				if slices.Contains(first[i+1:], column) {
					return 0, fmt.Errorf("the header has the column %.64q twice: rename one, or give the mapping its number", column)
				}
				return i, nil
			}
		}
		n, err := strconv.Atoi(column)
		switch {
		case err != nil:
			return 0, fmt.Errorf("the header has no column %.64q: it has %.512q", column, strings.Join(first, ","))
		case n < 1 || n > len(first):
			return 0, fmt.Errorf("there is no column %d, as the mapping has it: there are %d", n, len(first))
		}
		return n - 1, nil
	}
	for i := range t.mapping.Columns {
		c := &t.mapping.Columns[i]
		at, err := find(c.Column)
		if err != nil {
			return err
		}
		f, known := fieldOf(c.Field)
		factor, right := c.factor(f)
		if !known || !right {
			return fmt.Errorf("the mapping has the field %.64q with the unit %.64q, which is none", c.Field, c.Unit)
		}
		t.columns = append(t.columns, tableColumn{c, at, f, factor})
	}
	for _, k := range t.mapping.Keep {
		at, err := find(k.Column)
		if err != nil {
			return err
		}
		t.keep = append(t.keep, tableCondition{at, k.Is})
	}
	return nil
}

// row takes in a row.
func (t *table) row(line int, cells []string) error {
	t.rows++
	for _, k := range t.keep {
		if !slices.Contains(k.is, cells[k.at]) {
			return nil
		}
	}
	t.kept++
	var r tableRow
	for _, c := range t.columns {
		if err := r.take(c, cells[c.at]); err != nil {
			return fmt.Errorf("column %d (%s): %w", c.at+1, c.Field, err)
		}
	}
	if r.text[fieldJob] == "" {
		return errors.New("the row names no job")
	}
	if len(t.mapping.Events) > 0 {
		return t.event(line, &r)
	}
	work := r.number[fieldWork]
	if !r.has[fieldWork] {
		if !r.has[fieldStart] || !r.has[fieldEnd] || r.number[fieldEnd] < r.number[fieldStart] {
			t.workload.LeftOut++
			return nil
		}
		work = r.number[fieldEnd] - r.number[fieldStart]
	}
	j, err := t.job(line, &r)
	if err != nil {
		return err
	}
	switch {
	case r.has[fieldSubmit]:
		j.submit(r.number[fieldSubmit])
	case r.has[fieldStart]:
		j.submit(r.number[fieldStart])
	}
	return t.add(j, &r, work)
}

// take takes in a cell. An empty one has no value.
func (r *tableRow) take(c tableColumn, text string) error {
	if v, ok := c.Values[text]; ok {
		text = v
	}
	switch {
	case text == "":
		return nil
	case c.field == fieldProperty:
		r.properties = append(r.properties, scheduler.Property{Name: strings.TrimPrefix(c.Field, propertyPrefix), Value: text})
		return nil
	case c.field < fieldSubmit:
		r.text[c.field], r.has[c.field] = text, true
		return nil
	}
	n, err := amount(text, c.factor, c.field == fieldSlots)
	r.number[c.field], r.has[c.field] = n, err == nil
	return err
}

// amount is a number times a factor, as a whole number: rounded, or rounded up.
func amount(text string, factor float64, up bool) (int64, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && factor >= 1 && factor == math.Trunc(factor) && n >= 0 && n <= math.MaxInt64/int64(min(factor, math.MaxInt64/2)) {
		return n * int64(factor), nil // exact
	}
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(x) || math.IsInf(x, 0):
		return 0, fmt.Errorf("%.64q is no number", text)
	case x < 0:
		return 0, fmt.Errorf("%.64s is negative", text)
	}
	if x *= factor; up {
		x = math.Ceil(x)
	} else {
		x = math.Round(x)
	}
	if x >= math.MaxInt64 {
		return 0, fmt.Errorf("%.64s is beyond all bounds", text)
	}
	return int64(x), nil
}

// job is the job of a row. Its own fields are those of its first row that has them.
func (t *table) job(line int, r *tableRow) (*tableJob, error) {
	id := r.text[fieldJob]
	j := t.jobs[id]
	if j == nil {
		if len(t.order) == JobsMax {
			return nil, fmt.Errorf("there are more than %d jobs", JobsMax)
		}
		id = strings.Clone(id) // the cell would keep its whole line
		j = &tableJob{line: line, stages: map[string]int{}}
		j.ID = id
		t.jobs[id], t.order = j, append(t.order, j)
	}
	for _, f := range []struct {
		of field
		to *string
	}{{fieldUser, &j.User}, {fieldPool, &j.Pool}, {fieldClass, &j.Class}, {fieldName, &j.Name}} {
		if *f.to == "" {
			*f.to = strings.Clone(r.text[f.of])
		}
	}
	if r.has[fieldPriority] {
		if r.number[fieldPriority] > PriorityMax {
			return nil, fmt.Errorf("the priority is %d: at most %d is allowed", r.number[fieldPriority], PriorityMax)
		}
		j.Priority = scheduler.Priority(r.number[fieldPriority])
	}
	if j.Deadline == 0 {
		j.Deadline = time.Duration(r.number[fieldDeadline])
	}
	for _, p := range r.properties {
		if !slices.ContainsFunc(j.Properties, func(q scheduler.Property) bool { return q.Name == p.Name }) {
			j.Properties = append(j.Properties, scheduler.Property{Name: p.Name, Value: strings.Clone(p.Value)})
		}
	}
	return j, nil
}

// submit notes a time at which the job was there; the first counts.
func (j *tableJob) submit(at int64) {
	if d := time.Duration(at); !j.submitted || d < j.Submit {
		j.Submit, j.submitted = d, true
	}
}

// add adds the tasks of a row to their stage.
func (t *table) add(j *tableJob, r *tableRow, work int64) error {
	if work > int64(WorkMax) {
		return fmt.Errorf("a task takes %v: at most %v is allowed", time.Duration(work), WorkMax)
	}
	count := int64(1)
	if r.has[fieldTasks] {
		count = r.number[fieldTasks]
	}
	if count == 0 {
		t.workload.LeftOut++
		return nil
	}
	t.tasks = min(t.tasks, TasksMax) + min(count, TasksMax+1)
	if err := t.room(t.tasks); err != nil {
		return err
	}
	if r.number[fieldSlots] > SlotsMax {
		return fmt.Errorf("a task takes %d slots: at most %d are allowed", r.number[fieldSlots], SlotsMax)
	}
	name := r.text[fieldStage]
	if name == "" {
		name = "work"
	}
	i, ok := j.stages[name]
	if !ok {
		if len(j.Stages) == StagesMax {
			return fmt.Errorf("job %.64q has more than %d stages", j.ID, StagesMax)
		}
		name = strings.Clone(name)
		i = len(j.Stages)
		j.stages[name] = i
		j.Stages = append(j.Stages, Stage{Name: name, Kind: scheduler.DefaultKind})
	}
	s := &j.Stages[i]
	s.Memory, s.Slots = max(s.Memory, r.number[fieldMemory]), max(s.Slots, int(r.number[fieldSlots]))
	s.Estimate = max(s.Estimate, time.Duration(r.number[fieldEstimate]))
	task := Task{Work: time.Duration(work), Input: r.number[fieldInput], Shuffle: r.number[fieldShuffle], Output: r.number[fieldOutput]}
	if host := r.text[fieldHost]; host != "" {
		task.Places = []Place{{strings.Clone(host), strings.Clone(r.text[fieldRack])}}
	}
	for range count {
		s.Tasks = append(s.Tasks, task)
	}
	if count > 1 {
		t.workload.Imputed += int(count)
	}
	return nil
}

// event takes in a row that is an event of a task.
func (t *table) event(line int, r *tableRow) error {
	what := t.mapping.Events[r.text[fieldEvent]]
	if what == "" {
		return nil
	}
	if !r.has[fieldTime] {
		return errors.New("the event has no time")
	}
	if r.number[fieldTime] < t.latest {
		return errors.New("the event is earlier than one in a row before it: sort the rows by time")
	}
	t.latest = r.number[fieldTime]
	j, err := t.job(line, r)
	if err != nil {
		return err
	}
	j.submit(r.number[fieldTime])
	k := taskKey{j, r.text[fieldStage], r.text[fieldTask]}
	switch o := t.open[k]; what {
	case "start":
		if len(t.open) == TasksMax {
			return fmt.Errorf("more than %d tasks run at the same time", TasksMax)
		}
		k.stage, k.task = strings.Clone(k.stage), strings.Clone(k.task)
		t.open[k] = openTask{r.number[fieldTime], true}
	case "stop":
		delete(t.open, k)
	case "end":
		delete(t.open, k)
		if !o.running || r.number[fieldTime] < o.start {
			t.workload.LeftOut++
			return nil
		}
		return t.add(j, r, r.number[fieldTime]-o.start)
	}
	return nil
}

// finish gives the jobs to the collector, in order of submission.
func (t *table) finish() error {
	t.workload.LeftOut += len(t.open)
	t.order = slices.DeleteFunc(t.order, func(j *tableJob) bool { return len(j.Stages) == 0 })
	if len(t.order) == 0 && t.rows > 0 {
		return t.at(t.last, fmt.Errorf("%w: the mapping keeps %d of %d rows, and none of these tells how long a task worked: compare the mapping with the rows", errEmpty, t.kept, t.rows))
	}
	slices.SortStableFunc(t.order, func(a, b *tableJob) int { return compare(a.Submit, b.Submit) })
	t.checker.unordered, t.options.Sort = false, false
	for i, j := range t.order {
		slices.SortFunc(j.Properties, func(a, b scheduler.Property) int { return strings.Compare(a.Name, b.Name) })
		if t.mapping.Graph != "" {
			if err := j.connect(); err != nil {
				return t.at(j.line, fmt.Errorf("job %.64q: %w", j.ID, err))
			}
		}
		t.order[i] = nil // its tasks are the workload's now
		if err := t.collector.add(j.line, j.Job); err != nil {
			return err
		}
	}
	return nil
}

// connect orders the stages as their names say: R3_1_2 reads from the stages with the numbers 1 and
// 2. Stages that the table does not have are passed over. Other names have no number, and read from
// no stage.
func (j *tableJob) connect() error {
	byNumber, reads := map[string]int{}, make([][]string, len(j.Stages))
	for i := range j.Stages {
		number, from := numbersOf(j.Stages[i].Name)
		if number == "" {
			continue
		}
		if k, ok := byNumber[number]; ok {
			return fmt.Errorf("its stages %q and %q have the same number", j.Stages[k].Name, j.Stages[i].Name)
		}
		byNumber[number], reads[i] = i, from
	}
	var sorted []Stage
	places := make([]int, len(j.Stages)) // in sorted, from 1; 0: not there yet
	for len(sorted) < len(j.Stages) {
		before := len(sorted)
		for i := range j.Stages {
			if places[i] > 0 {
				continue
			}
			if after, ready := writers(i, reads[i], byNumber, places); ready {
				s := j.Stages[i]
				s.After = after
				sorted = append(sorted, s)
				places[i] = len(sorted)
			}
		}
		if len(sorted) == before {
			return errors.New("its stages read from each other in a circle")
		}
	}
	j.Stages = sorted
	return nil
}

// writers are the places of the stages that stage i reads from; false: some have none yet.
func writers(i int, reads []string, byNumber map[string]int, places []int) (after []int, ready bool) {
	for _, number := range reads {
		k, ok := byNumber[number]
		switch {
		case !ok || k == i:
			continue
		case places[k] == 0:
			return nil, false
		}
		after = append(after, places[k]-1)
	}
	slices.Sort(after)
	return slices.Compact(after), true
}

// numbersOf are the number of a stage, and those that it reads from; "": its name tells of none.
func numbersOf(name string) (number string, from []string) {
	parts := strings.Split(name, "_")
	number = strings.TrimLeftFunc(parts[0], func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' })
	if number == "" || number == parts[0] || !digits(number) {
		return "", nil
	}
	for _, p := range parts[1:] {
		if digits(p) {
			from = append(from, p)
		}
	}
	return number, from
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
