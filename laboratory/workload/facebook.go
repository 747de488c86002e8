package workload

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// facebookHeader is the first line of fb2009-100 and fb2010-93.
type facebookHeader struct {
	name                 string
	jobs, maps, reduces  int64
	spreadMap, spreadRed float64
	number               uint64 // of the workload; seeds its tasks' times
}

// facebookJob is a job's line.
type facebookJob struct {
	id, submit, maps, reduces, mapMean, redMean, in, shuffle, out, mapSum, redSum int64
	label, class                                                                  string
	mapMs, redMs                                                                  []int64 // of each task, where the file has them
}

// readFacebook reads the workloads of the HFSP paper's experiments, which were regenerated from
// SWIM's traces: jobs with counts, mean times and sums of times. The time of each task is drawn by
// the file's rule (facebookTime), and the sum is checked against the file's. Times in the file are
// checked against the rule.
func readFacebook(in *bufio.Reader, c *collector) error {
	var h *facebookHeader
	maps, reduces := int64(0), int64(0)
	err := c.each(in, func(l *lines) error {
		t := newTokens(bytes.NewReader(l.text), l.n)
		if h == nil {
			var err error
			if h, err = readFacebookHeader(t); err != nil {
				return err
			}
			c.workload.Name = h.name
			return t.end()
		}
		f, err := readFacebookJob(t)
		if err == nil {
			err = t.end()
		}
		if err != nil {
			return err
		}
		j, err := f.job(h, c)
		if err != nil {
			return err
		}
		maps, reduces = maps+f.maps, reduces+f.reduces
		return c.add(l.n, j)
	})
	if err != nil || h == nil {
		return err
	}
	if n := int64(len(c.workload.Jobs)); n != h.jobs || maps != h.maps || reduces != h.reduces {
		return c.at(c.last, fmt.Errorf("the header tells of %d jobs, %d maps and %d reduces, and there are %d, %d and %d: the file was cut or changed",
			h.jobs, h.maps, h.reduces, n, maps, reduces))
	}
	return nil
}

func readFacebookHeader(t *tokens) (*facebookHeader, error) {
	h := &facebookHeader{jobs: -1, maps: -1, reduces: -1, spreadMap: -1, spreadRed: -1}
	err := t.object(func(key string) error {
		switch key {
		case "workload":
			return t.text(&h.name)
		case "jobs":
			return t.whole(&h.jobs)
		case "maps":
			return t.whole(&h.maps)
		case "reduces":
			return t.whole(&h.reduces)
		case "task_spread":
			return t.object(func(key string) error {
				switch key {
				case "map":
					return t.fraction(&h.spreadMap)
				case "reduce":
					return t.fraction(&h.spreadRed)
				}
				return errUnknown
			})
		case "byte_scale", "cluster", "duration_rule", "first_row", "license", "mean_gap_s", "min_maps", "params", "population", "source", "source_repo", "span_s":
			return t.skip() // how the file was made
		}
		return errUnknown
	})
	if err != nil {
		return nil, err
	}
	digits, _, _ := strings.Cut(strings.TrimPrefix(h.name, "fb"), "-")
	h.number, err = strconv.ParseUint(digits, 10, 16)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the workload is %.64q: times are drawn by a number, as in fb2009-100", h.name)
	case h.jobs < 0 || h.maps < 0 || h.reduces < 0:
		return nil, errors.New("the header does not say how many jobs, maps and reduces there are")
	case !(h.spreadMap >= 0 && h.spreadMap <= 1 && h.spreadRed >= 0 && h.spreadRed <= 1):
		return nil, errors.New("the header does not say how times spread: task_spread is from 0 to 1, for map and reduce")
	}
	return h, nil
}

func readFacebookJob(t *tokens) (f facebookJob, err error) {
	f = facebookJob{id: -1, submit: -1, maps: -1, reduces: -1, mapSum: -1, redSum: -1}
	numbers := map[string]*int64{
		"id": &f.id, "submit_ms": &f.submit, "maps": &f.maps, "reduces": &f.reduces, "map_ms_mean": &f.mapMean, "red_ms_mean": &f.redMean,
		"in_bytes": &f.in, "shuffle_bytes": &f.shuffle, "out_bytes": &f.out, "map_ms_sum": &f.mapSum, "red_ms_sum": &f.redSum,
	}
	err = t.object(func(key string) error {
		if n := numbers[key]; n != nil {
			if err := t.whole(n); err != nil {
				return err
			}
			if *n < 0 {
				return fmt.Errorf("%d: numbers are not negative", *n)
			}
			return nil
		}
		switch key {
		case "label":
			return t.text(&f.label)
		case "cls":
			return t.text(&f.class)
		case "map_ms":
			return t.wholes(&f.mapMs, TasksMax)
		case "red_ms":
			return t.wholes(&f.redMs, TasksMax)
		case "swim_row", "submit_trace_ms", "reduces_swim":
			return t.skip() // its source
		}
		return errUnknown
	})
	if err == nil && (f.id < 0 || f.submit < 0 || f.maps < 0 || f.reduces < 0 || f.mapSum < 0 || f.redSum < 0) {
		err = errors.New("id, submit_ms, maps, reduces, map_ms_sum and red_ms_sum are needed")
	}
	return f, err
}

