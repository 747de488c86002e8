package mapreduce_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// A typed job's keys are sampled as what they are in the shuffle.
func TestTotalOrderOfATypedJob(t *testing.T) {
	dir := t.TempDir()
	var in strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&in, "w%06d\n", (i*7919)%40_000)
	}
	os.WriteFile(dir+"/in", []byte(in.String()), 0o666)
	j := wordCount(true, mapreduce.Settings{Reducers: 4, TotalOrder: true})
	if _, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	for r := range 4 {
		data, err := os.ReadFile(fmt.Sprint(dir, "/out/", mapreduce.PartName(r)))
		if n := strings.Count(string(data), "\n"); n < 5000 || err != nil {
			t.Errorf("reducer %d wrote %d of 40000 lines, %v", r, n, err)
		}
	}
}
