package streaming

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// aggregate is the reducer "aggregate" (Hadoop, package mapred.lib.aggregate). A key is TYPE:ID;
// the type is the aggregation of its values, and the output is ID and the result.
func aggregate(_ *mapreduce.Task, key []byte, values *mapreduce.Values, out *mapreduce.Writer) error {
	kind, id, ok := bytes.Cut(key, []byte{':'})
	if !ok {
		return fmt.Errorf("the reducer aggregate needs keys of the form TYPE:ID, such as LongValueSum:%s", key)
	}
	make, ok := aggregators[string(kind)]
	if !ok {
		return fmt.Errorf("the reducer aggregate does not know %q: it has DoubleValueSum, LongValueMax, LongValueMin, LongValueSum, StringValueMax, StringValueMin and UniqValueCount", kind)
	}
	a := make()
	for {
		v, ok := values.Next()
		if !ok {
			break
		}
		if err := a.add(v); err != nil {
			return fmt.Errorf("the reducer aggregate: %q of the key %s: %w", v, shorten(key), err)
		}
	}
	out.Pair(id, a.result(nil))
	return nil
}

// shorten cuts a key for a message.
func shorten(key []byte) string { return fmt.Sprintf("%.100q", key) }

type aggregator interface {
	add(value []byte) error
	result(buf []byte) []byte
}

var aggregators = map[string]func() aggregator{
	"LongValueSum":   func() aggregator { return &longs{join: job.AddInt64} },
	"LongValueMax":   func() aggregator { return &longs{sum: math.MinInt64, join: maxLong} },
	"LongValueMin":   func() aggregator { return &longs{sum: math.MaxInt64, join: minLong} },
	"DoubleValueSum": func() aggregator { return new(doubles) },
	"StringValueMax": func() aggregator { return &texts{sign: 1} },
	"StringValueMin": func() aggregator { return &texts{sign: -1} },
	"UniqValueCount": func() aggregator { return unique{} },
}

// longs aggregates integers.
type longs struct {
	sum  int64
	join func(a, b int64) (joined int64, ok bool)
}

func maxLong(a, b int64) (int64, bool) { return max(a, b), true }
func minLong(a, b int64) (int64, bool) { return min(a, b), true }

func (l *longs) add(v []byte) error {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(v)), 10, 64)
	if err != nil {
		return err
	}
	joined, ok := l.join(l.sum, n)
	if !ok {
		return job.Permanent(fmt.Errorf("the sum is %d before it, and no number of 64 bits can hold what comes out: use DoubleValueSum, or a reducer of your own", l.sum))
	}
	l.sum = joined
	return nil
}

func (l *longs) result(buf []byte) []byte { return strconv.AppendInt(buf, l.sum, 10) }

// doubles adds numbers.
type doubles struct{ sum float64 }

func (d *doubles) add(v []byte) error {
	n, err := strconv.ParseFloat(string(bytes.TrimSpace(v)), 64)
	if err == nil {
		d.sum += n
	}
	return err
}

func (d *doubles) result(buf []byte) []byte {
	if d.sum == math.Trunc(d.sum) && math.Abs(d.sum) < 1e7 {
		return strconv.AppendFloat(buf, d.sum, 'f', 1, 64) // as Java formats it
	}
	return strconv.AppendFloat(buf, d.sum, 'g', -1, 64)
}

// texts finds the first or last text in order of bytes.
type texts struct {
	sign int
	any  bool
	best []byte
}

func (s *texts) add(v []byte) error {
	if !s.any || bytes.Compare(v, s.best)*s.sign > 0 {
		s.any, s.best = true, append(s.best[:0], v...)
	}
	return nil
}

func (s *texts) result(buf []byte) []byte { return append(buf, s.best...) }

// uniqueMax bounds the distinct values of a key of UniqValueCount, which are held in memory.
const uniqueMax = 1 << 20

// unique counts distinct values.
type unique map[string]struct{}

func (u unique) add(v []byte) error {
	if _, ok := u[string(v)]; ok {
		return nil
	}
	if len(u) == uniqueMax {
		return fmt.Errorf("the key has more than %d different values: count them with a command that reads them in order", uniqueMax)
	}
	u[string(v)] = struct{}{}
	return nil
}

func (u unique) result(buf []byte) []byte { return strconv.AppendInt(buf, int64(len(u)), 10) }
