package mapreduce

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"reflect"

	"github.com/hamadryad/hamadryad/mapreduce/internal/codec"
	"github.com/hamadryad/hamadryad/mapreduce/internal/sorting"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// Job is the typed form. The type parameters are Hadoop's: key and value of the input, of what Map
// emits, and of the output.
type Job[K1, V1, K2, V2, K3, V3 any] struct {
	Name string
	Help string // purpose of the job, for --help; the arguments are added
	Settings

	// Map is called for each input record.
	Map func(t *Task, key K1, value V1, emit func(K2, V2)) error
	// Combine folds two values of a key; if nil, all values are shuffled. It must be associative
	// and commutative, and is called any number of times.
	Combine func(a, b V2) V2
	// Reduce is called for each key, in order, with its values. Values that it leaves unread are
	// skipped. They are streamed, and can be ranged over once, before Reduce returns. A second
	// range panics, even after a first range that was left early. To use values twice, keep them
	// (slices.Collect) or read in pieces by iter.Pull.
	Reduce func(t *Task, key K2, values iter.Seq[V2], emit func(K3, V3)) error

	// Input reads the records of a map task; the zero value is Text, for K1 int64
	// (offset in the file) and V1 string or []byte (the line).
	Input Format[K1, V1]
	// KeyCodec and ValueCodec encode what Map emits. Zero means a default for the types, as the
	// package comment describes: KeyCodec is CodecOf's, and ValueCodec is a shorter one without
	// order. A key's codec must be ordered.
	KeyCodec   Codec[K2]
	ValueCodec Codec[V2]
	// Partition picks the reducer of a key, 0 to n-1; if nil, the key's hash does.
	Partition func(key K2, n int) int
	// Compare and Group are as those of Bytes; Reduce gets the first key of its group. Leave
	// Compare out if the key's own order suffices. It does for structs whose fields stand in the
	// order of the sort, with the tag `mapreduce:"desc"` for descending fields. A Compare needs the
	// keys decoded, so sorting takes longer, and the task's log says so. With a Compare the
	// KeyCodec need not be ordered.
	Compare, Group func(a, b K2) int
	// Output is the format of the output files; the zero value is text.
	Output Output[K3, V3]
}

// TextJob is a Job from lines of text to lines of "key, tab, value".
type TextJob[K, V any] = Job[int64, string, K, V, K, V]

// Format reads the input of a map task and calls each for every record, until each returns an
// error.
type Format[K, V any] func(t *Task, each func(K, V) error) error

// Text reads lines: the key is a line's offset in the file, the value its text without its end.
func Text(t *Task, each func(offset int64, line string) error) error {
	for line, err := range t.Lines() {
		if err != nil {
			return err
		}
		if err := each(line.Offset, string(line.Text)); err != nil {
			return err
		}
	}
	return nil
}

// TextBytes is Text without a copy: the line is valid until the call of each returns.
func TextBytes(t *Task, each func(offset int64, line []byte) error) error {
	for line, err := range t.Lines() {
		if err != nil {
			return err
		}
		if err := each(line.Offset, line.Text); err != nil {
			return err
		}
	}
	return nil
}

// Definition returns the job's definition. Its arguments are INPUT... OUTPUT.
func (j Job[K1, V1, K2, V2, K3, V3]) Definition() job.Definition {
	d := Bytes{Name: j.Name, Help: j.Help}.Definition()
	d.Build = func(g *job.Graph, args []string) error {
		b, err := j.bytes()
		if err != nil {
			return err
		}
		return b.build(g, args)
	}
	return d
}

// Add adds the job to a graph, as Bytes.Add does. A source with a Map of its own gets it from
// MapOf.
func (j Job[K1, V1, K2, V2, K3, V3]) Add(g *job.Graph, out string, sources ...Source) error {
	b, err := j.bytes()
	if err != nil {
		return err
	}
	return b.Add(g, out, sources...)
}

