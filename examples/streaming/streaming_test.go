package streaming_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce/streaming"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// run runs an example's script with a stand-in for hamadryad-streaming, and the
// job of that command line in this process. It returns the sorted output.
func run(t *testing.T, script, input string) (lines []string, counters map[string]int64) {
	t.Helper()
	dir := t.TempDir()
	standIn := "#!/bin/sh\nprintf '%s\\0' \"$@\" > " + dir + "/args\n"
	if err := os.WriteFile(dir+"/hamadryad-streaming", []byte(standIn), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/in", []byte(input), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("./"+script, dir+"/in", dir+"/out")
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	args, err := os.ReadFile(dir + "/args")
	if err != nil {
		t.Fatal(err)
	}
	result, err := jobtest.Run(t.Context(), streaming.Definition(), strings.Split(strings.TrimSuffix(string(args), "\x00"), "\x00"), jobtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := jobtest.Output(dir + "/out")
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(strings.Lines(strings.Join(parts, ""))), result.Counters
}

func TestWordCount(t *testing.T) {
	got, counters := run(t, "wordcount.sh", strings.Repeat("the oak and the elm\n", 100))
	if want := []string{"and\t100\n", "elm\t100\n", "oak\t100\n", "the\t200\n"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if counters["REDUCE_INPUT_RECORDS"] != 4 {
		t.Errorf("the combiner did nothing: %v", counters)
	}
}

func TestHottest(t *testing.T) {
	got, counters := run(t, "hottest.sh", "oslo,jan,-4\noslo,jul,17.5\nnonsense\noslo,feb,-12\nrome,aug,31\nrome,jan,9\nvostok,jan,-32\nvostok,jul,-67\n")
	if want := []string{"oslo\tjul 17.5\n", "rome\taug 31\n", "vostok\tjan -32\n"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if counters["Weather:bad lines"] != 1 {
		t.Errorf("counters %v", counters)
	}
}
