package streaming

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/hamadryad/hamadryad/mapreduce"
)

// aggregate is the reducer "aggregate" (Hadoop, package mapred.lib.aggregate): a
// key is TYPE:ID, the type says how its values are put together, and the output is
// ID and the result.
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
			return fmt.Errorf("the reducer aggregate: %s of %q: %w", kind, v, err)
		}
	}
	out.Pair(id, a.result(nil))
	return nil
}

type aggregator interface {
	add(value []byte) error
	result(buf []byte) []byte
}

var aggregators = map[string]func() aggregator{
	"LongValueSum":   func() aggregator { return &longs{join: addLongs} },
	"LongValueMax":   func() aggregator { return &longs{sum: math.MinInt64, join: maxLong} },
	"LongValueMin":   func() aggregator { return &longs{sum: math.MaxInt64, join: minLong} },
	"DoubleValueSum": func() aggregator { return new(doubles) },
	"StringValueMax": func() aggregator { return &texts{sign: 1} },
	"StringValueMin": func() aggregator { return &texts{sign: -1} },
	"UniqValueCount": func() aggregator { return unique{} },
}

// longs puts whole numbers together.
type longs struct {
	sum  int64
	join func(a, b int64) int64
}

func addLongs(a, b int64) int64 { return a + b }
func maxLong(a, b int64) int64  { return max(a, b) }
func minLong(a, b int64) int64  { return min(a, b) }

func (l *longs) add(v []byte) error {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(v)), 10, 64)
	if err == nil {
		l.sum = l.join(l.sum, n)
	}
	return err
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
		return strconv.AppendFloat(buf, d.sum, 'f', 1, 64) // as Java has it
	}
	return strconv.AppendFloat(buf, d.sum, 'g', -1, 64)
}

// texts finds the first or last in order of bytes.
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

// uniqueMax bounds the different values of a key of UniqValueCount, which are held
// in memory.
const uniqueMax = 1 << 20

// unique counts different values.
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
