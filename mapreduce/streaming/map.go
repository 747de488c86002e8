package streaming

import (
	"bytes"
	"io"
	"strconv"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// runMap runs a map task. As in Hadoop, where a task has one file, a command gets the lines of one
// file. So a task of many small files runs as many commands in sequence, unless
// CombineTextInputFormat is set.
func (j *Job) runMap(t *mapreduce.Task, emit *mapreduce.Emitter) error {
	pair := func(key, value []byte) error {
		emit.Pair(key, value)
		return emit.Err()
	}
	var c *combining
	if j.combiner.words != nil && j.settings.reducers != mapreduce.MapOnly {
		var err error
		if c, err = j.newCombining(t); err != nil {
			return err
		}
		defer c.close()
		pair = c.add
	}
	for _, splits := range j.perCommand(t.Node().Task()) {
		if err := j.mapSplits(t, splits, pair); err != nil {
			return err
		}
	}
	if c != nil {
		return c.finish(emit)
	}
	return nil
}

// perCommand divides a task into the inputs of its commands. A task without input has one empty
// input: a command may print something all the same.
func (j *Job) perCommand(task job.Task) (files []job.Task) {
	if j.settings.combineFiles || len(task) == 0 {
		return []job.Task{task}
	}
	for i, s := range task {
		if i > 0 && task[i-1].Path == s.Path {
			last := len(files) - 1
			files[last] = append(files[last], s)
			continue
		}
		files = append(files, job.Task{s})
	}
	return files
}

// mapSplits runs the mapper on the input of one command.
func (j *Job) mapSplits(t *mapreduce.Task, splits job.Task, pair func(key, value []byte) error) error {
	cut := func(line []byte) error { return pair(j.settings.mapOut.cut(line)) }
	f := feeder{j: j, t: t, splits: splits}
	if j.mapper.is(classIdentity) {
		return f.lines(cut)
	}
	return j.run(t, j.mapper, splitSettings(splits), f.write, cut)
}

// splitSettings describe the input to a mapper.
func splitSettings(splits job.Task) []setting {
	if len(splits) == 0 {
		return nil
	}
	return []setting{
		{"mapreduce.map.input.file", splits[0].Path},
		{"mapreduce.map.input.start", strconv.FormatInt(splits[0].Offset, 10)},
		{"mapreduce.map.input.length", strconv.FormatInt(splits.Bytes(), 10)},
	}
}

// feeder passes the lines of stored files on.
type feeder struct {
	j      *Job
	t      *mapreduce.Task
	splits job.Task
	buf    []byte
}

// keep reports whether lines are passed with their key: the offset of the line, or the text before
// the first separator.
func (f *feeder) keep() bool {
	s := &f.j.settings
	if s.ignoreKey != nil {
		return !*s.ignoreKey
	}
	return s.keyed
}

// write writes the lines to a command. If the command gets nothing but the lines, they are written
// as they stand in the file.
func (f *feeder) write(w io.Writer) error {
	if f.keep() || f.j.settings.keyed {
		return f.writePairs(w)
	}
	for block, err := range f.t.BlocksOf(f.splits) {
		if err != nil {
			return err
		}
		f.t.Read(countLines(block))
		if bytes.IndexByte(block, '\r') >= 0 || block[len(block)-1] != '\n' {
			f.buf = appendPlain(f.buf[:0], block)
			block = f.buf
		}
		if _, err := w.Write(block); err != nil {
			return err
		}
	}
	return nil
}

// writePairs writes lines with their keys, or values without their keys.
func (f *feeder) writePairs(w io.Writer) error {
	s := &f.j.settings
	var number []byte
	err := f.each(func(at int64, line []byte) error {
		key, value, _ := bytes.Cut(line, s.keySeparator)
		if !s.keyed {
			number = strconv.AppendInt(number[:0], at, 10)
			key, value = number, line
		}
		if f.keep() {
			f.buf = appendPair(f.buf, key, s.mapIn, value)
		} else {
			f.buf = append(append(f.buf, value...), '\n')
		}
		return f.flush(w, feedBytes)
	})
	if err != nil {
		return err
	}
	return f.flush(w, 1)
}

// flush writes the held bytes if there are at least so many.
func (f *feeder) flush(w io.Writer, least int) error {
	if len(f.buf) < least {
		return nil
	}
	_, err := w.Write(f.buf)
	f.buf = f.buf[:0]
	return err
}

// lines passes the lines to a built-in mapper. The key of a line's pair is the text before the
// separator of the mapper's output.
func (f *feeder) lines(line func([]byte) error) error {
	s := &f.j.settings
	return f.each(func(_ int64, text []byte) error {
		if s.keyed {
			key, value, _ := bytes.Cut(text, s.keySeparator)
			f.buf = append(append(append(f.buf[:0], key...), s.mapOut.separator...), value...)
			text = f.buf
		}
		return line(text)
	})
}

// each calls line for all lines, without their ends.
func (f *feeder) each(line func(at int64, text []byte) error) error {
	for l, err := range f.t.LinesOf(f.splits) {
		if err != nil {
			return err
		}
		if err := line(l.Offset, l.Text); err != nil {
			return err
		}
	}
	return nil
}

func countLines(block []byte) int64 {
	n := int64(bytes.Count(block, []byte{'\n'}))
	if block[len(block)-1] != '\n' {
		n++
	}
	return n
}
