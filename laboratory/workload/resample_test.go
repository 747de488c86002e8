package workload

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"
)

// gapsOf are the times between submissions, in seconds.
func gapsOf(w *Workload) (gaps []int) {
	for i := 1; i < len(w.Jobs); i++ {
		gaps = append(gaps, int((w.Jobs[i].Submit - w.Jobs[i-1].Submit).Seconds()))
	}
	return gaps
}

// Gaps of 1 to 8 s are drawn in circular blocks of two: after k comes k+1, after 8 comes 1.
func TestResampledArrivals(t *testing.T) {
	w := equal(9)
	for i := range w.Jobs {
		w.Jobs[i].Submit = time.Duration(5+i*(i+1)/2) * time.Second // gaps of 1, 2 ... 8 s
	}
	before := fmt.Sprint(gapsOf(w))
	sums, different := 0, map[string]bool{}
	for seed := range uint64(2000) {
		made := w.Resample(seed)
		if err := made.Check(); err != nil {
			t.Fatal(err)
		}
		gaps := gapsOf(made)
		for i := 0; i < 8; i += 2 {
			if gaps[i] < 1 || gaps[i] > 8 || gaps[i+1] != gaps[i]%8+1 {
				t.Fatalf("seed %d: the gaps are %v", seed, gaps)
			}
		}
		for _, g := range gaps {
			sums += g
		}
		if made.Jobs[0].Submit != 5*time.Second || made.Jobs[8].ID != w.Jobs[8].ID || !reflect.DeepEqual(made.Jobs[3].Stages, w.Jobs[3].Stages) {
			t.Fatalf("seed %d: the jobs are not the same", seed)
		}
		if !reflect.DeepEqual(made, w.Resample(seed)) {
			t.Fatalf("seed %d comes out otherwise", seed)
		}
		different[fmt.Sprint(gaps)] = true
	}
	if mean := float64(sums) / 2000 / 8; math.Abs(mean-4.5) > 0.1 {
		t.Errorf("the mean gap is %v s, and 4.5 s in the workload", mean)
	}
	if len(different) < 1000 { // 8^4 are possible
		t.Errorf("2,000 seeds give %d different workloads", len(different))
	}
	if after := fmt.Sprint(gapsOf(w)); after != before {
		t.Errorf("the workload itself changed: %s", after)
	}
	one := equal(1)
	if made := one.Resample(3); len(made.Jobs) != 1 || made.Jobs[0].Submit != 0 {
		t.Errorf("one job becomes %+v", made.Jobs)
	}
}
