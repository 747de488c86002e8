package traces

import (
	"testing"

	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// The workloads have as many jobs of each kind as the HFSP paper's table 1: FB2009 by class, FB2010 by numbers of maps and reduces.
func TestTable1OfHFSP(t *testing.T) {
	small, err := Read(FB2009)
	if err != nil {
		t.Fatal(err)
	}
	classes := map[string]int{}
	for i := range small.Jobs {
		classes[small.Jobs[i].Class]++
	}
	if classes["small"] != 53 || classes["medium"] != 41 || classes["big"] != 6 || len(small.Jobs) != 100 {
		t.Errorf("FB2009 has %v, want 53 small, 41 medium and 6 big jobs", classes)
	}
	large, err := Read(FB2010)
	if err != nil {
		t.Fatal(err)
	}
	var cells [6]int
	for i := range large.Jobs {
		cells[cellOf(&large.Jobs[i])]++
	}
	if want := [6]int{39, 16, 11, 10, 7, 10}; cells != want {
		t.Errorf("FB2010 has %v jobs of each cell, want %v", cells, want)
	}
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
