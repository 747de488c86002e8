package workload

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// full has a value in each field.
func full() *Workload {
	return &Workload{Name: "full", Imputed: 1, LeftOut: 2, Jobs: []Job{{
		ID: "a", Name: "n", Class: "c", User: "u", Pool: "p", Priority: 2, Submit: time.Second, Deadline: time.Minute,
		Properties: []scheduler.Property{{Name: "query", Value: "q\"7\"\n"}, {Name: "tier", Value: ""}},
		Stages: []Stage{
			{
				Name: "lead", Kind: "default", Memory: 1 << 20, Slots: 2, Resources: []scheduler.ResourceCount{{Kind: "gpu", Count: 2}, {Kind: "license", Count: 1}}, Estimate: 5 * time.Second, FailureRate: 0.125,
				Tasks: []Task{{Work: 4 * time.Second, Input: 3, Places: []Place{{"h", "r"}, {Host: "g"}}}, {Work: 6 * time.Second}},
			},
			{Name: "rest", Kind: "default", After: []int{0}, Channel: ChannelTCP, Pattern: Fork, Tasks: []Task{{Work: 1}, {Work: 2}, {Work: 7 * time.Second}}},
			{
				Name: "sum", Kind: ReduceKind, After: []int{0, 1}, Channel: ChannelFile, SlowStart: 0.5,
				Tasks: []Task{{Work: time.Second, Shuffle: 8, Output: 9}},
			},
		},
	}}}
}

func TestEachFieldIsWrittenAndRead(t *testing.T) {
	w := full()
	var text bytes.Buffer
	if err := w.Write(&text); err != nil {
		t.Fatal(err)
	}
	back, err := Read(&text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, w) {
		t.Errorf("got  %+v\nwant %+v", back, w)
	}
}

// The counts of the header may be left out, or one of them. A wrong one is refused.
func TestCountsOfTheHeaderAreOptional(t *testing.T) {
	const form = `{"form":"hamadryad-workload","version":1`
	for counts, want := range map[string]string{
		"": "", `,"jobs":1`: "", `,"tasks":1`: "", `,"imputed":1`: "", `,"tasks":2`: "f:2: the header tells of 2 tasks, and there are 1: the file",
		`,"jobs":3`: "f:2: the header tells of 3 jobs, and", `,"jobs":-1`: "f:1: jobs: -1: numbers are not negative", `,"imputed":2`: "f:1: the work of 2 tasks",
	} {
		_, err := Read(strings.NewReader(form+counts+"}\n"+ownLine("a", "1")+"\n"), Options{File: "f"})
		if got := ""; err != nil && want == "" || err == nil && want != got || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", counts, err, want)
		}
	}
}

func TestCheckTellsWhatAFieldMayBe(t *testing.T) {
	for _, test := range []struct {
		want  string
		spoil func(*Job)
	}{
		{"has a deadline of -1ns", func(j *Job) { j.Deadline = -1 }},
		{"each stands there once, in order of name", func(j *Job) { slices.Reverse(j.Properties) }},
		{"in order of kind", func(j *Job) { slices.Reverse(j.Stages[0].Resources) }},
		{"gpu", func(j *Job) { j.Stages[0].Resources[0].Count = -1 }},
		{"property without a name", func(j *Job) { j.Properties[0].Name = "" }},
		{"4097 bytes", func(j *Job) { j.Properties[1].Value = strings.Repeat("x", PropertyBytesMax+1) }},
		{"65 properties", func(j *Job) { j.Properties = make([]scheduler.Property, PropertiesMax+1) }},
		{"takes -1 slots", func(j *Job) { j.Stages[0].Slots = -1 }},
		{"takes 1025 slots", func(j *Job) { j.Stages[0].Slots = SlotsMax + 1 }},
		{"its estimate is -1ns", func(j *Job) { j.Stages[0].Estimate = -1 }},
		{"its failure rate is 1.5", func(j *Job) { j.Stages[0].FailureRate = 1.5 }},
		{`no channel "pipe"`, func(j *Job) { j.Stages[1].Channel = "pipe" }},
		{`no pattern "star"`, func(j *Job) { j.Stages[1].Pattern = "star" }},
		{"comes after no stage", func(j *Job) { j.Stages[0].Channel = ChannelTCP }},
		{"only file channels have", func(j *Job) { j.Stages[2].Channel = ChannelSHM }},
		{"3 tasks cannot read from 2 of stage \"lead\" by the pattern one-to-one", func(j *Job) { j.Stages[1].Pattern = OneToOne }},
		{"by the pattern merge", func(j *Job) { j.Stages[1].Pattern = Merge }},
		{"by the pattern fork", func(j *Job) { j.Stages[2].Pattern = Fork }},
	} {
		w := full()
		test.spoil(&w.Jobs[0])
		if err := w.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v\nwant %s", err, test.want)
		}
	}
}

