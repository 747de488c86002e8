package report

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/laboratory/report/statistics"
)

func find(t *testing.T, list []Estimate, part, name string) Estimate {
	t.Helper()
	for _, e := range list {
		if e.Part == part && e.Name == name {
			return e
		}
	}
	t.Fatalf("there is no %q of %q", name, part)
	return Estimate{}
}

// By hand: three seeds under two policies; what chance does to both is in the intervals of
// each and not in that of their difference.
func TestCompareByHand(t *testing.T) {
	c := Compare([]*Run{
		made("a", 3, 30, 50), made("a", 1, 10, 30), made("a", 2, 20, 40), // means 40, 20, 30
		made("b", 1, 15, 35), made("b", 2, 24, 44), made("b", 3, 36, 56), made("b", 4, 1000), // 25, 34, 46
		made("b", 4, 7), // the same seed again
	})
	if len(c.Policies) != 2 || c.Policies[0].Name != "a" || len(c.Policies[1].Runs) != 4 || c.Policies[0].Runs[0].Seed != 1 {
		t.Fatalf("they are grouped as %+v", c.Policies)
	}
	// t of 2 degrees is 4.302653, the deviation 10, over the root of 3.
	if e := find(t, c.Policies[0].Estimates, allJobs, "sojourn mean"); e.Count != 3 || e.Mean != 30 || math.Abs(e.Half-24.84138) > 1e-4 {
		t.Errorf("of a: %+v", e)
	}
	if len(c.Differences) != 1 || c.Differences[0].Policy != "b" || c.Differences[0].Less != "a" || c.Differences[0].Seeds != 3 {
		t.Fatalf("the differences are %+v", c.Differences)
	}
	// 5, 4, 6: the deviation is 1.
	if e := find(t, c.Differences[0].Estimates, allJobs, "sojourn mean"); e.Count != 3 || e.Mean != 5 || math.Abs(e.Half-2.484138) > 1e-5 {
		t.Errorf("b less a: %+v", e)
	}
	if e := find(t, c.Policies[0].Estimates, ofCluster, "utilization of map slots"); math.Abs(e.Mean-(2.0/30+2.0/40+2.0/50)/3) > 1e-12 {
		t.Errorf("the utilization is %+v", e)
	}
	if e := find(t, c.Policies[0].Estimates, ofCluster, "fairness"); math.Abs(e.Mean-(40.*40/2/(100+900)+60.*60/2/(400+1600)+80.*80/2/(900+2500))/3) > 1e-12 {
		t.Errorf("the fairness is %+v", e)
	}
}

// The compared figures equal those counted from the jobs.
func TestSummaryAgainstTheJobs(t *testing.T) {
	for _, r := range runs(t, 1, 2, 3) {
		for _, class := range r.Summary.Classes {
			var sojourns []float64
			for i := range r.Jobs {
				if r.Jobs[i].Class == class.Name {
					sojourns = append(sojourns, r.Jobs[i].Sojourn().Seconds())
				}
			}
			if class.Sojourn != statistics.Describe(sojourns) || class.Slowdown.Count != len(sojourns) {
				t.Errorf("class %q: %+v", class.Name, class)
			}
		}
		if s := r.Summary; len(s.Classes) != 3 || s.All.Sojourn.Count != len(r.Jobs) || s.Fairness <= 0 || s.Fairness > 1 || s.Near[0]+s.Near[1]+s.Near[2] == 0 {
			t.Errorf("the summary is %+v", s)
		}
		for _, u := range r.Summary.Utilization {
			if u.Share < 0 || u.Share > 1 {
				t.Errorf("%v of all %s slots were held", u.Share, u.Kind)
			}
		}
	}
}

func TestJSONIsTheComparison(t *testing.T) {
	c := Compare(runs(t, 1, 2))
	var b bytes.Buffer
	if err := c.JSON(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "<script") {
		t.Error("a name stands in it as markup")
	}
	var got jsonComparison
	d := json.NewDecoder(&b)
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Policies) != 3 || len(got.Differences) != 3 || got.Policies[1].Policy != policies[1].name || len(got.Policies[0].Runs) != 2 {
		t.Fatalf("it says %+v", got)
	}
	for i, p := range got.Policies {
		for k, m := range p.Measures {
			want := c.Policies[i].Estimates[k]
			mean, _ := m.Mean.Float64()
			half, _ := m.Half.Float64()
			if m.Name != want.Name || m.Of != want.Part || math.Abs(mean-want.Mean) > 1e-8*math.Abs(want.Mean) || math.Abs(half-want.Half) > 1e-8*want.Half {
				t.Errorf("%+v, want %+v", m, want)
			}
		}
	}
}

// Columns of the text stand under each other, and no name moves the cursor.
func TestTextIsAligned(t *testing.T) {
	var b strings.Builder
	if err := Compare(runs(t, 1, 2)).Text(&b); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\u202e\u0085\r\t") {
		t.Error("there are control characters in it")
	}
	for _, want := range []string{"sojourn mean (s)", "class small", "makespan (s)", "hfsp − fifo", "node-local attempts (%)", "utilization of reduce slots (%)", " ± "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %q in\n%s", want, b.String())
		}
	}
	// In a table of numbers each line is as long as the first, which has the names.
	for part := range strings.SplitSeq(b.String(), "\n\n") {
		lines := strings.Split(strings.TrimRight(part, "\n"), "\n")
		if lines[0] != allJobs && lines[0] != ofCluster {
			continue
		}
		for _, l := range lines[2:] {
			if len([]rune(l)) != len([]rune(lines[1])) {
				t.Errorf("lines of unequal length:\n%s", part)
				break
			}
		}
	}
}

func TestNumbersForPeople(t *testing.T) {
	for _, c := range []struct {
		x, like float64
		want    string
	}{
		{12345.678, 12345.678, "12346"},
		{123.456, 123.456, "123.5"},
		{1.23456, 1.23456, "1.235"},
		{0.00001, 0.00001, "0.000"},
		{-0.00001, -0.00001, "0.000"},
		{-12.3456, -12.3456, "−12.35"},
		{3, 3, "3"},
		{1.5, 3, "1.500"},
		{1000.44, 1000.44, "1000"},
	} {
		if got := short(c.x, c.like); got != c.want {
			t.Errorf("%v is %q, want %q", c.x, got, c.want)
		}
	}
}

// The same results give the same bytes.
func TestSameResultSameBytes(t *testing.T) {
	all := func() []byte {
		var b bytes.Buffer
		list := runs(t, 1, 2)
		c := Compare(list)
		for _, write := range []error{list[0].CSV(&b), c.Text(&b), c.JSON(&b)} {
			if write != nil {
				t.Fatal(write)
			}
		}
		return b.Bytes()
	}
	first := all()
	for range 3 {
		if !slices.Equal(first, all()) {
			t.Fatal("other bytes the second time")
		}
	}
}
