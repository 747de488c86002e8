package workload

import (
	"bytes"
	"compress/gzip"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// given reads a file of testdata by a given mapping.
func given(t *testing.T, mapping, file string) *Workload {
	t.Helper()
	text, ok := GivenMapping(mapping)
	if !ok {
		t.Fatalf("there is no mapping %s", mapping)
	}
	m, err := ParseMapping(mapping, text)
	if err != nil {
		t.Fatal(err)
	}
	w := load(t, file, Options{Mapping: m})
	if err := w.Check(); err != nil {
		t.Fatal(err)
	}
	return w
}

func seconds(list ...int) (tasks []Task) {
	for _, s := range list {
		tasks = append(tasks, Task{Work: time.Duration(s) * time.Second})
	}
	return tasks
}

// wantJobs compares jobs, whose expectations follow by hand from the files.
func wantJobs(t *testing.T, w *Workload, imputed, leftOut int, want ...Job) {
	t.Helper()
	if w.Imputed != imputed || w.LeftOut != leftOut || len(w.Jobs) != len(want) {
		t.Errorf("%d jobs, %d tasks are imputed, and %d left out: %d, %d and %d are right", len(w.Jobs), w.Imputed, w.LeftOut, len(want), imputed, leftOut)
	}
	for i := range min(len(want), len(w.Jobs)) {
		if !reflect.DeepEqual(w.Jobs[i], want[i]) {
			t.Errorf("job %d\ngot  %+v\nwant %+v", i, w.Jobs[i], want[i])
		}
	}
}

// Line 1 has four processors for 60 s, of which 90 s were asked for; line 2 was cancelled; line 3
// has one; lines 4 and 5 are the parts of a job that line 6 sums up.
func TestStandardWorkloadFormat(t *testing.T) {
	properties := []scheduler.Property{{Name: "swf.preceding-job", Value: "1"}, {Name: "swf.think-seconds", Value: "7"}}
	wide := Stage{Kind: "default", Slots: 1, Memory: 2 << 20, Estimate: 90 * time.Second}
	lead, rest := wide, wide
	lead.Name, lead.Tasks = "lead", seconds(60)
	rest.Name, rest.Tasks, rest.After, rest.Channel, rest.Pattern = "rest", seconds(60, 60, 60), []int{0}, ChannelTCP, Fork
	jobs := []Job{
		{ID: "1", Name: "executable5", User: "user3", Pool: "queue1", Stages: []Stage{lead, rest}},
		{
			ID: "3", User: "user4", Pool: "queue0", Submit: 15 * time.Second, Properties: properties,
			Stages: []Stage{{Name: "lead", Kind: "default", Slots: 1, Tasks: []Task{{Work: 1500 * time.Millisecond}}}},
		},
		{ID: "4", Submit: 20 * time.Second, Stages: []Stage{{Name: "lead", Kind: "default", Slots: 1, Memory: 1 << 20, Tasks: seconds(30)}}},
	}
	w := load(t, "small.swf", Options{})
	wantJobs(t, w, 0, 1, jobs...)

	// With three processors a task the first job has two tasks, and the others one of one slot.
	w = load(t, "small.swf", Options{SWF: &SWF{TaskSlots: 3}})
	if s := w.Jobs[0].Stages; s[0].Slots != 3 || len(s[1].Tasks) != 1 || s[0].Memory != 6<<20 || w.Jobs[1].Stages[0].Slots != 1 {
		t.Errorf("got %+v", w.Jobs[0])
	}
}

// A header names the machine, in any comment. Without it the machine is the smallest on which the jobs
// ran as the file says: here 4 and 2 processors at once, since the second job ends when the third begins.
func TestTheMachineOfATrace(t *testing.T) {
	const jobs = "1 0 10 60 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n2 5 0 25 -1 -1 -1 3 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n3 9 21 5 2 -1 -1 2 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
	for header, want := range map[string]Machine{
		"; MaxNodes: 32 (of 4)\n;MaxProcs:   128\n": {Nodes: 32, Processors: 128},
		"; Note: MaxProcs\n; MaxProcs: 128\n":       {Processors: 128},
		"\ufeff; MaxProcs: 9\n":                     {Processors: 9},
		"; MaxNodes: 32\n":                          {Nodes: 32, Processors: 32},
		"; MaxProcs: 99999999999999999999\n":        {Processors: 7, Seen: true},
		"; MaxProcs: -1\n; MaxNodes: unknown\n":     {Processors: 7, Seen: true},
		"":                                          {Processors: 7, Seen: true},
		"; Version: 2.2\r\n; MaxProcs: 8\r\n":       {Processors: 8},
	} {
		w, err := Read(strings.NewReader(header+jobs), Options{})
		if err != nil {
			t.Errorf("%q: %v", header, err)
			continue
		}
		if w.Machine != want {
			t.Errorf("%q: got %+v, want %+v", header, w.Machine, want)
		}
		var b bytes.Buffer
		if err := w.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&b, Options{})
		if err != nil || again.Machine != want {
			t.Errorf("%q: written and read it is %+v, %v", header, again, err)
		}
	}
	unknown := strings.NewReplacer("1 0 10", "1 0 -1", "2 5 0", "2 5 -1", "3 9 21", "3 9 -1").Replace(jobs)
	if w, err := Read(strings.NewReader(unknown), Options{}); err != nil || w.Machine != (Machine{}) {
		t.Errorf("nobody knows when they ran: %+v, %v", w, err)
	}
}

