package jobfile

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Attempts are stored by columns. A value is stored as its difference from a prediction: the row before, or an earlier
// column of the same row. Attempts that ran one after another are alike, so the differences are small. Zigzag coding
// makes them small positive numbers. These are split into planes: all lowest bytes, then all next bytes, until the rest
// is 0. So equal bytes lie together, and compress well.

// row is an attempt that is encoded or decoded, with the attempt before it.
type row struct {
	a, before *changes.Attempt
	names     *names
}

// column delta-encodes one field: delta returns the difference, and apply sets the field by it. Both may use the fields
// of the columns before.
type column struct {
	delta func(r row) uint64
	apply func(r row, v uint64)
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
	{kindDelta, applyKind},
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

// There is a column for each locality level: another level needs another column.
var _ = [1]struct{}{}[scheduler.LocalityLevels-3]

func readAt(level int) column {
	return column{
		func(r row) uint64 { return signed(r.a.Work.Read[level], 0) },
		func(r row, v uint64) { r.a.Work.Read[level] = unsigned[int64](v, 0) },
	}
}

// kindDelta packs the state, the outcome and whether the attempt is speculative into one number.
func kindDelta(r row) uint64 {
	v := uint64(r.a.State)<<16 | uint64(r.a.Outcome)<<1
	if r.a.Speculative {
		v |= 1
	}
	return v
}

func applyKind(r row, v uint64) {
	r.a.State, r.a.Outcome, r.a.Speculative = changes.State(v>>16), scheduler.AttemptOutcome(v>>1), v&1 == 1
}

// integer is the type of a column's field.
type integer interface {
	~int32 | ~int64 | ~uint64
}

// signed returns the zigzag code of a difference: small ones of both signs are small numbers. It wraps around, so any two
// values have a difference.
func signed[T integer](v, expected T) uint64 {
	d := int64(v) - int64(expected)
	return uint64(d)<<1 ^ uint64(d>>63)
}

func unsigned[T integer](v uint64, expected T) T {
	return T(int64(expected) + (int64(v>>1) ^ -int64(v&1)))
}

// after encodes a time by an earlier one that it mostly follows soon. 0 stands for the zero time.
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

// ran predicts an attempt's running time from its other times. A unit of the result is a microsecond.
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

// blockRows is how many attempts a block has. A page reads one block, so larger blocks cost time; smaller ones compress
// worse.
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
			values[i] = c.delta(row{&rows[i], before, n})
			before = &rows[i]
		}
		b = appendPlanes(b, values)
	}
	return b
}

// readRows appends so many attempts of a job to a list.
func readRows(to []changes.Attempt, b []byte, count int, job scheduler.JobID, n *names) (_ []changes.Attempt, err error) {
	to = slices.Grow(to, count)
	all := to[:len(to)+count]
	rows, values := all[len(to):], make([]uint64, count)
	clear(rows)
	for _, c := range columns {
		if b, err = planes(b, values); err != nil {
			return nil, err
		}
		before := &changes.Attempt{}
		for i, v := range values {
			c.apply(row{&rows[i], before, n}, v)
			before = &rows[i]
		}
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%d bytes follow the last column", len(b))
	}
	for i := range rows {
		rows[i].Job = job
	}
	return all, nil
}
