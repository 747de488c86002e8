package streaming_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce/streaming"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// TestSameAsAShellPipe: many tasks, little memory, so that both the combiner's and
// the reducer's sorts go to disk, against the same commands in a pipe.
func TestSameAsAShellPipe(t *testing.T) {
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for range 60_000 {
		fmt.Fprintf(&text, "%d word%d %x\n", random.IntN(50), random.IntN(20_000), random.Uint32())
	}
	if err := os.WriteFile(dir+"/a", []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, combiner := range map[string][]string{"plain": nil, "combined": {"-combiner", awkSums}} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(dir, name)
			args := append(combiner, "-D", "mapreduce.input.fileinputformat.split.maxsize=700000", "-numReduceTasks", "3",
				"-input", dir+"/a", "-output", out, "-mapper", awkWords, "-reducer", awkSums)
			result, err := jobtest.Run(t.Context(), streaming.Definition(), args, jobtest.Options{Memory: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			pipe := "export LC_ALL=C; " + awkWords + ` <"$1"/a | sort | ` + awkSums + ` | sort >"$1"/want; cat "$2"/part-r-* | sort | cmp - "$1"/want`
			if said, err := exec.Command("sh", "-c", pipe, "sh", dir, out).CombinedOutput(); err != nil {
				t.Errorf("%v %s", err, said)
			}
			if result.Counters["SPILLED_RECORDS"] == 0 || result.Counters["MAP_OUTPUT_RECORDS"] != 180_000 {
				t.Error(result.Counters)
			}
		})
	}
}