// The task M1 has two instances of 10 s, R2_1 reads from it; J3_2_1 reads from both; M4_9 reads
// from a task that is not there. Of job j_2 one row has no end, and one is Failed.
func TestAlibabasTasks(t *testing.T) {
	w := given(t, "alibaba2018-task", "alibaba-task.csv")
	wantJobs(t, w, 5, 1,
		Job{ID: "j_2", Stages: []Stage{{Name: "task_x", Kind: "default", Slots: 1, Tasks: seconds(5)}}},
		Job{ID: "j_1", Submit: 90 * time.Second, Stages: []Stage{
			{Name: "M1", Kind: "default", Slots: 1, Tasks: seconds(10, 10)},
			{Name: "R2_1", Kind: "default", Slots: 2, After: []int{0}, Tasks: seconds(20)},
			{Name: "M4_9", Kind: "default", Slots: 1, Tasks: seconds(7)},
			{Name: "J3_2_1", Kind: "default", Slots: 1, After: []int{0, 1}, Tasks: seconds(4, 4, 4)},
		}},
	)
}

func TestAlibabasInstances(t *testing.T) {
	w := given(t, "alibaba2018-instance", "alibaba-instance.csv")
	wantJobs(t, w, 0, 0, Job{ID: "j_1", Stages: []Stage{
		{Name: "M1", Kind: "default", Tasks: seconds(10, 12)}, {Name: "R2_1", Kind: "default", After: []int{0}, Tasks: seconds(20)},
	}})
}

// Instance 0 is evicted after 1 s and then works for 5 s; instance 1 works for 2.5 s, and instance 2
// is killed. Collection 8 ends without a start.
func TestGooglesEvents(t *testing.T) {
	w := given(t, "google2019", "google-events.csv")
	wantJobs(t, w, 0, 1, Job{ID: "7", Priority: 103, Stages: []Stage{{Name: "work", Kind: "default", Tasks: []Task{{Work: 2500 * time.Millisecond}, {Work: 5 * time.Second}}}}})
}

func TestAzuresMachines(t *testing.T) {
	w := given(t, "azure-vm", "azure-vm.csv")
	machine := func(slots int, memory int64, work int) []Stage {
		return []Stage{{Name: "work", Kind: "default", Slots: slots, Memory: memory, Tasks: seconds(work)}}
	}
	deployment := []scheduler.Property{{Name: "deployment", Value: "d1"}}
	wantJobs(t, w, 0, 0,
		Job{ID: "v1", User: "s1", Class: "Interactive", Properties: deployment, Stages: machine(2, 7<<29, 600)},
		Job{ID: "v2", User: "s1", Class: "Delay-insensitive", Properties: deployment, Submit: 300 * time.Second, Stages: machine(32, 128<<30, 86400)},
	)
}

