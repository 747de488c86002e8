package virtual

import (
	"bytes"
	"os/exec"
	"testing"
)

// Published figures come out with the plug-ins' own programs: those that take seconds, and
// of FB2009 the smallest cluster. The whole table is that of `make experiments`.
func TestPublishedFigures(t *testing.T) {
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin+"/", "../../../../plugins/...").CombinedOutput(); err != nil {
		t.Fatalf("building the policies: %v\n%s", err, out)
	}
	var log bytes.Buffer
	l := Lab{Bin: bin, Log: &log, Runs: 8, Sizes: []int{10}}
	err := l.Run(t.Context(), []string{"hammr-table1", "hfsp-workloads", "hfsp-fb2009"})
	t.Log(log.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Run(t.Context(), []string{"nonsense"}); err == nil {
		t.Error("an experiment that there is not is made")
	}
}
