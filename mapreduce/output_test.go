package mapreduce_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

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