// A table of one's own: names in the header, quotes, another separator, times by their units.
func TestOwnMapping(t *testing.T) {
	m := mapping(t, `
header: true
separator: ";"
columns:
- {column: job, field: job}
- {column: who, field: user}
- {column: at, field: submit, unit: ms}
- {column: took, field: work, unit: min}
- {column: said, field: estimate}
- {column: by, field: deadline, unit: h}
- {column: in, field: input, unit: KiB}
- {column: "8", field: property.query}
`)
	text := "\ufeffjob;who;at;took;said;by;in;q\n\"a;\"\"1\"\"\";ann;2500;1.5;80;1;3;\"x, y\"\nb;;500;1;;;;\n"
	w, err := Read(strings.NewReader(text), Options{Mapping: m})
	if err != nil {
		t.Fatal(err)
	}
	wantJobs(t, w, 0, 0,
		Job{ID: "b", Stages: []Stage{{Name: "work", Kind: "default", Tasks: seconds(60)}}},
		Job{
			ID: `a;"1"`, User: "ann", Submit: 2 * time.Second, Deadline: time.Hour, Properties: []scheduler.Property{{Name: "query", Value: "x, y"}},
			Stages: []Stage{{Name: "work", Kind: "default", Estimate: 80 * time.Second, Tasks: []Task{{Work: 90 * time.Second, Input: 3072}}}},
		})
}

