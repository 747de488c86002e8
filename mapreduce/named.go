package mapreduce

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

const (
	// namedMax bounds the named outputs of a task: each has a buffer.
	namedMax = 32
	// namedLengthMax leaves room for the rest of a file's name.
	namedLengthMax = 100
)

// NamedName is the name of a task's file of a named output, before the format's
// suffix: errors-m-00000 for a map task, errors-r-00000 for a reduce task.
func NamedName(name string, reduce bool, task int) string {
	letter := byte('m')
	if reduce {
		letter = 'r'
	}
	return fmt.Sprintf("%s-%c-%05d", name, letter, task)
}

// Named returns an output file of the task besides the main one, in the same folder and format,
// named as NamedName says. The first call for a name makes the file, and it is closed after
// TearDown. A name has up to 100 ASCII letters, digits, dots, underscores and hyphens, begins with
// a letter or a digit and is not "part". A task has at most 32. An error ends the task after its
// work, as write errors do. With a typed format, write with NamedOf.
func (t *Task) Named(name string) *Writer {
	if w := t.named[name]; w != nil {
		return w
	}
	w, err := t.openNamed(name)
	if err != nil {
		w = &Writer{err: fmt.Errorf("named output %q: %w", name, err)}
	}
	if len(t.named) == namedMax {
		// Beyond the bound the task keeps only the first error.
		if t.namedErr == nil {
			t.namedErr = w.err
		}
		return w
	}
	if t.named == nil {
		t.named = map[string]*Writer{}
	}
	t.named[name] = w
	return w
}

// NamedOf is Named for typed records. It writes them by the job's Output, whose types must be the
// same, or as text if the job has none.
func NamedOf[K, V any](t *Task, name string) func(K, V) {
	w := t.Named(name)
	if emit, ok := w.typed.(func(K, V)); ok {
		return emit
	}
	if _, ok := w.format.(typedWriter[K, V]); w.format != nil && !ok {
		w.fail(fmt.Errorf("named output %q: the job's Output is not of the types of func(%T, %T)", name, *new(K), *new(V)))
		return func(K, V) {}
	}
	if w.format == nil {
		w.fail(cmp.Or(textable[K](), textable[V]()))
	}
	emit := typedEmit[K, V](w)
	w.typed = emit
	return emit
}

func (t *Task) openNamed(name string) (*Writer, error) {
	if err := checkNamed(name); err != nil {
		return nil, err
	}
	if len(t.named) == namedMax {
		return nil, fmt.Errorf("the task has %d named outputs already, the most there can be: write to fewer, with the difference in the key", namedMax)
	}
	if t.sampling {
		return newWriter(dropped{io.Discard}, t.job.Output)
	}
	f, err := t.n.Create(t.ctx, t.out, NamedName(name, t.letter == 'r', t.n.Info().Index)+t.job.Output.Suffix)
	if err != nil {
		return nil, err
	}
	return newWriter(f, t.job.Output)
}

// dropped is a writer whose output is discarded.
type dropped struct{ io.Writer }

func (dropped) Close() error { return nil }

func checkNamed(name string) error {
	switch {
	case name == "part":
		return errors.New(`"part" is the main output: use another name`)
	case name == "" || len(name) > namedLengthMax:
		return fmt.Errorf("a name has 1 to %d characters", namedLengthMax)
	case name[0] == '.' || name[0] == '_' || name[0] == '-':
		return errors.New("a name begins with a letter or a digit: readers pass over files that begin otherwise")
	}
	for _, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return errors.New("a name has only letters (a to z), digits, dots, underscores and hyphens")
		}
	}
	return nil
}

// closeNamed closes all named outputs, in order of name.
func (t *Task) closeNamed() error {
	if t.namedErr != nil {
		return t.namedErr
	}
	for _, name := range slices.Sorted(maps.Keys(t.named)) {
		if err := t.named[name].close(); err != nil {
			return err
		}
	}
	return nil
}
