package workload

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// SWIM converts the bytes of a trace of SWIM to tasks and their times. The traces have neither
// numbers of tasks nor times.
//
// A job has one map for each block of its scaled input, and at least one. Of its shuffled and
// written bytes together, each reduce gets about ReduceBytes. A job that shuffles has at least one
// reduce; other jobs have none. Bytes are spread evenly.
type SWIM struct {
	// Machines and Of scale bytes by the sizes of the simulated and the traced cluster. SWIM's own
	// scripts do the same.
	Machines, Of int64
	// Block is the size of a block of the input in bytes.
	Block int64
	// ReduceBytes is the bytes of each reduce.
	ReduceBytes int64
	// ReducesMax is the most reduces of a job; 0 is no bound.
	ReducesMax int64
	// MapFixed is the fixed time of each map, and MapBlock the further time for a full block.
	MapFixed, MapBlock time.Duration
	// ReduceFixed is the fixed time of each reduce, and ReduceBytesPerSecond its speed after that.
	// ReduceMax is the longest time; 0 is no bound.
	ReduceFixed          time.Duration
	ReduceBytesPerSecond int64
	ReduceMax            time.Duration
	// Spread is the share by which a task may be faster or slower, from 0 to 1, uniformly; Seed
	// draws it.
	Spread float64
	Seed   uint64
}

// DefaultSWIM has blocks of 128 MiB, 1 GiB for a reduce, 5 s and 25 s a block for a map,
// 10 s and 10 MB a second, 10 minutes at most, for a reduce, and spreads by a fifth.
func DefaultSWIM() SWIM {
	return SWIM{
		Machines: 1, Of: 1, Block: 128 << 20, ReduceBytes: 1 << 30,
		MapFixed: 5 * time.Second, MapBlock: 25 * time.Second,
		ReduceFixed: 10 * time.Second, ReduceBytesPerSecond: 10_000_000, ReduceMax: 10 * time.Minute,
		Spread: 0.2, Seed: 1,
	}
}

// Check returns the parameters' problem.
func (s SWIM) Check() error {
	switch {
	case s.Machines < 1 || s.Of < 1:
		return fmt.Errorf("swim: %d machines of %d: both are at least 1", s.Machines, s.Of)
	case s.Block < 1 || s.ReduceBytes < 1 || s.ReduceBytesPerSecond < 1:
		return fmt.Errorf("swim: a block of %d bytes, %d bytes for a reduce, %d bytes a second: all are at least 1", s.Block, s.ReduceBytes, s.ReduceBytesPerSecond)
	case s.ReducesMax < 0:
		return fmt.Errorf("swim: at most %d reduces: it is 0 for no bound, or more", s.ReducesMax)
	case !(s.Spread >= 0 && s.Spread <= 1):
		return fmt.Errorf("swim: a spread of %v: it is from 0 to 1", s.Spread)
	}
	for _, d := range []time.Duration{s.MapFixed, s.MapBlock, s.ReduceFixed, s.ReduceMax} {
		if d < 0 || d > WorkMax {
			return fmt.Errorf("swim: a time of %v: it is from 0 to %v", d, WorkMax)
		}
	}
	return nil
}

// swimColumnsMin are job, submission, gap, input, shuffled and output bytes. Paths of
// input and output follow in some traces, and an empty column.
const (
	swimColumnsMin = 6
	swimColumnsMax = 9
)

// swimRow is a line of a trace.
type swimRow struct {
	id, path         string
	submit           time.Duration
	in, shuffle, out int64
}

// readSWIM reads a trace of SWIM.
func readSWIM(in *bufio.Reader, c *collector, s SWIM) error {
	if err := s.Check(); err != nil {
		return err
	}
	return c.each(in, func(l *lines) error {
		row, err := parseSWIM(string(l.text))
		if err != nil {
			return err
		}
		j, err := s.job(row, uint64(len(c.workload.Jobs)), c)
		if err != nil {
			return err
		}
		if err := c.add(l.n, j); err != nil {
			return err
		}
		c.workload.Imputed += j.Tasks()
		return nil
	})
}