// The job takes this without bounds: 7 s in the bundle, 1 s after it.
func TestShortestTime(t *testing.T) {
	j := &full().Jobs[0]
	if d := j.ShortestTime(); d != 8*time.Second {
		t.Errorf("the shortest time is %v, not 8 s", d)
	}
}

func assign(t *testing.T, w *Workload, seed uint64, texts ...string) *Workload {
	t.Helper()
	for _, text := range texts {
		a, err := ParseAssignment(text)
		if err != nil {
			t.Fatal(err)
		}
		w.Assign(a, seed)
	}
	if err := w.Check(); err != nil {
		t.Fatal(err)
	}
	return w
}

// equal has jobs with a map of 10 s and a reduce of 2 s each.
func equal(jobs int) *Workload {
	w := &Workload{}
	for i := range jobs {
		w.Jobs = append(w.Jobs, Job{ID: strconv.Itoa(i), Stages: []Stage{
			{Name: "map", Kind: MapKind, Tasks: []Task{{Work: 10 * time.Second}}},
			{Name: "reduce", Kind: ReduceKind, After: []int{0}, Tasks: []Task{{Work: 2 * time.Second}}},
		}})
	}
	return w
}

// Of 3,000 jobs the first of three users by Zipf's law has 6/11, the next 3/11 and the last 2/11.
func TestAssignments(t *testing.T) {
	w := assign(t, equal(3000), 1, "users=zipf:3", "pools=even:2", "deadlines=factor:2:4", "failures=0.25", "estimates=uniform:0.5")
	users, pools, deadlines, estimates := map[string]int{}, map[string]int{}, time.Duration(0), time.Duration(0)
	for i := range w.Jobs {
		j := &w.Jobs[i]
		users[j.User]++
		pools[j.Pool]++
		deadlines += j.Deadline
		estimates += j.Stages[0].Estimate
		if j.Deadline < 24*time.Second || j.Deadline > 48*time.Second || j.Stages[1].FailureRate != 0.25 {
			t.Fatalf("job %d has the deadline %v and the failure rate %v", i, j.Deadline, j.Stages[1].FailureRate)
		}
		if e := j.Stages[0].Estimate; e < 5*time.Second || e > 15*time.Second {
			t.Fatalf("job %d has the estimate %v", i, e)
		}
	}
	near := func(what string, n, want, within int) {
		if n < want-within || n > want+within {
			t.Errorf("%s: %d, not about %d", what, n, want)
		}
	}
	near("first user", users["user1"], 3000*6/11, 120)
	near("second user", users["user2"], 3000*3/11, 120)
	near("third user", users["user3"], 3000*2/11, 120)
	near("first pool", pools["pool1"], 1500, 120)
	near("mean deadline in ms", int((deadlines / 3000).Milliseconds()), 36_000, 600)
	near("mean estimate in ms", int((estimates / 3000).Milliseconds()), 10_000, 250)

	again := assign(t, equal(3000), 1, "estimates=uniform:0.5", "failures=0.25", "deadlines=factor:2:4", "pools=even:2", "users=zipf:3")
	if !reflect.DeepEqual(again, w) {
		t.Error("the order of assignments changes what is drawn")
	}
	if other := assign(t, equal(3000), 2, "users=zipf:3"); other.Jobs[0].User == w.Jobs[0].User && other.Jobs[1].User == w.Jobs[1].User &&
		other.Jobs[2].User == w.Jobs[2].User && other.Jobs[3].User == w.Jobs[3].User && other.Jobs[4].User == w.Jobs[4].User && other.Jobs[5].User == w.Jobs[5].User {
		t.Error("another seed draws the same users")
	}
	if exact := assign(t, equal(1), 1, "estimates=exact", "deadlines=factor:2"); exact.Jobs[0].Stages[1].Estimate != 2*time.Second || exact.Jobs[0].Deadline != 24*time.Second {
		t.Errorf("got %+v", exact.Jobs[0])
	}
}

func TestAssignmentsAreReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"users": "is no assignment", "users=30": "is no assignment", "user=zipf:3": "is no assignment", "users=zipf": "has 0 numbers",
		"users=zipf:3:1:1": "has 3 numbers", "users=zipf:0": `"0" is no number from 1 to 1e+06`, "users=zipf:2.5": "2.5 is no whole number",
		"users=zipf:NaN": `"NaN" is no number`, "users=even:3:1": "has 2 numbers", "failures=2": `"2" is no number from 0 to 1`, "failures=": `"" is no number`,
		"failures=0.1:0.2": "has 2 numbers", "estimates=exact:1": "has 1 numbers", "deadlines=factor:5:2": "the lower number stands first",
		"deadlines=factor:0": `"0" is no number`, "estimates=lognormal:9": "from 0 to 5",
	} {
		if _, err := ParseAssignment(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
