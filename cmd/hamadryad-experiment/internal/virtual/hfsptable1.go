package virtual

import (
	"context"
	"fmt"
	"strings"

	"github.com/hamadryad/hamadryad/laboratory/traces"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// workloads counts the jobs of both workloads by the cells of table 1.
func workloads(_ context.Context, _ *Lab, t *table) error {
	small, err := traces.Read(traces.FB2009)
	if err != nil {
		return err
	}
	classes := map[string]int{}
	for i := range small.Jobs {
		classes[small.Jobs[i].Class]++
	}
	got := fmt.Sprintf("%d/%d/%d", classes["small"], classes["medium"], classes["big"])
	t.claim(got == "53/41/6", "HFSP table 1, FB2009: small/medium/big", "53/41/6 %", "%s", got).must()
	large, err := traces.Read(traces.FB2010)
	if err != nil {
		return err
	}
	var cells [6]int
	for i := range large.Jobs {
		cells[cellOf(&large.Jobs[i])]++
	}
	got = strings.Trim(strings.ReplaceAll(fmt.Sprint(cells), " ", "/"), "[]")
	t.claim(got == "39/16/11/10/7/10", "HFSP table 1, FB2010: jobs of each cell", "39/16/11/10/7/10", "%s", got).must()
	return nil
}

// cellOf is the row of FB10 in table 1 that a job is counted in.
func cellOf(j *workload.Job) int {
	maps, reduces := len(j.Stages[0].Tasks), 0
	if len(j.Stages) > 1 {
		reduces = len(j.Stages[1].Tasks)
	}
	switch {
	case maps > 2500:
		return 5
	case maps > 1500 && reduces > 100:
		return 4
	case maps > 1500:
		return 3
	case reduces > 100:
		return 2
	case reduces > 10:
		return 1
	}
	return 0
}
