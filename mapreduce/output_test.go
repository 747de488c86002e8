package mapreduce_test

import (
	"fmt"
	"io"
	"iter"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// listing is a format that has a beginning, typed records and an end.
type listing struct {
	w io.Writer
	n int64
}

func (l *listing) Write(key string, value int64) error {
	if key == "bad" {
		return fmt.Errorf("no %s here", key)
	}
	l.n += value
	_, err := fmt.Fprintf(l.w, "(%s %d)", key, value)
	return err
}

func (l *listing) Close() error {
	_, err := fmt.Fprintf(l.w, "%d]", l.n)
	return err
}

func openListing(w io.Writer) (mapreduce.RecordWriter[string, int64], error) {
	_, err := io.WriteString(w, "[")
	return &listing{w: w}, err
}

func TestOutputFormat(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("b a\nb"), 0o666)
	j := wordCount(false, mapreduce.Settings{Reducers: 1})
	j.Output = mapreduce.Output[string, int64]{Suffix: ".list", Open: openListing}
	if _, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(dir + "/out/part-r-00000.list"); string(got) != "[(a 1)(b 2)3]" {
		t.Errorf("%q, %v", got, err)
	}
	os.WriteFile(dir+"/in", []byte("a bad c"), 0o666)
	_, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + "/out2"}, jobtest.Options{})
	if err == nil || !strings.Contains(err.Error(), "no bad here") {
		t.Errorf("a format's error: %v", err)
	}
}

type (
	lined struct{ Kids []lined }
	born  struct{ at time.Time } //nolint:unused // fmt calls no methods in a field in lower case
	aged  struct{ At time.Time }
	links struct {
		N    int
		Next *int
	}
)

func textOf[V any](t *testing.T) error {
	return submitted(t, func(j *mapreduce.TextJob[string, V]) { j.Reducers, j.Reduce = mapreduce.MapOnly, nil })
}

// An address in an output says nothing and is another one each time, so a type that
// would be written as one is refused.
func TestNoAddressesInText(t *testing.T) {
	for want, err := range map[string]error{
		"links would show an address, that of Next (*int)":  textOf[links](t),
		"*mapreduce_test.links would show an address":       textOf[*links](t),
		"func() int would show an address, that of (func()": textOf[func() int](t),
		"that of [] (*mapreduce_test.aged)":                 textOf[[]*aged](t),
		"that of at loc (*time.Location)":                   textOf[born](t),
		"that of [key] (*int)":                              textOf[map[*int]string](t),
		"that of C [] (chan int)":                           textOf[struct{ C []chan int }](t),
	} {
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "String method") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for i, err := range []error{textOf[aged](t), textOf[*aged](t), textOf[lined](t), textOf[any](t), textOf[*big.Int](t), textOf[[]time.Duration](t), textOf[map[string][]int](t)} {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func TestNoAddressesInNamedText(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("a\n"), 0o666)
	j := wordCount(false, mapreduce.Settings{})
	j.Reduce = func(task *mapreduce.Task, _ string, _ iter.Seq[int64], _ func(string, int64)) error {
		mapreduce.NamedOf[string, links](task, "links")("a", links{})
		return nil
	}
	_, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{})
	if err == nil || !strings.Contains(err.Error(), "that of Next (*int)") {
		t.Errorf("%v", err)
	}
}
