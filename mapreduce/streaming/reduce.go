package streaming

import (
	"io"

	"github.com/hamadryad/hamadryad/mapreduce"
)

// runReduce runs a reduce task: one command reads all its pairs. If a command gets no pair at all,
// its output is dropped, as in Hadoop.
func (j *Job) runReduce(t *mapreduce.Task, pairs *mapreduce.Pairs, out *mapreduce.Writer) error {
	line := func(line []byte) error {
		out.Pair(j.settings.reduceOut.cut(line))
		return out.Err()
	}
	if pairs.Empty() && pairs.Err() == nil {
		line = func([]byte) error { return nil }
	}
	return j.run(t, j.reducer, nil, func(w io.Writer) error {
		return j.feedPairs(w, func() (key, value []byte, ok bool, err error) {
			key, value, ok = pairs.Next()
			return key, value, ok, pairs.Err()
		})
	}, line)
}

// feedPairs writes pairs as lines to a reducer or combiner.
func (j *Job) feedPairs(w io.Writer, next func() (key, value []byte, ok bool, err error)) error {
	separator := j.settings.reduceIn
	buf := make([]byte, 0, feedBytes+4096)
	for {
		key, value, ok, err := next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		buf = appendPair(buf, key, separator, value)
		if len(buf) >= feedBytes {
			if _, err := w.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	_, err := w.Write(buf)
	return err
}

// reduceIdentity writes all pairs.
func reduceIdentity(t *mapreduce.Task, pairs *mapreduce.Pairs, out *mapreduce.Writer) error {
	for n := 0; ; n++ {
		key, value, ok := pairs.Next()
		if !ok {
			return pairs.Err()
		}
		if out.Pair(key, value); out.Err() != nil {
			return out.Err()
		}
		if n%1024 == 0 && t.Context().Err() != nil {
			return t.Context().Err()
		}
	}
}