// job makes the job with its tasks.
func (f *facebookJob) job(h *facebookHeader, c *collector) (j Job, err error) {
	if f.maps > TasksMax || f.reduces > TasksMax {
		return j, fmt.Errorf("%d maps and %d reduces are too many: at most %d tasks are allowed in all", f.maps, f.reduces, TasksMax)
	}
	if err := c.room(f.maps + f.reduces); err != nil {
		return j, err
	}
	j = Job{ID: strconv.FormatInt(f.id, 10), Name: f.label, Class: f.class}
	if j.Submit, err = milliseconds(f.submit, SubmitMax); err != nil {
		return j, fmt.Errorf("submit_ms: %w", err)
	}
	mapOutput := f.shuffle
	if f.reduces == 0 {
		mapOutput = f.out
	}
	maps, err := f.tasks("map_ms", facebookKey(h.number, f.id, 0), h.spreadMap, f.maps, f.mapMean, f.mapSum, f.mapMs)
	if err != nil {
		return j, err
	}
	for i := range maps {
		maps[i].Input, maps[i].Output = share(f.in, len(maps), i), share(mapOutput, len(maps), i)
	}
	reduces, err := f.tasks("red_ms", facebookKey(h.number, f.id, 1), h.spreadRed, f.reduces, f.redMean, f.redSum, f.redMs)
	if err != nil {
		return j, err
	}
	for i := range reduces {
		reduces[i].Shuffle, reduces[i].Output = share(f.shuffle, len(reduces), i), share(f.out, len(reduces), i)
	}
	j.Stages = mapReduce(maps, reduces)
	return j, nil
}

// tasks draws the times of a kind's tasks.
func (f *facebookJob) tasks(what string, key uint64, spread float64, n, mean, sum int64, given []int64) ([]Task, error) {
	if given != nil && int64(len(given)) != n {
		return nil, fmt.Errorf("%s has %d values for %d tasks", what, len(given), n)
	}
	if mean > int64(WorkMax/time.Millisecond) {
		return nil, fmt.Errorf("%s_mean is %d: at most %v is allowed", what, mean, WorkMax)
	}
	tasks := make([]Task, n)
	have := int64(0)
	for i := range tasks {
		ms := facebookTime(key, mean, spread, i)
		if given != nil && given[i] != ms {
			return nil, fmt.Errorf("%s: task %d takes %d, and by the rule of this form %d", what, i, given[i], ms)
		}
		d, err := milliseconds(ms, WorkMax)
		if err != nil {
			return nil, fmt.Errorf("%s: task %d: %w", what, i, err)
		}
		tasks[i].Work = d
		have += ms
	}
	if have != sum {
		return nil, fmt.Errorf("%s_sum is %d, and the tasks take %d", what, sum, have)
	}
	return tasks, nil
}

// facebookKey begins the chain of draws of a job's tasks of a kind, 0 for maps and 1 for
// reduces.
func facebookKey(workload uint64, job int64, kind uint64) uint64 {
	h := uint64(0x4D617052656475)
	for _, k := range []uint64{workload, uint64(job), kind} {
		h = splitmix(h ^ k)
	}
	return h
}

// facebookTime is the time of a task in milliseconds, uniform in mean ± spread × mean. Each product
// is rounded before it is added, as in the program that made the files.
func facebookTime(key uint64, mean int64, spread float64, task int) int64 {
	u := unit(splitmix(key ^ uint64(task)))
	return max(1, int64(math.RoundToEven(float64(mean)*float64(float64(1-spread)+float64(float64(2*spread)*u)))))
}

// mapReduce makes the stages of a job with maps, reduces or both.
func mapReduce(maps, reduces []Task) (stages []Stage) {
	if len(maps) > 0 {
		stages = append(stages, Stage{Name: "map", Kind: MapKind, Tasks: maps})
	}
	if len(reduces) > 0 {
		s := Stage{Name: "reduce", Kind: ReduceKind, Tasks: reduces}
		if len(maps) > 0 {
			s.After = []int{0}
		}
		stages = append(stages, s)
	}
	return stages
}