func mapping(t *testing.T, text string) *Mapping {
	t.Helper()
	m, err := ParseMapping("m", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const plainMapping = "columns: [{column: 1, field: job}, {column: 2, field: start}, {column: 3, field: end}, {column: 4, field: tasks}, {column: 5, field: stage}, {column: 6, field: slots}]\n"

// What is wrong is told with line and column, and nothing is taken.
func TestBadTables(t *testing.T) {
	swf := func(columns map[int]string) string {
		row := strings.Fields("1 0 5 60 4 -1 -1 4 90 -1 1 3 1 5 1 -1 -1 -1")
		for i, text := range columns {
			row[i-1] = text
		}
		return "; a comment\n" + strings.Join(row, " ") + "\n"
	}
	for _, test := range []struct{ name, text, mapping, want string }{
		{"few columns", "; x\n1 2 3\n", "", "f:2: there are 3 columns: the format (version 2.2) has 18"},
		{"no number", swf(map[int]string{4: "x"}), "", `f:2: column 4 (run time): "x" is no number`},
		{"NaN", swf(map[int]string{4: "NaN"}), "", `f:2: column 4 (run time): "NaN" is no number`},
		{"negative", swf(map[int]string{2: "-5"}), "", "f:2: column 2 (submit time): -5 is negative"},
		{"unknown submission", swf(map[int]string{2: "-1"}), "", "f:2: column 2 (submit time): it is unknown"},
		{"part of a processor", swf(map[int]string{5: "1.5"}), "", "f:2: column 5 (allocated processors): 1.5 is no whole number"},
		{"many processors", swf(map[int]string{5: "1e300"}), "", "processors are too many"},
		{"long", swf(map[int]string{4: "1e99"}), "", "f:2: column 4 (run time): 99"},
		{"out of order", swf(nil) + strings.Replace(swf(nil), "\n1 0", "\n2 -0.5", 1), "", "f:4: column 2 (submit time): -0.5 is negative"},
		{"twice", swf(nil) + swf(nil), "", `f:4: job "1" stands there twice`},
		{"long line", "; " + strings.Repeat("x", rowBytesMax), "", "f:1: the line has more than 1048576 bytes"},
		{"many digits", swf(map[int]string{1: "9007199254740993"}), "", "f:2: column 1 (job number): 9007199254740993 is too large"},
		{"nothing ran", swf(map[int]string{4: "-1"}), "", "there is no job in it"},

		{"width", "a,1,2,1,s,1\na,1\n", plainMapping, "f:2: there are 2 columns, and 6 in the first line"},
		{"narrow", "a,1\n", plainMapping, "f:1: there is no column 3, as the mapping has it: there are 2"},
		{"no time", "a,1,x,1,s,1\n", plainMapping, `f:1: column 3 (end): "x" is no number`},
		{"negative time", "a,-1,2,1,s,1\n", plainMapping, "f:1: column 2 (start): -1 is negative"},
		{"late", "a,1,9e99,1,s,1\n", plainMapping, "f:1: column 3 (end): 9e99 is beyond all bounds"},
		{"long work", "a,0,99999999,1,s,1\n", plainMapping, "f:1: a task takes 27777h46m39s: at most"},
		{"many tasks", "a,1,2,20000001,s,1\n", plainMapping, "f:1: 20000001 more tasks are too many"},
		{"many tasks in all", "a,1,2,9,s,1\na,1,2,9223372036854775806,s,1\n", plainMapping, "f:2: "},
		{"slots", "a,1,2,1,s,1025\n", plainMapping, "f:1: a task takes 1025 slots: at most 1024 are allowed"},
		{"no job", ",1,2,1,s,1\n", plainMapping, "f:1: the row names no job"},
		{"open quotes", "\"a,1,2,1,s,1\n", plainMapping, "f:1: column 1: its quotes do not end on the line"},
		{"text behind quotes", "\"a\"b,1,2,1,s,1\n", plainMapping, `f:1: column 1: "b,1,2,1,s,1" stands behind its quotes`},
		{"wide", strings.Repeat(",", columnsMax) + "\n", plainMapping, "f:1: there are more than 1000 columns"},
		{"cut", "a,1,2,1,s,1", plainMapping, "f:1: the last line has no end"},
		{"circle", "a,1,2,1,M1_2,1\na,1,2,1,M2_1,1\n", plainMapping + "graph: alibaba\n", `f:1: job "a": its stages read from each other in a circle`},
		{"number twice", "a,1,2,1,M1,1\na,1,2,1,R1,1\n", plainMapping + "graph: alibaba\n", `its stages "M1" and "R1" have the same number`},
		{"no such column", "x,y\n", "header: true\ncolumns: [{column: job, field: job}, {column: y, field: work}, {column: x, field: submit}]\n", `f:1: the header has no column "job": it has "x,y"`},
		{"column twice", "x,y,x\n", "header: true\ncolumns: [{column: x, field: job}, {column: y, field: work}, {column: y, field: submit}]\n", `f:1: the header has the column "x" twice: rename one`},
		{"nothing is kept", "a,1,2,1,s,1\nb,1,2,1,s,1\n", plainMapping + "keep: [{column: 1, is: [c]}]\n", "f:2: there is no job in it: the mapping keeps 0 of 2 rows"},
		{"nothing worked", "a,1,,1,s,1\n", plainMapping, "f:1: there is no job in it: the mapping keeps 1 of 1 rows, and none of these tells how long a task worked"},
		{"events out of order", "a,s,5\na,e,4\n", "columns: [{column: 1, field: job}, {column: 1, field: task}, {column: 2, field: event}, {column: 3, field: time}]\nevents: {s: start, e: end}\n", "f:2: the event is earlier than one in a row before it: sort the rows by time"},
		{"header alone", "x,y\n", "header: true\ncolumns: [{column: x, field: job}, {column: y, field: work}, {column: 1, field: submit}]\n", "there is no job in it"},
	} {
		o := Options{File: "f", Format: Swf}
		if test.mapping != "" {
			o.Format, o.Mapping = "", mapping(t, test.mapping)
		}
		w, err := Read(strings.NewReader(test.text), o)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "f:") || w != nil {
			t.Errorf("%s: got %.300v\nwant %s", test.name, err, test.want)
		}
	}
	if _, err := Read(strings.NewReader("a,1\n"), Options{Format: CSV, File: "f"}); err == nil || !strings.Contains(err.Error(), "needs a mapping") {
		t.Errorf("without a mapping: %v", err)
	}
}

func TestBadMappings(t *testing.T) {
	for text, want := range map[string]string{
		"column: []":                                                                        "m:1: ",
		"columns: [{column: 1, field: what}]":                                               `columns[1].field: there is no field "what": it is job, stage`,
		"columns: [{column: 0, field: job}]":                                                "columns[1].column: it is 0: from 1 to 1000 is right",
		"columns: [{column: a, field: job}]":                                                "names need header: true",
		"columns: [{field: job}]":                                                           "columns[1].column: it is missing",
		"columns: [{column: 1, field: work}]":                                               "no column has the field job",
		"columns: [{column: 1, field: job}]":                                                "no column tells how long a task works",
		"columns: [{column: 1, field: job}, {column: 2, field: work}]":                      "no column tells when a job is submitted",
		"columns: [{column: 1, field: job}, {column: 2, field: job}]":                       "two columns have the field job",
		"columns: [{column: 2, field: work, unit: weeks}]":                                  `"weeks" is no unit of the field work`,
		"columns: [{column: 2, field: work, unit: -1}]":                                     `"-1" is no unit`,
		"columns: [{column: 2, field: user, unit: s}]":                                      `"s" is no unit of the field user`,
		"separator: ab\ncolumns: []":                                                        `separator: it is "ab": one character is right`,
		"graph: dot\ncolumns: []":                                                           `graph: there is no rule "dot"`,
		"keep: [{column: 1}]\ncolumns: []":                                                  "keep[1].is: it has no text",
		"events: {a: begin}\ncolumns: []":                                                   `events.a: there is no event "begin"`,
		"columns: [{column: 1, field: event}]":                                              "events does not say what its values are",
		"events: {a: start}\ncolumns: [{column: 1, field: job}, {column: 2, field: event}]": "need columns of the fields event, time and task",
	} {
		if _, err := ParseMapping("m", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v\nwant %s", text, err, want)
		}
	}
}

// Each given mapping is right, and a table is read compressed, too.
func TestGivenMappings(t *testing.T) {
	if names := GivenMappings(); !slices.Equal(names, []string{"alibaba2018-instance", "alibaba2018-task", "azure-vm", "google2019"}) {
		t.Errorf("the given mappings are %v", names)
	}
	for _, name := range GivenMappings() {
		text, _ := GivenMapping(name)
		if _, err := ParseMapping(name, text); err != nil {
			t.Error(err)
		}
	}
	plain, err := os.ReadFile("testdata/alibaba-task.csv")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(plain)
	z.Close()
	text, _ := GivenMapping("alibaba2018-task")
	w, err := Read(&packed, Options{Mapping: mapping(t, string(text))})
	if err != nil || w.Tasks() != 8 {
		t.Errorf("compressed: %v, %v", w, err)
	}
}

// The same number in any unit is the same, to the nanosecond.
func TestAmounts(t *testing.T) {
	for _, test := range []struct {
		text   string
		factor float64
		up     bool
		want   int64
	}{
		{"9007199254740993", 1, false, 9007199254740993},
		{"1.5", 1e9, false, 1_500_000_000},
		{"2", 0.01, true, 1},
		{"100", 0.01, true, 1},
		{"150", 0.01, true, 2},
		{"0", 1e9, false, 0},
		{"3e2", 1e3, false, 300_000},
	} {
		if n, err := amount(test.text, test.factor, test.up); err != nil || n != test.want {
			t.Errorf("%s times %v: %d, %v; want %d", test.text, test.factor, n, err, test.want)
		}
	}
	for _, text := range []string{"", "x", "NaN", "-1", "1e400", strconv.Itoa(1<<62) + "0"} {
		if n, err := amount(text, 1e9, false); err == nil {
			t.Errorf("%q is %d", text, n)
		}
	}
}

func FuzzTables(f *testing.F) {
	f.Add("1 0 5 60 4 -1 -1 4 90 -1 1 3 1 5 1 -1 -1 -1\n", true)
	f.Add("a,1,2,1,M1_2,1\n", false)
	f.Add("\"a\"\"\",1,2,3,s,1\n", false)
	m, err := ParseMapping("m", []byte(plainMapping+"graph: alibaba\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, swf bool) {
		o := Options{Mapping: m}
		if swf {
			o = Options{Format: Swf}
		}
		w, err := Read(strings.NewReader(text), o)
		if err == nil {
			err = w.Check()
		} else if w != nil {
			t.Error("an error comes with a workload")
		}
		if err != nil && w != nil {
			t.Error(err)
		}
	})
}
