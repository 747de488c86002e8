package synthetic

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func generate(t *testing.T, s Spec) *workload.Workload {
	t.Helper()
	w, err := s.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// One seed is one workload, to the last byte on any machine, and another is another.
func TestOneSeedIsOneWorkload(t *testing.T) {
	s := Default()
	var first bytes.Buffer
	if err := generate(t, s).Write(&first); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%x", sha256.Sum256(first.Bytes())), "788670bccb61bfd8e365c504d1234fba957eac1d698a9a85722d9084eac4a10c"; got != want {
		t.Errorf("the default workload has the SHA-256 %s, and had %s", got, want)
	}
	s.Seed = 2
	var second bytes.Buffer
	if err := generate(t, s).Write(&second); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("another seed gives the same workload")
	}
}

func TestMoreJobsLeaveThoseBefore(t *testing.T) {
	few, many := Default(), Default()
	few.Jobs, many.Jobs = 20, 40
	a, b := generate(t, few), generate(t, many)
	for i := range a.Jobs {
		if x, y := &a.Jobs[i], &b.Jobs[i]; x.Submit != y.Submit || x.Class != y.Class || x.Tasks() != y.Tasks() || x.Stages[0].Work() != y.Stages[0].Work() {
			t.Fatalf("job %d is %v and %v", i, x.ID, y.ID)
		}
	}
}

func TestArrivals(t *testing.T) {
	for kind, test := range map[string]struct{ low, high float64 }{"even": {0, 0}, "poisson": {0.95, 1.05}, "bursty": {2, 5}} {
		s := Default()
		s.Jobs, s.Arrivals.Kind = 10_000, kind
		s.Classes = []Class{{Name: "a", Share: 1, Maps: Lot{Kind: "fixed", Value: 1}, MapSeconds: Lot{Kind: "fixed", Value: 1}}}
		w := generate(t, s)
		sum, squares := 0.0, 0.0
		for i := 1; i < len(w.Jobs); i++ {
			gap := (w.Jobs[i].Submit - w.Jobs[i-1].Submit).Seconds()
			sum, squares = sum+gap, squares+gap*gap
		}
		mean := sum / float64(len(w.Jobs)-1)
		deviation := math.Sqrt(max(squares/float64(len(w.Jobs)-1)-mean*mean, 0)) / mean
		if mean < 12 || mean > 14 || deviation < test.low-1e-6 || deviation > test.high+1e-6 {
			t.Errorf("%s: gaps have the mean %.2f s and the relative deviation %.3f; 13 s and %v to %v are right", kind, mean, deviation, test.low, test.high)
		}
	}
}

// Classes, users and work are shared out as the specification says.
func TestShares(t *testing.T) {
	s := Default()
	s.Jobs, s.Users, s.Pools = 4000, People{Count: 10, Skew: 1}, People{Count: 4}
	s.Classes[2].Maps = Lot{Kind: "fixed", Value: 10}
	w := generate(t, s)
	classes, users, pools := map[string]int{}, map[string]int{}, map[string]int{}
	for i := range w.Jobs {
		classes[w.Jobs[i].Class]++
		users[w.Jobs[i].User]++
		pools[w.Jobs[i].Pool]++
	}
	near := func(what string, got int, want float64) {
		t.Helper()
		if want *= float64(s.Jobs); math.Abs(float64(got)-want) > 5*math.Sqrt(want) {
			t.Errorf("%s has %d jobs, not about %.0f", what, got, want)
		}
	}
	near("small", classes["small"], 0.53)
	near("large", classes["large"], 0.06)
	near("user1", users["user1"], 1/2.92897)
	near("user10", users["user10"], 0.1/2.92897)
	near("pool3", pools["pool3"], 0.25)

	s = Default()
	s.Jobs, s.Classes = 1, []Class{{
		Share: 1, Name: "skewed", Maps: Lot{Kind: "fixed", Value: 100}, MapSeconds: Lot{Kind: "fixed", Value: 30},
		Reduces: Lot{Kind: "fixed", Value: 100}, ReduceSeconds: Lot{Kind: "fixed", Value: 60}, ReduceSkew: Skew{Kind: "zipf", Exponent: 1}, Shuffle: 1, Output: 0.5,
	}}
	j := generate(t, s).Jobs[0]
	if m := j.Stages[0]; m.Work() != 3000*time.Second || m.Tasks[3].Work != 30*time.Second || m.Tasks[0].Input != 128<<20 || m.Tasks[0].Output != 128<<20 {
		t.Errorf("100 maps of 30 s take %v, and one of them is %+v", m.Work(), m.Tasks[3])
	}
	longest, bytes, sum := time.Duration(0), int64(0), int64(0)
	for _, task := range j.Stages[1].Tasks {
		if task.Work > longest {
			longest, bytes = task.Work, task.Shuffle
		}
		sum += task.Shuffle
	}
	if work := j.Stages[1].Work(); math.Abs(work.Seconds()-6000) > 0.001 || math.Abs(longest.Seconds()/6000-1/5.18738) > 1e-5 || math.Abs(float64(bytes)/float64(sum)-1/5.18738) > 1e-5 {
		t.Errorf("100 reduces of 60 s take %v; the largest takes %v and has %d of %d bytes: a part of 1/5.18738 is right", work, longest, bytes, sum)
	}
}

