package jobfile

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Attempts are stored by columns. Each value is told by how it differs from what the row before, or
// an earlier column of the same row, would have one expect: attempts that ran one after another
// resemble each other. Small differences of a sign become small numbers, and these are split into
// planes: all lowest bytes, all next bytes, as far as any of them is not 0. So what is alike lies
// together, and compresses.

// row is an attempt on its way in or out, with the one before.
type row struct {
	a, before *changes.Attempt
	names     *names
}

// column is one property of attempts: how it differs, and what it is when it differs so. Both see
// the columns above of the same row.
type column struct {
	take func(r row) uint64
	give func(r row, v uint64)
}

var columns = []column{
	{
		func(r row) uint64 { return signed(r.a.ID, r.before.ID) },
		func(r row, v uint64) { r.a.ID = unsigned(v, r.before.ID) },
	},
	{
		func(r row) uint64 { return signed(r.a.Bundle, r.before.Bundle) },
		func(r row, v uint64) { r.a.Bundle = unsigned(v, r.before.Bundle) },
	},
	{
		func(r row) uint64 { return signed(r.a.Run, uint64(r.a.ID)) },
		func(r row, v uint64) { r.a.Run = unsigned(v, uint64(r.a.ID)) },
	},
	{
		func(r row) uint64 { return r.names.launcher(r.a.Launcher, r.a.On) },
		func(r row, v uint64) { r.a.Launcher, r.a.On = r.names.launcherAt(v) },
	},
	{
		func(r row) uint64 { return signed(r.a.Stage, r.before.Stage) },
		func(r row, v uint64) { r.a.Stage = unsigned(v, r.before.Stage) },
	},
	{
		func(r row) uint64 { return signed(r.a.Index, r.before.Index) },
		func(r row, v uint64) { r.a.Index = unsigned(v, r.before.Index) },
	},
	{takeKind, giveKind},
	{
		func(r row) uint64 { return signed(micros(r.a.Launched), micros(r.before.Launched)) },
		func(r row, v uint64) { r.a.Launched = nanos(unsigned(v, micros(r.before.Launched))) },
	},
	{
		func(r row) uint64 { return after(r.a.Ready, r.a.Launched) },
		func(r row, v uint64) { r.a.Ready = afterward(v, r.a.Launched) },
	},
	{
		func(r row) uint64 { return after(r.a.Started, r.a.Launched) },
		func(r row, v uint64) { r.a.Started = afterward(v, r.a.Launched) },
	},
	{
		func(r row) uint64 { return after(r.a.Executing, r.a.Started) },
		func(r row, v uint64) { r.a.Executing = afterward(v, r.a.Started) },
	},
	{
		func(r row) uint64 { return after(r.a.Since, r.a.Launched) },
		func(r row, v uint64) { r.a.Since = afterward(v, r.a.Launched) },
	},
	{
		func(r row) uint64 { return signed(r.a.Suspended/time.Microsecond, 0) },
		func(r row, v uint64) { r.a.Suspended = unsigned[time.Duration](v, 0) * time.Microsecond },
	},
	{
		func(r row) uint64 { return r.names.text(r.a.Reason) },
		func(r row, v uint64) { r.a.Reason = r.names.textAt(v) },
	},
	{
		func(r row) uint64 { return uint64(r.a.For) },
		func(r row, v uint64) { r.a.For = scheduler.JobID(v) },
	},
	{
		func(r row) uint64 { return signed(r.a.Work.Running/time.Microsecond, ran(r.a)) },
		func(r row, v uint64) { r.a.Work.Running = unsigned(v, ran(r.a)) * time.Microsecond },
	},
	readAt(0), readAt(1), readAt(2),
	{
		func(r row) uint64 { return signed(r.a.Work.ToRead, sum(r.a.Work.Read)) },
		func(r row, v uint64) { r.a.Work.ToRead = unsigned(v, sum(r.a.Work.Read)) },
	},
	{
		func(r row) uint64 { return signed(r.a.Work.Written, 0) },
		func(r row, v uint64) { r.a.Work.Written = unsigned[int64](v, 0) },
	},
}

// The columns hold each level's bytes: another level needs another column.
var _ = [1]struct{}{}[scheduler.LocalityLevels-3]

