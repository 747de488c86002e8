package workload

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// load reads a trace of testdata.
func load(t testing.TB, name string, o Options) *Workload {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o.File = name
	w, err := Read(f, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Check(); err != nil {
		t.Fatal(err)
	}
	return w
}

// sums are a workload's totals, by stage.
type sums struct {
	jobs, maps, reduces int
	mapTime, redTime    time.Duration
	in, shuffle, out    int64
}

func sum(w *Workload) (s sums) {
	s.jobs = len(w.Jobs)
	for i := range w.Jobs {
		if m := w.Jobs[i].Stage("map"); m != nil {
			s.maps += len(m.Tasks)
			s.mapTime += m.Work()
			for k := range m.Tasks {
				s.in += m.Tasks[k].Input
			}
		}
		if r := w.Jobs[i].Stage("reduce"); r != nil {
			s.reduces += len(r.Tasks)
			s.redTime += r.Work()
			for k := range r.Tasks {
				s.shuffle += r.Tasks[k].Shuffle
				s.out += r.Tasks[k].Output
			}
		}
	}
	return s
}

// The workloads of the HFSP paper, as published: numbers of jobs by class, of tasks, and
// the sums of their times.
func TestFacebookWorkloadsAreThoseOfThePaper(t *testing.T) {
	fb2009 := load(t, "../../traces/fb2009-100.jsonl.gz", Options{})
	if s := sum(fb2009); s.jobs != 100 || s.maps != 15602 || s.reduces != 3169 || s.mapTime.Milliseconds() != 466_329_245 || s.redTime.Milliseconds() != 47_679_902 {
		t.Errorf("FB2009 comes to %+v", s)
	}
	if c := classes(fb2009); c["small"] != 53 || c["medium"] != 41 || c["big"] != 6 {
		t.Errorf("table 1 has 53, 41 and 6 %%: got %v", c)
	}
	for i, want := range []time.Duration{27915, 25566, 31586} {
		if got := fb2009.Jobs[0].Stages[0].Tasks[i].Work; got != want*time.Millisecond {
			t.Errorf("map %d of the first job of FB2009 takes %v, not %v ms", i, got, int64(want))
		}
	}
	for i, want := range []time.Duration{113878, 114261, 107843} {
		if got := fb2009.Jobs[0].Stages[1].Tasks[i].Work; got != want*time.Millisecond {
			t.Errorf("reduce %d of the first job of FB2009 takes %v, not %v ms", i, got, int64(want))
		}
	}

	fb2010 := load(t, "../../traces/fb2010-93.jsonl.gz", Options{})
	if s := sum(fb2010); s.jobs != 93 || s.maps != 130_879 || s.reduces != 5482 || s.mapTime.Milliseconds() != 9_158_633_004 || s.redTime.Milliseconds() != 1_135_523_593 {
		t.Errorf("FB2010 comes to %+v", s)
	}
	if n := fb2010.Tasks(); n != 136_361 {
		t.Errorf("FB2010 has %d tasks, not 136,361", n)
	}
	for i, want := range []time.Duration{65971, 60760, 70210} {
		if got := fb2010.Jobs[0].Stages[0].Tasks[i].Work; got != want*time.Millisecond {
			t.Errorf("map %d of the first job of FB2010 takes %v, not %v ms", i, got, int64(want))
		}
	}
	if s := fb2010.Span() + fb2010.Jobs[0].Submit; s.Round(time.Second) != 3534*time.Second {
		t.Errorf("FB2010 spans %v, not 3,534 s", s)
	}
	table := map[string]int{}
	for i := range fb2010.Jobs {
		table[cell(len(fb2010.Jobs[i].Stages[0].Tasks), len(fb2010.Jobs[i].Stages[1].Tasks))]++
	}
	want := map[string]int{"≤1500 ≤10": 39, "≤1500 ≤100": 16, "≤1500 >100": 11, "≤2500 ≤100": 10, "≤2500 >100": 7, ">2500 >100": 10}
	for k, n := range want {
		if table[k] != n {
			t.Errorf("table 1 has %d jobs with maps and reduces of %s: there are %d", n, k, table[k])
		}
	}
	if len(table) != len(want) {
		t.Errorf("table 1 has six cells: got %v", table)
	}
}

func classes(w *Workload) map[string]int {
	n := map[string]int{}
	for i := range w.Jobs {
		n[w.Jobs[i].Class]++
	}
	return n
}

// cell names the place of a job in table 1 of the paper.
func cell(maps, reduces int) string {
	m, r := ">2500", ">100"
	switch {
	case maps <= 1500:
		m = "≤1500"
	case maps <= 2500:
		m = "≤2500"
	}
	switch {
	case reduces <= 10 && maps <= 1500:
		r = "≤10"
	case reduces <= 100:
		r = "≤100"
	}
	return m + " " + r
}

// SWIM's traces have the numbers of jobs, the gaps and the shares of jobs without a shuffle
// that are told of them, and its rule gives the maps and reduces of FB2009's window.
func TestSWIM(t *testing.T) {
	for _, test := range []struct {
		file    string
		jobs    int
		last    time.Duration
		mapOnly float64
	}{
		{"../../traces/FB-2009_samples_24_times_1hr_0.tsv.gz", 5894, 86404 * time.Second, 75.5},
		{"FB-2009_samples_24_times_1hr_1.tsv.gz", 6638, 0, 72.8},
		{"FB-2010_samples_24_times_1hr_0.tsv.gz", 24442, 0, 34},
	} {
		s := DefaultSWIM()
		s.Block = 1 << 40 // few tasks: the bytes are what is looked at
		s.ReduceBytes = 1 << 40
		w := load(t, test.file, Options{SWIM: &s})
		only := 0
		for i := range w.Jobs {
			if w.Jobs[i].Stage("reduce") == nil {
				only++
			}
		}
		if len(w.Jobs) != test.jobs || w.Imputed != w.Tasks() {
			t.Errorf("%s: %d jobs, and %d of %d tasks imputed; %d and all are right", test.file, len(w.Jobs), w.Imputed, w.Tasks(), test.jobs)
		}
		if last := w.Jobs[len(w.Jobs)-1].Submit; test.last > 0 && last != test.last {
			t.Errorf("%s: the last job comes after %v, not %v", test.file, last, test.last)
		}
		if share := 100 * float64(only) / float64(len(w.Jobs)); share < test.mapOnly-0.1 || share > test.mapOnly+0.5 {
			t.Errorf("%s: %.2f %% of the jobs are map-only, not %v %%", test.file, share, test.mapOnly)
		}
	}

	s := DefaultSWIM()
	s.Machines, s.Of, s.Spread = 1, 2, 0
	w := load(t, "FB-2009_samples_24_times_1hr_1.tsv.gz", Options{SWIM: &s})
	window := &Workload{Jobs: w.Jobs[4146:4246]}
	if got := sum(window); got.maps != 15602 || got.reduces != 194 {
		t.Errorf("the window of FB2009 has %d maps and %d reduces; 15,602 and 194 are right", got.maps, got.reduces)
	}
	published := load(t, "../../traces/fb2009-100.jsonl.gz", Options{})
	for i := range window.Jobs {
		a, b := &window.Jobs[i], &published.Jobs[i]
		if len(a.Stages[0].Tasks) != len(b.Stages[0].Tasks) {
			t.Errorf("job %d has %d maps by the rule and %d in FB2009", i, len(a.Stages[0].Tasks), len(b.Stages[0].Tasks))
		}
		if i == 0 && a.Stages[0].Tasks[0].Work.Round(time.Millisecond) != 29932*time.Millisecond {
			t.Errorf("a map of the first job takes %v, not 29.932 s", a.Stages[0].Tasks[0].Work)
		}
		if i == 0 && a.Stages[1].Tasks[0].Work.Round(time.Millisecond) != 115552*time.Millisecond {
			t.Errorf("a reduce of the first job takes %v, not 115.552 s", a.Stages[1].Tasks[0].Work)
		}
	}
	if w := load(t, "paths40.tsv", Options{}); len(w.Jobs) != 40 || w.Jobs[0].Name != "inputPath1" {
		t.Errorf("the trace with paths has %d jobs, the first named %q", len(w.Jobs), w.Jobs[0].Name)
	}
}

// Histories of real clusters have the tasks and times recorded in them.
func TestRumen(t *testing.T) {
	for _, test := range []struct {
		file                string
		jobs, maps, reduces int
	}{
		{"trace_10m.json.zst", 29, 77, 184},
		{"trace_12m.json.zst", 46, 170, 277},
		{"5m_stream_trace.json.zst", 15, 196, 270},
		{"2jobs2min-rumen-jh.json.zst", 2, 192, 0},
	} {
		w := load(t, test.file, Options{})
		if s := sum(w); s.jobs != test.jobs || s.maps != test.maps || s.reduces != test.reduces || w.Jobs[0].Submit != 0 {
			t.Errorf("%s has %d jobs, %d maps and %d reduces, and begins after %v; %d, %d, %d and 0 are right",
				test.file, s.jobs, s.maps, s.reduces, w.Jobs[0].Submit, test.jobs, test.maps, test.reduces)
		}
	}
	w := load(t, "19-jobs.trace.json.zst", Options{WholeReduces: true})
	if s := sum(w); s.jobs != 19 || s.maps != 8573 || s.reduces != 3256 {
		t.Errorf("19 jobs have %d maps and %d reduces; 8,573 and 3,256 are right", s.maps, s.reduces)
	}
	if w.Span().Round(time.Second) != 1676*time.Second {
		t.Errorf("it spans %v, not 1,676 s", w.Span())
	}
	users := map[string]bool{}
	for i := range w.Jobs {
		users[w.Jobs[i].User] = true
	}
	if len(users) != 5 {
		t.Errorf("there are %d users, not 5", len(users))
	}
	first := &w.Jobs[0]
	m := first.Stages[0].Tasks[0]
	if first.ID != "job_200904211745_0002" || m.Work != 3912*time.Millisecond || m.Input != 53639 || m.Output != 247925 ||
		len(m.Places) != 3 || m.Places[0] != (Place{Host: "node1369.megatron.com", Rack: "192.30.126.128"}) {
		t.Errorf("the first map is %+v of job %s", m, first.ID)
	}
	if r := first.Stages[1].Tasks[0]; r.Work != 83784*time.Millisecond {
		t.Errorf("the first reduce takes %v from its start on, not 83.784 s", r.Work)
	}
	if r := load(t, "19-jobs.trace.json.zst", Options{}).Jobs[0].Stages[1].Tasks[0]; r.Work >= 83784*time.Millisecond || r.Work < 10461*time.Millisecond {
		t.Errorf("the first reduce takes %v once its input is whole: its merge and its execution take 10.461 s at least", r.Work)
	}
	known := sum(w)
	if w.Imputed < 2000 || w.Imputed > 3500 {
		t.Errorf("the times of %d tasks are imputed: 3,425 have no attempt that succeeded", w.Imputed)
	}
	if mean := known.mapTime.Seconds() / float64(known.maps); mean < 150 || mean > 300 {
		t.Errorf("a map takes %.1f s in the mean; those whose times are known take 235.7 s", mean)
	}
}

// A task that never succeeded works as long as another of its stage, or, where none did,
// as long as it was tried; one that was never tried, as long as another.
func TestRumenImputes(t *testing.T) {
	attempt := func(result string, ms int) string {
		return `{"result":"` + result + `","startTime":1000,"finishTime":` + strconv.Itoa(1000+ms) + `}`
	}
	text := `{"jobID":"a","submitTime":500,"totalMaps":5,"mapTasks":[` +
		`{"attempts":[` + attempt("FAILED", 9) + `,` + attempt("SUCCESS", 7) + `]},{"attempts":[` + attempt("KILLED", 3) + `]},` +
		`{"attempts":[` + attempt("SUCCESS", 5) + `]},{"attempts":[]}],"totalReduces":2,"reduceTasks":[{"attempts":[]},{"attempts":[` + attempt("FAILED", 2) + `,` + attempt("FAILED", 4) + `]}]}`
	w, err := Read(strings.NewReader(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, s := range w.Jobs[0].Stages {
		for _, task := range s.Tasks {
			got = append(got, task.Work.Milliseconds())
		}
	}
	if !slices.Equal(got, []int64{7, 7, 5, 5, 7, 4, 4}) || w.Imputed != 5 {
		t.Errorf("tasks work for %v ms, %d of them imputed; 7 7 5 5 7 4 4 and 5 are right", got, w.Imputed)
	}
}

func TestSLS(t *testing.T) {
	w := load(t, "inputsls.json.gz", Options{})
	j := &w.Jobs[1]
	if len(w.Jobs) != 2 || w.Tasks() != 5 || j.ID != "job_2" || j.Pool != "sls_queue_2" || j.Submit != 105204*time.Millisecond ||
		j.Stages[0].Tasks[0].Work != (133985-111822)*time.Millisecond || j.Stages[0].Tasks[1].Places[0] != (Place{"node2", "default-rack"}) {
		t.Errorf("got %+v", w)
	}
	w, err := Read(strings.NewReader(`{"job.start.ms":0,"job.count":2,"job.tasks":[{"container.type":"reduce","container.duration.ms":5,"count":3},{"container.type":"map","duration.ms":2,"container.memory-mb":512}]}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if j := &w.Jobs[1]; len(w.Jobs) != 2 || j.ID != "job1.2" || j.Stages[0].Memory != 512<<20 || len(j.Stages[1].Tasks) != 3 || !slices.Equal(j.Stages[1].After, []int{0}) {
		t.Errorf("got %+v", w)
	}
}

// Jobs out of order are refused with the way to order them, and ordered when that is asked.
func TestJobsOutOfOrder(t *testing.T) {
	for name, text := range map[string]string{
		"swim":  "b\t20\t20\t1\t0\t0\nc\t20\t0\t1\t0\t0\na\t10\t0\t1\t0\t0\n",
		"rumen": rumenAt("b", 20_000) + rumenAt("c", 20_000) + rumenAt("a", 10_000),
	} {
		_, err := Read(strings.NewReader(text), Options{File: "f"})
		if err == nil || !strings.Contains(err.Error(), "f:3: ") || !strings.Contains(err.Error(), "--sort orders them") {
			t.Errorf("%s: got %v", name, err)
		}
		w, err := Read(strings.NewReader(text), Options{Sort: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if ids := w.Jobs[0].ID + w.Jobs[1].ID + w.Jobs[2].ID; ids != "abc" || w.Span() != 10*time.Second || w.Check() != nil {
			t.Errorf("%s: the jobs come as %s within %v", name, ids, w.Span())
		}
	}
	_, err := Read(strings.NewReader(rumenAt("b", 1e12)+rumenAt("a", 0)), Options{File: "f", Sort: true})
	if err == nil || !strings.Contains(err.Error(), "f:1: ") {
		t.Errorf("jobs that are 30 years apart: %v", err)
	}
}

func rumenAt(id string, ms int) string {
	return `{"jobID":"` + id + `","submitTime":` + strconv.Itoa(ms) + `,"mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":1,"finishTime":2}]}]}` + "\n"
}

// A workload is read back as written, whatever form it had.
func TestWriteAndRead(t *testing.T) {
	for _, w := range []*Workload{small(), load(t, "../../traces/fb2009-100.jsonl.gz", Options{}), load(t, "trace_10m.json.zst", Options{}), load(t, "inputsls.json.gz", Options{}), load(t, "paths40.tsv", Options{})} {
		var first, second bytes.Buffer
		if err := w.Write(&first); err != nil {
			t.Fatal(err)
		}
		back, err := Read(bytes.NewReader(first.Bytes()), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := back.Write(&second); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("workload %q is not the same when it was written and read", w.Name)
		}
	}
}

// The hosts of Mumak's trace, on which most of its input lies, and those of the SLS.
func TestTopologies(t *testing.T) {
	hosts := topologyOf(t, "19-jobs.topology.json.gz")
	at := map[Place]bool{}
	racks := map[string]bool{}
	for _, h := range hosts {
		at[h], racks[h.Rack] = true, true
	}
	if len(at) != 1545 || len(hosts) != 1545 || len(racks) != 41 {
		t.Errorf("%d hosts, %d different, in %d racks; want 1545 in 41", len(hosts), len(at), len(racks))
	}
	w := load(t, "19-jobs.trace.json.zst", Options{})
	for i := range w.Jobs {
		for _, s := range w.Jobs[i].Stages {
			for k := range s.Tasks {
				for _, p := range s.Tasks[k].Places {
					if !at[p] {
						t.Fatalf("input lies on %v, which is not in the topology", p)
					}
				}
			}
		}
	}
	hosts = topologyOf(t, "nodes.json")
	if len(hosts) != 19 || hosts[0] != (Place{Host: "node1", Rack: "rack1"}) || hosts[4] != (Place{Host: "node5", Rack: "rack2"}) {
		t.Errorf("hosts %v", hosts)
	}
}

func topologyOf(t *testing.T, name string) []Place {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	hosts, err := ReadTopology(f, name)
	if err != nil {
		t.Fatal(err)
	}
	return hosts
}