func parseSWIM(line string) (r swimRow, err error) {
	columns := strings.Split(line, "\t")
	if len(columns) < swimColumnsMin || len(columns) > swimColumnsMax {
		return r, fmt.Errorf("there are %d columns: %d are job, submission, gap, input, shuffled and output bytes, and paths of input and output may follow", len(columns), swimColumnsMin)
	}
	if len(columns) == swimColumnsMax && columns[swimColumnsMax-1] != "" {
		return r, fmt.Errorf("column %d, %.64q, is unknown", swimColumnsMax, columns[swimColumnsMax-1])
	}
	r.id = columns[0]
	var submit, gap int64
	for i, to := range []*int64{&submit, &gap, &r.in, &r.shuffle, &r.out} {
		v, err := strconv.ParseInt(columns[i+1], 10, 64)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return r, fmt.Errorf("column %d: %.64s is beyond all bounds", i+2, columns[i+1])
		case err != nil:
			return r, fmt.Errorf("column %d: %.64q is no whole number", i+2, columns[i+1])
		case v < 0:
			return r, fmt.Errorf("column %d: %d is negative", i+2, v)
		}
		*to = v
	}
	if submit > int64(SubmitMax/time.Second) {
		return r, fmt.Errorf("column 2: %d s: at most %v is allowed", submit, SubmitMax)
	}
	r.submit = time.Duration(submit) * time.Second
	if len(columns) > swimColumnsMin {
		r.path = columns[swimColumnsMin]
	}
	return r, nil
}

// job makes the tasks of a row.
func (s SWIM) job(r swimRow, n uint64, c *collector) (j Job, err error) {
	in, shuffle, out := s.scale(r.in), s.scale(r.shuffle), s.scale(r.out)
	if in < 0 || shuffle < 0 || out < 0 || shuffle > math.MaxInt64-out {
		return j, fmt.Errorf("scaled by %d/%d, the bytes are beyond all bounds", s.Machines, s.Of)
	}
	maps := max(1, in/s.Block+min(in%s.Block, 1))
	reduces := int64(0)
	if shuffle > 0 {
		sum := shuffle + out
		reduces = max(1, sum/s.ReduceBytes+sum%s.ReduceBytes/(s.ReduceBytes/2+s.ReduceBytes%2))
		if s.ReducesMax > 0 {
			reduces = min(reduces, s.ReducesMax)
		}
	}
	if maps > TasksMax || reduces > TasksMax {
		return j, fmt.Errorf("%d maps and %d reduces are too many: at most %d tasks are allowed in all", maps, reduces, TasksMax)
	}
	if err := c.room(maps + reduces); err != nil {
		return j, err
	}
	j = Job{ID: r.id, Name: r.path, Submit: r.submit}
	mapOutput := shuffle
	if reduces == 0 {
		mapOutput = out
	}
	m, d := make([]Task, maps), make([]Task, reduces)
	for i := range m {
		m[i].Input, m[i].Output = share(in, len(m), i), share(mapOutput, len(m), i)
		m[i].Work, err = s.time(s.MapFixed, mulDiv(m[i].Input, int64(s.MapBlock), s.Block), 0, n, 0, i)
		if err != nil {
			return j, err
		}
	}
	for i := range d {
		d[i].Shuffle, d[i].Output = share(shuffle, len(d), i), share(out, len(d), i)
		d[i].Work, err = s.time(s.ReduceFixed, mulDiv(share(shuffle+out, len(d), i), int64(time.Second), s.ReduceBytesPerSecond), s.ReduceMax, n, 1, i)
		if err != nil {
			return j, err
		}
	}
	j.Stages = mapReduce(m, d)
	return j, nil
}

// time is a task's time, with its spread.
func (s SWIM) time(fixed time.Duration, more int64, most time.Duration, job, kind uint64, i int) (time.Duration, error) {
	if more < 0 || more > int64(WorkMax) {
		return 0, fmt.Errorf("task %d takes longer than %v", i, WorkMax)
	}
	d := fixed + time.Duration(more)
	if most > 0 {
		d = min(d, most)
	}
	u := unit(splitmix(splitmix(splitmix(splitmix(s.Seed^0x5357494d)^job)^kind) ^ uint64(i)))
	return time.Duration(math.RoundToEven(float64(d) * float64(float64(1-s.Spread)+float64(float64(2*s.Spread)*u)))), nil
}

func (s SWIM) scale(bytes int64) int64 { return mulDiv(bytes, s.Machines, s.Of) }

// mulDiv is a × b / c, rounded down, of numbers that are not negative; -1: it overflows.
func mulDiv(a, b, c int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high >= uint64(c) {
		return -1
	}
	q, _ := bits.Div64(high, low, uint64(c))
	if q > math.MaxInt64 {
		return -1
	}
	return int64(q)
}
