package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

func run(t *testing.T, days, text string) ([]string, error) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/in", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := jobtest.Run(t.Context(), hottest, []string{days, dir + "/in", dir + "/out"}, jobtest.Options{}); err != nil {
		return nil, err
	}
	parts, err := jobtest.Output(dir + "/out")
	return slices.Sorted(strings.Lines(strings.Join(parts, ""))), err
}

func TestHottestDays(t *testing.T) {
	got, err := run(t, "2", "oslo,jan,-4\noslo,jul,17.5\noslo,feb,-12\nrome,jul,31\noslo,oct,0\nros,may,9\nrome,jan,7\n")
	want := []string{"oslo\tjul 17.5,oct 0\n", "rome\tjul 31,jan 7\n", "ros\tmay 9\n"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%q", err, got)
	}
}

// Keys are in order of heat as byte strings, the hottest first.
func TestKeysKeepTheOrder(t *testing.T) {
	var last []byte
	codec := mapreduce.CodecOf[reading]()
	for _, degrees := range []float64{1e9, 40, 2.5, 1e-9, 0, -1e-9, -2.5, -40, -1e9} {
		key := codec.Append(nil, reading{"x", degrees})
		if last != nil && bytes.Compare(last, key) >= 0 {
			t.Errorf("the key of %v is not behind that of a hotter day", degrees)
		}
		last = key
	}
}

func TestBadLine(t *testing.T) {
	_, err := run(t, "1", "oslo,jan,-4\noslo,cold\n")
	if err == nil || !strings.Contains(err.Error(), `"oslo,cold" is no station`) {
		t.Errorf("%v", err)
	}
}