// MapOf makes the Map of a Source out of a typed function that reads its own input format. If key
// and value have other types than those of the job's Input, call MapOf on a Job of these types;
// only its types count. Codecs and SkipBad are those of the job that the source is added to, which
// must emit the same types. A job whose sources all have a Map still needs a Map of its own.
func (j Job[K1, V1, K2, V2, K3, V3]) MapOf(input Format[K1, V1], m func(t *Task, key K1, value V1, emit func(K2, V2)) error) func(*Task, *Emitter) error {
	j.Map = m
	if input != nil {
		j.Input = input
	}
	err := j.inputs()
	return func(t *Task, e *Emitter) error {
		if err != nil {
			return err
		}
		j := j
		if err := j.joined(t.job); err != nil {
			return job.Permanent(err)
		}
		return j.mapBytes(t, e)
	}
}

// codecs encode a job's pairs between Map and Reduce.
type codecs[K2, V2 any] struct {
	key   Codec[K2]
	value Codec[V2]
}

// joined takes the codecs from the job that a source is added to.
func (j *Job[K1, V1, K2, V2, K3, V3]) joined(to *Bytes) error {
	if to.Reducers == MapOnly {
		return nil // map-only: pairs go to the output unencoded
	}
	if c, same := to.codecs.(codecs[K2, V2]); same {
		j.KeyCodec, j.ValueCodec = c.key, c.value
		return nil
	}
	if to.codecs != nil {
		return fmt.Errorf("a source's Map emits keys of type %s and values of type %s, and the job's Map others: make them the same", reflect.TypeFor[K2](), reflect.TypeFor[V2]())
	}
	return j.setCodecs() // the source was added to a Bytes job
}

// bytes converts the job to the fast form.
func (j Job[K1, V1, K2, V2, K3, V3]) bytes() (Bytes, error) {
	if err := j.defaults(); err != nil {
		return Bytes{}, err
	}
	b := Bytes{Name: j.Name, Help: j.Help, Settings: j.Settings, Map: j.mapBytes, Output: bytesOutput(j.Output), typed: true}
	if j.Reducers != MapOnly {
		b.codecs = codecs[K2, V2]{j.KeyCodec, j.ValueCodec}
	}
	if j.Reduce != nil {
		b.Reduce = j.reduceBytes()
	}
	if j.Combine != nil {
		b.Combine = j.combineBytes()
	}
	if j.Partition != nil {
		b.Partition = func(key []byte, n int) int { return j.Partition(j.key(key), n) }
	}
	b.Compare, b.Group = j.comparing(j.Compare), j.comparing(j.Group)
	if j.Compare != nil {
		b.decoded = &sorting.Decoded{
			Decode:  func(key []byte) any { k := j.key(key); return &k },
			Compare: func(a, b any) int { return j.Compare(*a.(*K2), *b.(*K2)) },
		}
	}
	return b, nil
}

// key decodes a key.
func (j *Job[K1, V1, K2, V2, K3, V3]) key(b []byte) K2 {
	k, err := j.KeyCodec.Decode(b)
	if err != nil {
		panic(fmt.Errorf("mapreduce: the key's codec can't read what it wrote: %w", err))
	}
	return k
}

func (j *Job[K1, V1, K2, V2, K3, V3]) comparing(compare func(a, b K2) int) func(a, b []byte) int {
	if compare == nil {
		return nil
	}
	return func(a, b []byte) int { return compare(j.key(a), j.key(b)) }
}

func (j *Job[K1, V1, K2, V2, K3, V3]) defaults() error {
	if err := j.inputs(); err != nil {
		return err
	}
	travels := j.setCodecs
	if j.Reducers == MapOnly {
		travels = j.sameTypes
	}
	if err := travels(); err != nil || j.Output.Open != nil {
		return err
	}
	return cmp.Or(textable[K3](), textable[V3]())
}