func readAt(level int) column {
	return column{
		func(r row) uint64 { return signed(r.a.Work.Read[level], 0) },
		func(r row, v uint64) { r.a.Work.Read[level] = unsigned[int64](v, 0) },
	}
}

// takeKind puts state, outcome and whether it is a second attempt into one number.
func takeKind(r row) uint64 {
	v := uint64(r.a.State)<<16 | uint64(r.a.Outcome)<<1
	if r.a.Speculative {
		v |= 1
	}
	return v
}

func giveKind(r row, v uint64) {
	r.a.State, r.a.Outcome, r.a.Speculative = changes.State(v>>16), scheduler.AttemptOutcome(v>>1), v&1 == 1
}

// integer is what a column may hold.
type integer interface {
	~int32 | ~int64 | ~uint64
}

// signed tells a difference so that small ones of both signs are small numbers. It wraps: any two
// values have one.
func signed[T integer](v, expected T) uint64 {
	d := int64(v) - int64(expected)
	return uint64(d)<<1 ^ uint64(d>>63)
}

func unsigned[T integer](v uint64, expected T) T {
	return T(int64(expected) + (int64(v>>1) ^ -int64(v&1)))
}

// after tells a time by the one that it mostly follows soon; 0 is that there is none.
func after(t, earlier scheduler.Time) uint64 {
	if t == 0 {
		return 0
	}
	return signed(micros(t), micros(earlier)) + 1
}

func afterward(v uint64, earlier scheduler.Time) scheduler.Time {
	if v == 0 {
		return 0
	}
	return nanos(unsigned(v-1, micros(earlier)))
}

func micros(t scheduler.Time) int64 { return int64(t) / int64(time.Microsecond) }
func nanos(t int64) scheduler.Time  { return scheduler.Time(t * int64(time.Microsecond)) }

// ran is how long an attempt will have run, in microseconds, by its other times.
func ran(a *changes.Attempt) time.Duration {
	if a.Started == 0 || a.Since == 0 {
		return 0
	}
	return time.Duration(micros(a.Since)-micros(a.Started)) - a.Suspended/time.Microsecond
}

func sum(read [scheduler.LocalityLevels]int64) (n int64) {
	for _, r := range read {
		n += r
	}
	return n
}

// Rows of a block. A page that is asked for costs the reading of one block, and a block of fewer
// would compress worse.
const blockRows = 16 << 10

// appendPlanes stores a column's values.
func appendPlanes(b []byte, values []uint64) []byte {
	var all uint64
	for _, v := range values {
		all |= v
	}
	width := 0
	for ; all > 0; all >>= 8 {
		width++
	}
	b = append(b, byte(width))
	for p := range width {
		for _, v := range values {
			b = append(b, byte(v>>(8*p)))
		}
	}
	return b
}

// planes reads a column's values, and returns what follows them.
func planes(b []byte, values []uint64) ([]byte, error) {
	if len(b) == 0 || b[0] > 8 || len(b)-1 < int(b[0])*len(values) {
		return nil, fmt.Errorf("a column of %d attempts is not whole", len(values))
	}
	width := int(b[0])
	b = b[1:]
	clear(values)
	for p := range width {
		for i, c := range b[:len(values)] {
			values[i] |= uint64(c) << (8 * p)
		}
		b = b[len(values):]
	}
	return b, nil
}

// appendRows stores attempts of one job, in order of id.
func appendRows(b []byte, rows []changes.Attempt, n *names) []byte {
	values := make([]uint64, len(rows))
	for _, c := range columns {
		before := &changes.Attempt{}
		for i := range rows {
			values[i] = c.take(row{&rows[i], before, n})
			before = &rows[i]
		}
		b = appendPlanes(b, values)
	}
	return b
}

// readRows reads so many attempts of a job.
func readRows(b []byte, count int, job scheduler.JobID, n *names) (rows []changes.Attempt, err error) {
	rows, values := make([]changes.Attempt, count), make([]uint64, count)
	for _, c := range columns {
		if b, err = planes(b, values); err != nil {
			return nil, err
		}
		before := &changes.Attempt{}
		for i, v := range values {
			c.give(row{&rows[i], before, n}, v)
			before = &rows[i]
		}
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%d bytes follow the last column", len(b))
	}
	for i := range rows {
		rows[i].Job = job
	}
	return rows, nil
}