func TestMistakesNameFileAndLine(t *testing.T) {
	class := "classes:\n- name: a\n  share: 1\n  maps: {kind: fixed, value: 1}\n"
	if _, err := Parse("s.yaml", []byte(class)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ text, want string }{
		{"", "s.yaml:1: classes: there are 0"},
		{"jobs: -1\n" + class, "s.yaml:1: jobs: it is -1"},
		{"job: 1\n" + class, `s.yaml:1: unknown setting "job"`},
		{"arrivals: {kind: often}\n" + class, `s.yaml:1: arrivals.kind: it is "often"`},
		{"arrivals:\n  gap: -3s\n" + class, "s.yaml:2: arrivals.gap: it is -3s"},
		{"users: {skew: .nan}\n" + class, "s.yaml:1: users.skew: it is NaN"},
		{"pools: {count: 1000000000}\n" + class, "s.yaml:1: pools.count: it is 1000000000"},
		{"classes:\n- name: a\n  share: 1\n", "s.yaml:2: classes[1].maps: a class needs maps"},
		{"classes:\n- name: a\n  maps: {kind: fixed, value: 1}\n", "s.yaml:2: classes: no class has a share"},
		{class + "  share: 2\n", "s.yaml:5: "},
		{class + "  reduces: {value: 2}\n", "s.yaml:5: classes[1].reduces: it needs a kind"},
		{class + "  reduces: {kind: zipf, min: 0, max: 5, exponent: 1}\n", "s.yaml:5: classes[1].reduces.min: it is 0"},
		{class + "  reduces: {kind: even, min: 6, max: 5}\n", "s.yaml:5: classes[1].reduces.max: it is 5: from min"},
		{class + "  reduces: {kind: lognormal, median: .inf, max: 5}\n", "s.yaml:5: classes[1].reduces.median: it is +Inf"},
		{class + "  reduces: {kind: some}\n", `s.yaml:5: classes[1].reduces.kind: it is "some"`},
		{class + "  mapSkew:\n    kind: zipf\n    exponent: 99\n", "s.yaml:7: classes[1].mapSkew.exponent: it is 99"},
		{class + "  shuffle: -1\n", "s.yaml:5: classes[1].shuffle: it is -1"},
	} {
		_, err := Parse("s.yaml", []byte(test.text))
		var problems scheduler.Problems
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v\nwant %s", test.text, err, test.want)
		}
	}
	s := Default()
	s.Jobs, s.Classes[0].Maps = 1000, Lot{Kind: "fixed", Value: workload.TasksMax}
	if _, err := s.Generate(); err == nil || !strings.Contains(err.Error(), "tasks") {
		t.Errorf("more tasks than there may be: %v", err)
	}
	s = Default()
	s.Jobs = 0
	if _, err := s.Generate(); err == nil {
		t.Error("no jobs are accepted")
	}
}