// inputs sets the default Input of text if there is none.
func (j *Job[K1, V1, K2, V2, K3, V3]) inputs() error {
	if j.Map == nil {
		return errors.New("the job has no Map")
	}
	if j.Input == nil {
		switch in := any(&j.Input).(type) {
		case *Format[int64, string]:
			*in = Text
		case *Format[int64, []byte]:
			*in = TextBytes
		default:
			return errors.New("the job names no Input, and its key and value are not those of text (int64 and string or []byte): set Input")
		}
	}
	return nil
}

// setCodecs sets the codecs that are zero, and refuses types that would lose data.
func (j *Job[K1, V1, K2, V2, K3, V3]) setCodecs() error {
	if j.KeyCodec.Append == nil && j.KeyCodec.Decode == nil {
		j.KeyCodec = CodecOf[K2]()
	}
	if j.ValueCodec.Append == nil && j.ValueCodec.Decode == nil {
		j.ValueCodec = codecOf[V2](codec.Value)
	}
	key := reflect.TypeFor[K2]()
	if err := j.KeyCodec.Err(); err != nil {
		return fmt.Errorf("keys of type %s can't go from Map to Reduce (KeyCodec): %w", key, err)
	}
	if err := j.ValueCodec.Err(); err != nil {
		return fmt.Errorf("values of type %s can't go from Map to Reduce (ValueCodec): %w", reflect.TypeFor[V2](), err)
	}
	if !j.KeyCodec.Ordered && j.Compare == nil {
		return fmt.Errorf("keys of type %s have no bytes that keep their order: use a type without maps, and without fields that encode themselves, or set KeyCodec or Compare", key)
	}
	return nil
}

// sameTypes checks that a map-only job emits the types that it writes.
func (j *Job[K1, V1, K2, V2, K3, V3]) sameTypes() error {
	if _, ok := any(j.Output).(Output[K2, V2]); !ok {
		return errors.New("the job is MapOnly, and its output's types (the last two) are not those that Map emits: make them the same")
	}
	return nil
}

func (j *Job[K1, V1, K2, V2, K3, V3]) mapBytes(t *Task, out *Emitter) error {
	var key, value []byte
	var emit func(K2, V2)
	if out.direct != nil && !t.sampling { // a sample needs the encoded keys
		write := typedEmit[K2, V2](out.direct)
		emit = func(k K2, v V2) {
			write(k, v)
			out.err = out.direct.err
		}
	} else {
		emit = func(k K2, v V2) {
			call := out.enter() // key and value memory is reused, so emit is for one goroutine
			key, value = j.KeyCodec.Append(key[:0], k), j.ValueCodec.Append(value[:0], v)
			out.encoded(key, value)
			out.leave(call)
		}
	}
	if t.job.SkipBad > 0 {
		return j.mapSkipping(t, out, t.job.SkipBad, emit)
	}
	return j.Input(t, func(k K1, v V1) error {
		if err := j.Map(t, k, v, emit); err != nil {
			return err
		}
		return out.Err()
	})
}

func (j *Job[K1, V1, K2, V2, K3, V3]) combineBytes() func(acc, value []byte) []byte {
	decode := func(b []byte) V2 {
		v, err := j.ValueCodec.Decode(b)
		if err != nil {
			panic(fmt.Errorf("mapreduce: the value's codec can't read what it wrote: %w", err))
		}
		return v
	}
	return func(acc, value []byte) []byte {
		return j.ValueCodec.Append(acc[:0], j.Combine(decode(acc), decode(value)))
	}
}

func (j *Job[K1, V1, K2, V2, K3, V3]) reduceBytes() func(*Task, []byte, *Values, *Writer) error {
	return func(t *Task, key []byte, values *Values, out *Writer) error {
		k, err := j.KeyCodec.Decode(key)
		if err != nil {
			return err
		}
		pass := onePass[V2]{values: values, decode: j.ValueCodec.Decode}
		if out.typed == nil {
			out.typed = typedEmit[K3, V3](out) // once for the task, not for each key
		}
		err = j.Reduce(t, k, pass.all, out.typed.(func(K3, V3)))
		pass.over = true
		return errors.Join(err, pass.err)
	}
}
