package workload

import (
	"bufio"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// SWF converts the jobs of the Standard Workload Format to tasks.
type SWF struct {
	// TaskSlots is how many processors are one task with as many slots; the default is 1. A job on
	// more processors is a gang of tasks. Its number is rounded up.
	TaskSlots int
}

// DefaultSWF has a task for each processor.
func DefaultSWF() SWF { return SWF{TaskSlots: 1} }

// Check returns the parameters' problem.
func (s SWF) Check() error {
	if s.TaskSlots < 1 || s.TaskSlots > SlotsMax {
		return fmt.Errorf("swf: a task of %d slots: it is from 1 to %d", s.TaskSlots, SlotsMax)
	}
	return nil
}

// swfColumns are the columns of version 2.2 of the format, in order.
var swfColumns = []string{
	"job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time", "used memory", "requested processors",
	"requested time", "requested memory", "status", "user", "group", "executable", "queue", "partition", "preceding job", "think time",
}

// Indexes of the columns that are used.
const (
	swfID, swfSubmit, swfWait, swfRun, swfAllocated, swfUsedMemory, swfRequested = 0, 1, 2, 3, 4, 6, 7
	swfRequestedTime, swfMemory, swfStatus, swfUser, swfExecutable, swfQueue     = 8, 9, 10, 11, 13, 14
	swfPreceding, swfThink, swfAll                                               = 16, 17, 18
)

// wholeMax bounds whole numbers: larger ones are not told apart as floating-point numbers.
const wholeMax = 1<<53 - 1

// Statuses of lines that tell of a part of a job. Another line sums the job up.
const swfPartFirst, swfPartLast = 2, 4

// readSWF reads a workload of the Parallel Workloads Archive. A job that never ran, as it was
// cancelled before, or whose processors or run time are unknown, is left out.
func readSWF(in *bufio.Reader, c *collector, s SWF) error {
	if err := s.Check(); err != nil {
		return err
	}
	c.absolute = true
	l := &lines{in: in, longest: rowBytesMax}
	var held holdings
	defer func() { c.workload.Machine = swfMachine(c.workload.Machine, held) }()
	return c.eachOf(l, func(l *lines) error {
		line := strings.TrimSpace(string(l.text))
		if line == "" {
			return nil
		}
		if line[0] == ';' { // a comment of the header
			swfHeader(line[1:], &c.workload.Machine)
			return nil
		}
		row, err := parseSWF(line)
		if err != nil {
			return err
		}
		if status := row[swfStatus]; status >= swfPartFirst && status <= swfPartLast {
			return nil
		}
		j, err := s.job(row, c)
		switch {
		case err != nil:
			return err
		case j == nil:
			c.workload.LeftOut++
			return nil
		}
		held.add(row)
		return c.add(l.n, *j)
	})
}

// parseSWF reads a line of numbers. -1 is unknown.
func parseSWF(line string) (row [swfAll]float64, err error) {
	columns := strings.Fields(line)
	if len(columns) != swfAll {
		return row, fmt.Errorf("there are %d columns: the format (version 2.2) has %d", len(columns), swfAll)
	}
	for i, text := range columns {
		v, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
			return row, fmt.Errorf("column %d (%s): %.64q is no number", i+1, swfColumns[i], text)
		case v < 0 && v != -1:
			return row, fmt.Errorf("column %d (%s): %s is negative, and -1 alone is unknown", i+1, swfColumns[i], text)
		case i != swfSubmit && i != swfRun && i != swfRequestedTime && i != swfThink && v != math.Trunc(v) && isUsed(i):
			return row, fmt.Errorf("column %d (%s): %s is no whole number", i+1, swfColumns[i], text)
		case v > wholeMax && isUsed(i) && i != swfAllocated && i != swfRequested: // which have a bound of their own
			return row, fmt.Errorf("column %d (%s): %.64s is too large: at most %d is allowed", i+1, swfColumns[i], text, int64(wholeMax))
		}
		row[i] = v
	}
	return row, nil
}

// isUsed reports whether a column counts here.
func isUsed(column int) bool {
	switch column {
	case swfID, swfAllocated, swfRequested, swfStatus, swfUser, swfExecutable, swfQueue, swfPreceding:
		return true
	}
	return false
}

// job makes a job of a line; nil: it never ran.
func (s SWF) job(row [swfAll]float64, c *collector) (*Job, error) {
	processors := row[swfAllocated]
	if processors <= 0 {
		processors = row[swfRequested]
	}
	if processors <= 0 || row[swfRun] < 0 {
		return nil, nil
	}
	if row[swfSubmit] < 0 {
		return nil, fmt.Errorf("column 2 (%s): it is unknown", swfColumns[swfSubmit])
	}
	work, err := swfTime(row, swfRun, WorkMax)
	if err != nil {
		return nil, err
	}
	submit, err := swfTime(row, swfSubmit, instantMax)
	if err != nil {
		return nil, err
	}
	estimate, err := swfTime(row, swfRequestedTime, WorkMax)
	if err != nil {
		return nil, err
	}
	if processors > TasksMax {
		return nil, fmt.Errorf("%.0f processors are too many: at most %d are allowed", processors, TasksMax)
	}
	n := int(processors)
	slots := min(n, s.TaskSlots)
	tasks := (n + slots - 1) / slots
	if err := c.room(int64(tasks)); err != nil {
		return nil, err
	}
	j := &Job{
		ID: swfName("", row[swfID]), Name: swfName("executable", row[swfExecutable]), User: swfName("user", row[swfUser]), Pool: swfName("queue", row[swfQueue]),
		Submit: submit, Properties: swfProperties(row),
	}
	kilobytes := row[swfMemory]
	if kilobytes < 0 {
		kilobytes = row[swfUsedMemory]
	}
	memory := int64(min(max(kilobytes, 0)*1024*float64(slots), 1<<46))
	j.Stages = gang(Stage{Kind: scheduler.DefaultKind, Slots: slots, Memory: memory, Estimate: estimate}, work, tasks)
	return j, nil
}

// gang are stages of equal tasks that start together.
func gang(like Stage, work time.Duration, tasks int) []Stage {
	lead, rest := like, like
	lead.Name, lead.Tasks = "lead", []Task{{Work: work}}
	if tasks == 1 {
		return []Stage{lead}
	}
	rest.Name, rest.After, rest.Channel, rest.Pattern = "rest", []int{0}, ChannelTCP, Fork
	rest.Tasks = make([]Task, tasks-1)
	for i := range rest.Tasks {
		rest.Tasks[i].Work = work
	}
	return []Stage{lead, rest}
}

// swfTime is a column of seconds; unknown is 0.
func swfTime(row [swfAll]float64, column int, most time.Duration) (time.Duration, error) {
	v := max(row[column], 0)
	if v > most.Seconds() {
		return 0, fmt.Errorf("column %d (%s): %.0f s: at most %v is allowed", column+1, swfColumns[column], v, most)
	}
	return time.Duration(math.Round(v * float64(time.Second))), nil
}

// swfName names what the format numbers; "": unknown.
func swfName(what string, number float64) string {
	if number < 0 {
		return ""
	}
	return what + strconv.FormatFloat(number, 'f', -1, 64)
}

// swfProperties are the columns that no field of a job has.
func swfProperties(row [swfAll]float64) (list []scheduler.Property) {
	if p := row[swfPreceding]; p >= 0 {
		list = append(list, scheduler.Property{Name: "swf.preceding-job", Value: swfName("", p)})
		if t := row[swfThink]; t >= 0 {
			list = append(list, scheduler.Property{Name: "swf.think-seconds", Value: swfName("", t)})
		}
	}
	return list
}
